/** Verifies an export of the chat without the appliance: finds any byte that was changed. Design of it: firmware/chat/realm/export/archive.ts. */

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { parseArgs } from 'node:util'
import { hexToBytes } from '@noble/hashes/utils.js'
import nacl from 'tweetnacl'
import { parseUnambiguous } from '../firmware/base/json.ts'
import { printable } from '../firmware/base/printable.ts'
import { type ExportManifest, MANIFEST, SIGNATURE } from '../firmware/chat/realm/export/archive.ts'
import { BLOCK_BYTES, TAR_END, tarHeader, tarPadding } from '../firmware/chat/realm/export/tar.ts'

const HELP = `Verifies an export of the chat.

  node tools/chat-verify.ts FILE [--key KEY]

FILE is what an address of GET /api/v1/export/realm gave. Its manifest has the SHA-256 of every file in it, and is signed.

  --key KEY   the chat's public key (exportKey of GET /api/v1/chat on the appliance, noted once). Without it the signature
              is checked with the key in the file, which shows nothing to those who do not know that key.

Exit status: 0 when everything holds, 1 when something does not, 2 when the command is wrong.`

const KEPT_BYTES_MAX = 256 * 1024 * 1024 // a manifest of a million files

export interface Verdict {
  problem: string | null
  manifest: ExportManifest | null
}

/** `key` in hex. */
export async function verifyExport(bytes: AsyncIterable<Uint8Array>, key?: string): Promise<Verdict> {
  const reader = createReader(bytes)
  const seen: ExportManifest['files'] = []
  const kept = new Map<string, Buffer>()
  const fail = (problem: string): Verdict => ({ problem, manifest: null })
  for (;;) {
    const header = await reader.take(BLOCK_BYTES)
    if (header === null) return fail('The file ends too early.')
    if (header.every((byte) => byte === 0)) {
      const rest = await reader.take(TAR_END.length - BLOCK_BYTES)
      if (rest === null || rest.some((byte) => byte !== 0)) return fail('The end of the file was changed.')
      if ((await reader.take(1)) !== null) return fail('Something was added to the file.')
      break
    }
    const entry = readHeader(header)
    if (entry === null) return fail(`What stands before file ${seen.length + kept.size + 1} was changed.`)
    const { name, size } = entry
    const isKept = name === MANIFEST || name === SIGNATURE
    if (isKept && (size > KEPT_BYTES_MAX || kept.has(name))) return fail(`${name} was changed.`)
    if (name === SIGNATURE && !kept.has(MANIFEST)) return fail(`${name} is not behind ${MANIFEST}.`)
    const hash = createHash('sha256')
    const pieces: Uint8Array[] = []
    if (
      !(await reader.each(size, (piece) => {
        hash.update(piece)
        if (isKept) pieces.push(Buffer.from(piece))
      }))
    )
      return fail(`${name} ends too early.`)
    const padding = await reader.take(tarPadding(size).length)
    if (padding === null || padding.some((byte) => byte !== 0)) return fail(`What stands behind ${name} was changed.`)
    if (isKept) kept.set(name, Buffer.concat(pieces))
    else if (kept.size > 0) return fail(`${name} stands behind the manifest.`)
    else seen.push({ name, size, sha256: hash.digest('hex') })
  }
  return judge(seen, kept, key)
}

function judge(seen: ExportManifest['files'], kept: ReadonlyMap<string, Buffer>, key: string | undefined): Verdict {
  const fail = (problem: string): Verdict => ({ problem, manifest: null })
  const text = kept.get(MANIFEST)
  const signature = kept.get(SIGNATURE)?.toString()
  if (text === undefined || signature === undefined) return fail('It has no manifest, or no signature.')
  const manifest = readManifest(text)
  if (manifest === null || !/^[0-9a-f]{128}$/.test(signature)) return fail('The manifest or its signature was changed.')
  if (key !== undefined && key !== manifest.key) return fail(`It is signed with another key: ${manifest.key}`)
  if (!nacl.sign.detached.verify(text, hexToBytes(signature), hexToBytes(manifest.key)))
    return fail('The manifest or its signature was changed.')
  for (const [index, { name, size, sha256 }] of manifest.files.entries()) {
    const file = seen[index]
    if (file?.name !== name) return fail(`${name} is missing, or not in its place.`)
    if (file.size !== size || file.sha256 !== sha256) return fail(`${name} was changed.`)
  }
  const added = seen[manifest.files.length]
  return added === undefined ? { problem: null, manifest } : fail(`${added.name} was added.`)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function readManifest(text: Buffer): ExportManifest | null {
  try {
    const manifest = parseUnambiguous(utf8.decode(text)) as ExportManifest
    return Array.isArray(manifest.files) && /^[0-9a-f]{64}$/.test(manifest.key) ? manifest : null
  } catch {
    return null
  }
}

/** Null unless it is byte by byte as exports have it. */
function readHeader(header: Buffer): { name: string; size: number } | null {
  const name = header.subarray(0, 100).toString().replace(/\0+$/, '')
  const size = Number.parseInt(header.subarray(124, 135).toString(), 8)
  if (name === '' || !Number.isSafeInteger(size)) return null
  try {
    return Buffer.compare(tarHeader(name, size), header) === 0 ? { name, size } : null
  } catch {
    return null
  }
}

function createReader(bytes: AsyncIterable<Uint8Array>) {
  const iterator = bytes[Symbol.asyncIterator]()
  let rest: Uint8Array = new Uint8Array(0)

  /** Calls with pieces that are `size` bytes together; false when there are fewer. */
  async function each(size: number, act: (piece: Uint8Array) => void): Promise<boolean> {
    for (let left = size; left > 0; ) {
      if (rest.length === 0) {
        const { done, value } = await iterator.next()
        if (done) return false
        rest = value
        continue
      }
      const piece = rest.subarray(0, left)
      act(piece)
      rest = rest.subarray(piece.length)
      left -= piece.length
    }
    return true
  }

  /** Null when there are fewer. */
  async function take(size: number): Promise<Buffer | null> {
    const pieces: Uint8Array[] = []
    return (await each(size, (piece) => pieces.push(Buffer.from(piece)))) ? Buffer.concat(pieces) : null
  }

  return { each, take }
}

async function main(): Promise<number> {
  const { file, key } = readArguments()
  if (file === undefined) return 2
  const { problem, manifest } = await verifyExport(createReadStream(file), key)
  if (manifest === null) {
    console.log(problem)
    return 1
  }
  const { organization, type, time, files } = manifest
  console.log(
    `${files.length} files of an export (${type}) of ${printable(organization)}, nothing changed, missing or added.`,
  )
  console.log(`Made ${new Date(time * 1000).toISOString()}, signed with key ${manifest.key}.`)
  if (key === undefined) console.log('Compare the key with exportKey of GET /api/v1/chat, or give it with --key.')
  return 0
}

function readArguments(): { file?: string; key?: string } {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { key: { type: 'string' }, help: { type: 'boolean' } },
    })
    const { key } = values
    if (key !== undefined && !/^[0-9a-f]{64}$/.test(key)) throw new Error(`--key: not 64 hex digits: ${key}`)
    const [file, ...others] = positionals
    if (file === undefined || others.length > 0 || values.help) throw new Error(HELP)
    return { file, ...(key !== undefined && { key }) }
  } catch (error) {
    console.error((error as Error).message)
    return {}
  }
}

if (import.meta.main) process.exitCode = await main()
