/** Makes and signs an update image: a newc cpio archive (cpio(5)) as contract section 9 describes it. */

import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { MANIFEST, openManifest, SIGNATURE } from '../firmware/release/manifest.ts'

const USAGE = `node tools/update-image.ts --manifest <json> --key <release.key> --output <image> <file>...

The manifest says what is released:
  {"product": "Coffer", "version": "1.2.0", "minimumVersion": "1.0", "releaseNotes": "What is new."}
The files are what the image holds, in this order; of a built bundle these:
  dist/firmware.js dist/chat.js dist/chat-page.bin dist/outgoing.js dist/worker.js dist/package.json dist/linux-x64.node dist/linux-arm64.node
  dist/chat-linux-x64.node dist/chat-linux-arm64.node`

export interface File {
  name: string
  bytes: Uint8Array
}

export interface UpdateRelease {
  product: string
  version: string
  minimumVersion: string
  /** Once the version is good, a device never takes an older one than this. */
  rollbackFloor?: string
  releaseNotes: string
}

function run(): void {
  const { values, positionals } = parseArgs({
    options: { manifest: { type: 'string' }, key: { type: 'string' }, output: { type: 'string' } },
    allowPositionals: true,
  })
  const { manifest, key, output } = values
  if (manifest === undefined || key === undefined || output === undefined || positionals.length === 0)
    throw new Error(USAGE)
  const release = JSON.parse(readFileSync(manifest, 'utf8')) as UpdateRelease
  const files = positionals.map((path) => ({ name: basename(path), bytes: readFileSync(path) }))
  checkVersion(release, files)
  const image = makeImage(release, files, createPrivateKey(readFileSync(key)))
  writeFileSync(`${output}.new`, image)
  renameSync(`${output}.new`, output)
  console.log(`${output}: ${release.product} ${release.version}, ${files.length} files, ${image.length} bytes`)
}

/** An appliance goes by the manifest, the firmware says what it was built as: the two must not contradict each other. */
function checkVersion({ version }: UpdateRelease, files: readonly File[]): void {
  const built = files.find(({ name }) => name === 'package.json')
  if (built === undefined) return
  const { version: builtAs } = JSON.parse(Buffer.from(built.bytes).toString()) as { version?: string }
  if (builtAs !== version)
    throw new Error(
      `the manifest says version ${version}, the bundle was built as ${builtAs}: set it in package.json, then make build`,
    )
}

/** The image, signed. The same input gives the same bytes. Throws when no appliance would take such a manifest. */
export function makeImage(release: UpdateRelease, files: readonly File[], releaseKey: KeyObject): Uint8Array {
  const manifest = manifestOf(release, files)
  return assembleImage(files, { manifest, signature: sign(null, manifest, releaseKey) }, rawPublicKey(releaseKey))
}

/** The image, with a signature that was made before. Throws when it is not over this manifest. */
export function assembleImage(
  files: readonly File[],
  { manifest, signature }: { manifest: Uint8Array; signature: Uint8Array },
  releaseKey: Uint8Array,
): Uint8Array {
  openManifest(manifest, signature, releaseKey)
  return makeArchive([{ name: MANIFEST, bytes: manifest }, { name: SIGNATURE, bytes: signature }, ...files])
}

/** The 32 bytes of RFC 8032, of either half. */
export const rawPublicKey = (key: KeyObject): Uint8Array =>
  Buffer.from((key.type === 'public' ? key : createPublicKey(key)).export({ format: 'jwk' }).x ?? '', 'base64url')

export function manifestOf(release: UpdateRelease, files: readonly File[]): Uint8Array {
  const members = files.map(({ name, bytes }) => ({
    name,
    size: bytes.length,
    sha512: createHash('sha512').update(bytes).digest('hex'),
  }))
  return Buffer.from(`${JSON.stringify({ ...release, members }, null, 2)}\n`)
}

const PLAIN_FILE = 0o100644
const BLOCK_BYTES = 512

export function makeArchive(files: readonly File[]): Uint8Array {
  const parts = [...files.map(memberOf), memberOf({ name: 'TRAILER!!!', bytes: new Uint8Array() }, -1)].flat()
  const bytes = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([...parts, new Uint8Array(-bytes & (BLOCK_BYTES - 1))])
}

function memberOf({ name, bytes }: File, index: number): Uint8Array[] {
  const isTrailer = index < 0
  const nameBytes = Buffer.from(`${name}\0`)
  const fields = {
    ino: index + 1,
    mode: isTrailer ? 0 : PLAIN_FILE,
    uid: 0,
    gid: 0,
    nlink: 1,
    mtime: 0,
    filesize: bytes.length,
    devmajor: 0,
    devminor: 0,
    rdevmajor: 0,
    rdevminor: 0,
    namesize: nameBytes.length,
    check: 0,
  }
  const digits = Object.values(fields).map((value) => value.toString(16).toUpperCase().padStart(8, '0'))
  const head = Buffer.concat([Buffer.from(`070701${digits.join('')}`), nameBytes])
  return [head, padding(head), bytes, padding(bytes)]
}

const padding = ({ length }: Uint8Array): Uint8Array => new Uint8Array(-length & 3)

// Last, when everything above is there.
if (import.meta.main) {
  try {
    run()
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
