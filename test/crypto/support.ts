/** Shared by the crypto tests: the openssl program, shared vectors, and small helpers. */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { VECTORS } from '../support/tools.ts'

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

/**
 * A file of the shared Wycheproof vectors, or of those that `.ci/vectors` gets, or null where there are none; with CI=true there must be
 * those that are shared.
 */
export function wycheproof<T>(name: string): T | null {
  const path = vectorPath(name)
  if (!existsSync(path) && (process.env.CI !== 'true' || name.startsWith('mldsa'))) return null
  return JSON.parse(readFileSync(path, 'utf8')) as T
}

function vectorPath(name: string): string {
  const fetched = join(VECTORS, 'wycheproof', name)
  if (existsSync(fetched)) return fetched
  const root = process.env.COFFER_VECTORS ?? new URL('../../../shared/vectors', import.meta.url).pathname
  return join(root, 'wycheproof', name)
}
