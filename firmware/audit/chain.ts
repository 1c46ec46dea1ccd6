/**
 * The lines of the audit log and the chain they form: the hash of a line is SHA-256 over the hash before it and the line
 * as JSON with its number in it. It needs no key, so that anybody can follow it; the signed head vouches for its end.
 */

import { hash } from 'node:crypto'
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import nacl from 'tweetnacl'

/** What happened. Members in this order, and printable ASCII in all of them, make one JSON text for one event. */
export interface AuditEvent {
  /** `YYYY-MM-DDTHH:MM:SSZ` by the appliance's clock. */
  time: string
  /** Full user id; of a failed login the one that was claimed, `''` for nobody. */
  user: string
  /** IP address of the client, `console`, or `''` where there is neither. */
  address: string
  /** Method and path as the API documents show them, e.g. `POST /keys/{id}/sign`. */
  action: string
  /** Key id, `''` when no key was meant. */
  key: string
  /** Of the user, `''` for root. */
  namespace: string
  /** HTTP status of the answer. */
  result: number
  /** What else was named, and what was made. */
  facts?: Readonly<Record<string, string>>
  /** How many events before this one were left out, see `budget.ts`. */
  skipped?: number
}

/** A line as it is shown: hashes in hex. */
export interface AuditLine extends AuditEvent {
  sequence: number
  previous: string
  hash: string
}

/** What the appliance states of its log; the signature is over `headText`, both it and the key in hex (Ed25519). */
export interface AuditHead {
  /** The oldest line that is kept. */
  first: number
  /** The newest line, 0 while there is none. */
  sequence: number
  /** Of the newest line. */
  hash: string
  time: string
  key: string
  signature: string
}

export const HASH_BYTES = 32

/** Before the first line. */
export const ORIGIN = '00'.repeat(HASH_BYTES)

/** The number comes first, the hashes are no part of it. */
export const lineText = (sequence: number, event: AuditEvent): string => JSON.stringify({ sequence, ...event })

/** Of the hash before it and its text; both hashes in hex. */
export function hashLine(previous: string, text: string): string {
  const end = HASH_BYTES + UTF8_BYTES_MAX * text.length
  const bytes = end <= scratch.length ? scratch : Buffer.alloc(end)
  bytes.write(previous, 'hex')
  return hash('sha256', bytes.subarray(0, HASH_BYTES + bytes.write(text, HASH_BYTES)), 'hex')
}

const UTF8_BYTES_MAX = 3 // of one code unit of a string
const scratch = Buffer.alloc(4096) // every use of a key makes a line: new memory for each would be most of the work

/** The line that a stored text and the hash before it make. */
export function showLine(text: string, previous: string): AuditLine {
  const { sequence, ...event } = JSON.parse(text) as AuditEvent & { sequence: number }
  return { sequence, ...event, previous, hash: hashLine(previous, text) }
}

const headText = ({ first, sequence, hash, time }: Omit<AuditHead, 'key' | 'signature'>): Uint8Array =>
  utf8ToBytes(`coffer audit head\n${first}\n${sequence}\n${hash}\n${time}\n`)

/** Wiped by whoever asked for it. `seed` has 32 bytes. */
export type HeadKey = nacl.SignKeyPair
export const headKey = (seed: Uint8Array): HeadKey => nacl.sign.keyPair.fromSeed(seed)

export const signHead = (head: Omit<AuditHead, 'key' | 'signature'>, { publicKey, secretKey }: HeadKey): AuditHead => ({
  ...head,
  key: bytesToHex(publicKey),
  signature: bytesToHex(nacl.sign.detached(headText(head), secretKey)),
})

/** False also when key or signature have no valid form. */
export function isSigned(head: AuditHead): boolean {
  try {
    return nacl.sign.detached.verify(headText(head), hexToBytes(head.signature), hexToBytes(head.key))
  } catch {
    return false
  }
}
