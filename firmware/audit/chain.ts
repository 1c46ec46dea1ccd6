/**
 * The lines of the audit log and the chain they form: the hash of a line is SHA-256 over the hash of the line before it,
 * the hash of the line of its kind before it, and the line as JSON with its number in it. It needs no key, so that
 * anybody can follow it; the signed head vouches for its ends.
 *
 * Each kind is a ring of its own, of which the oldest lines are overwritten. What is left of a kind is then a chain from
 * the oldest line that the head names to the newest, whatever is missing of other kinds: numbers that are missing are of
 * overwritten lines, or a chain is broken.
 */

import { hash } from 'node:crypto'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import nacl from 'tweetnacl'

/** Changes that were made, what was refused or had no effect, and uses of keys. */
export const KINDS = ['change', 'refusal', 'use'] as const
export type AuditLineKind = (typeof KINDS)[number]

/** An event. Members in this order, and printable ASCII in all of them, give one JSON text for one event. */
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
  /** The user's; `''` for root. */
  namespace: string
  /** HTTP status of the answer. */
  result: number
  /** Other names in the request, and what was made. */
  facts?: Readonly<Record<string, string>>
  /** How many events before this one were left out, see `budget.ts`. */
  skipped?: number
}

/** A line as it is shown: hashes in hex. */
export interface AuditLine extends AuditEvent {
  sequence: number
  /** This and `previousOfKind` are absent in lines from before there were kinds, which count as changes. */
  kind?: AuditLineKind
  /** Hash of the line before. */
  previous: string
  /** Hash of the line of the same kind before. */
  previousOfKind?: string
  hash: string
}

/** The ends of what is kept of a kind: numbers of the oldest and the newest line, 0 while there is none. */
interface RingHead {
  first: number
  sequence: number
  /** The newest line's. */
  hash: string
}

/** The appliance's statement about its log; the signature is over `headText`; signature and key are hex (Ed25519). */
export interface AuditHead {
  /** The oldest line that is kept. */
  first: number
  /** The newest line, 0 while there is none. */
  sequence: number
  /** The newest line's. */
  hash: string
  time: string
  /** Absent in heads from before there were kinds: nothing is missing behind `first` then. */
  rings?: Readonly<Record<AuditLineKind, RingHead>>
  key: string
  signature: string
}

export const HASH_BYTES = 32

/** Before the first line. */
export const ORIGIN = '00'.repeat(HASH_BYTES)

/** The number comes first, then the kind; the hashes are no part of it. */
export const lineText = (sequence: number, kind: AuditLineKind, event: AuditEvent): string =>
  JSON.stringify({ sequence, kind, ...event })

/** Hashes the hash of the line before, that of the line of its kind before (`''` in lines without a kind), and the text; all in hex. */
export function hashLine(previous: string, previousOfKind: string, text: string): string {
  const end = 2 * HASH_BYTES + UTF8_BYTES_MAX * text.length
  const bytes = end <= scratch.length ? scratch : Buffer.alloc(end)
  let at = bytes.write(previous, 'hex')
  at += bytes.write(previousOfKind, at, 'hex')
  at += bytes.write(text, at)
  return hash('sha256', bytes.subarray(0, at), 'hex')
}

const UTF8_BYTES_MAX = 3 // of one code unit of a string
const scratch = Buffer.alloc(4096) // every use of a key makes a line: new memory for each would be most of the work

/** The line that a stored text and the hashes before it make. */
export function showLine(text: string, previous: string, previousOfKind: string): AuditLine {
  const line = JSON.parse(text) as AuditEvent & { sequence: number; kind?: AuditLineKind }
  if (line.kind === undefined) return { ...line, previous, hash: hashLine(previous, '', text) }
  return { ...line, previous, previousOfKind, hash: hashLine(previous, previousOfKind, text) }
}

function headText({ first, sequence, hash, time, rings }: Omit<AuditHead, 'key' | 'signature'>): Uint8Array {
  if (rings === undefined) return utf8ToBytes(`coffer audit head\n${first}\n${sequence}\n${hash}\n${time}\n`)
  const ends = KINDS.map((kind) => `${kind} ${rings[kind].first} ${rings[kind].sequence} ${rings[kind].hash}\n`)
  return utf8ToBytes(`coffer audit head 2\n${first}\n${sequence}\n${hash}\n${time}\n${ends.join('')}`)
}

/** The caller wipes it. `seed` has 32 bytes. */
type HeadKey = nacl.SignKeyPair
export const headKey = (seed: Uint8Array): HeadKey => nacl.sign.keyPair.fromSeed(seed)

export const signHead = (head: Omit<AuditHead, 'key' | 'signature'>, { publicKey, secretKey }: HeadKey): AuditHead => ({
  ...head,
  key: bytesToHex(publicKey),
  signature: bytesToHex(nacl.sign.detached(headText(head), secretKey)),
})
