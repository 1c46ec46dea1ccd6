/** Makes archives and images, right and wrong ones, byte by byte. */

import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { rawPublicKey, type UpdateRelease } from '../../tools/update-image.ts'

export const utf8 = (text: string) => new Uint8Array(Buffer.from(text))

export const RELEASE: UpdateRelease = {
  product: 'Coffer',
  version: '1.3.0',
  minimumVersion: '1.0',
  releaseNotes: 'What is new: ä, "quotes" and\nlines.',
}
export const INSTALLED = '1.2.3'

const keys = generateKeyPairSync('ed25519')
export const releaseKey: KeyObject = keys.privateKey
export const releasePublicKey: Uint8Array = rawPublicKey(releaseKey)

export interface Fields {
  magic: string
  ino: string
  mode: string
  uid: string
  gid: string
  nlink: string
  mtime: string
  filesize: string
  devmajor: string
  devminor: string
  rdevmajor: string
  rdevminor: string
  namesize: string
  check: string
}

export interface Entry {
  /** With its NUL, when `rawName` is set. */
  name: string
  rawName?: boolean
  bytes?: Uint8Array
  fields?: Partial<Fields>
  namePadding?: Uint8Array
  contentPadding?: Uint8Array
}

export const hex = (value: number): string => value.toString(16).padStart(8, '0')

export function entryBytes({ name, rawName, bytes = new Uint8Array(), ...more }: Entry): Uint8Array {
  const nameBytes = Buffer.from(rawName ? name : `${name}\0`, 'latin1')
  const fields: Fields = {
    magic: '070701',
    ino: hex(1),
    mode: hex(0o100644),
    uid: hex(1000),
    gid: hex(1000),
    nlink: hex(1),
    mtime: hex(1_700_000_000),
    filesize: hex(bytes.length),
    devmajor: hex(8),
    devminor: hex(1),
    rdevmajor: hex(0),
    rdevminor: hex(0),
    namesize: hex(nameBytes.length),
    check: hex(0),
    ...more.fields,
  }
  const head = Buffer.concat([Buffer.from(Object.values(fields).join(''), 'latin1'), nameBytes])
  return Buffer.concat([head, more.namePadding ?? fill(head), bytes, more.contentPadding ?? fill(bytes)])
}

const fill = ({ length }: Uint8Array) => new Uint8Array(-length & 3)

export const TRAILER: Entry = { name: 'TRAILER!!!', fields: { mode: hex(0) } }

export function archive(entries: readonly Entry[], end: readonly Entry[] = [TRAILER]): Uint8Array {
  const bytes = Buffer.concat([...entries, ...end].map(entryBytes))
  return Buffer.concat([bytes, new Uint8Array(-bytes.length & 511)])
}

export const FIRMWARE: Entry = { name: 'firmware.js', bytes: utf8('console.log("new")\n') }
export const ADDON: Entry = { name: `linux-${process.arch}.node`, bytes: new Uint8Array(10_000).fill(7) }
export const PAYLOAD: readonly Entry[] = [FIRMWARE, ADDON]

export const member = ({ name, bytes = new Uint8Array() }: Entry) => ({
  name,
  size: bytes.length,
  sha512: createHash('sha512').update(bytes).digest('hex'),
})

export const goodManifest = () => ({ ...RELEASE, members: PAYLOAD.map(member) })

export function head(manifest: unknown, key: KeyObject = releaseKey): Entry[] {
  const bytes = manifest instanceof Uint8Array ? manifest : utf8(JSON.stringify(manifest))
  return [
    { name: 'manifest.json', bytes },
    { name: 'manifest.sig', bytes: new Uint8Array(sign(null, bytes, key)) },
  ]
}

export const goodImage = (): Uint8Array => archive([...head(goodManifest()), ...PAYLOAD])

/** The bytes in pieces of `size`, and how many of them were asked for. */
export function inPieces(bytes: Uint8Array, size = 4096): { chunks: AsyncGenerator<Uint8Array>; taken: () => number } {
  let taken = 0
  async function* pieces() {
    for (let offset = 0; offset < bytes.length; offset += size) {
      taken = Math.min(bytes.length, offset + size)
      yield bytes.subarray(offset, offset + size)
    }
  }
  return { chunks: pieces(), taken: () => taken }
}
