/** Record on disk about the device key in the TPM. It contains no secret, and the key cannot be opened with it elsewhere. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { writeDurably } from '../../base/files.ts'

export interface TpmSealedRecord {
  handle: number
  name: Uint8Array
  storageKeyName: Uint8Array
  /** Value of register 7 at the time of sealing. */
  register7: Uint8Array
  /** Handle of the key's counter; null for keys of older versions. */
  counter: number | null
}

const hex = (bytes: number) => z.hex().length(2 * bytes)
const NAME_BYTES = 34 // algorithm and SHA-256
const schema = z.strictObject({
  handle: z.int(),
  name: hex(NAME_BYTES),
  storageKeyName: hex(NAME_BYTES),
  register7: hex(32),
  counter: z.int().nullable().default(null),
})

export function writeRecord(path: string, { handle, name, storageKeyName, register7, counter }: TpmSealedRecord): void {
  const texts = { name: toHex(name), storageKeyName: toHex(storageKeyName), register7: toHex(register7) }
  const members = { handle, ...texts, counter }
  const text = JSON.stringify(members satisfies z.infer<typeof schema>)
  writeDurably(path, Buffer.from(`${text}\n${checksumOf(text)}\n`))
}

/** Returns the record, or the reason why it is unusable. */
export function readRecord(path: string): TpmSealedRecord | { problem: string } {
  try {
    const [text = '', checksum] = readFileSync(path, 'utf8').split('\n')
    if (checksum !== checksumOf(text)) return { problem: `${path} is damaged` }
    const { handle, name, storageKeyName, register7, counter } = schema.parse(JSON.parse(text))
    const bytes = { name: fromHex(name), storageKeyName: fromHex(storageKeyName), register7: fromHex(register7) }
    return { handle, ...bytes, counter }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { problem: code === undefined ? `${path} is of another version` : `${path} cannot be read: ${code}` }
  }
}

/** Detects damage, not manipulation. */
const checksumOf = (text: string): string => createHash('sha256').update(text).digest('hex')

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const fromHex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'))
