/** What the crypto tests share: the openssl program, shared vectors, and small helpers. */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

const directory = mkdtempSync(join(tmpdir(), 'coffer-crypto-'))
after(() => rmSync(directory, { recursive: true, force: true }))

/** Writes a file the openssl program can read; removed when the test file ends. */
export function file(name: string, content: Uint8Array | string): string {
  const path = join(directory, name)
  writeFileSync(path, content)
  return path
}

/** Runs openssl and returns its standard output; a failure throws what it said. */
export function openssl(args: string[], input?: Uint8Array | string): Buffer {
  const result = spawnSync('openssl', args, { input: input ?? '' })
  if (result.error) throw result.error
  if (result.status !== 0) throw new Error(`openssl ${args[0]}: ${result.stderr}${result.stdout}`)
  return result.stdout
}

export const hex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.replaceAll(/\s/g, ''), 'hex'))
export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
export const utf8 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

/** A file of the shared Wycheproof vectors, or null where they are not installed; with CI=true they must be. */
export function wycheproof<T>(name: string): T | null {
  const path = vectorPath(name)
  if (!existsSync(path) && process.env.CI !== 'true') return null
  return JSON.parse(readFileSync(path, 'utf8')) as T
}

/** The same for files that not every collection of vectors has. */
export const wycheproofIfThere = <T>(name: string): T | null =>
  existsSync(vectorPath(name)) ? wycheproof<T>(name) : null

function vectorPath(name: string): string {
  const root = process.env.COFFER_VECTORS ?? new URL('../../../shared/vectors', import.meta.url).pathname
  return join(root, 'wycheproof', name)
}
