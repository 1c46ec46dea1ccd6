/** Messages of an SSH agent and its clients: draft-ietf-sshm-ssh-agent; strings and numbers of RFC 4251 section 5. */

import type { Sha2Name } from '../../firmware/client/sha2.ts'

export const FAILURE = 5
export const REQUEST_IDENTITIES = 11
export const IDENTITIES = 12
export const SIGN_REQUEST = 13
export const SIGNATURE = 14

const RSA_SHA2_256 = 2
const RSA_SHA2_512 = 4

/** How the appliance is asked for a signature, and what SSH calls it. */
export interface Algorithm {
  name: string
  mode: string
  /** Null: the message itself is sent. */
  hash: Sha2Name | null
}

const ECDSA: Readonly<Record<string, Sha2Name>> = { nistp256: 'SHA256', nistp384: 'SHA384', nistp521: 'SHA512' }

/** Null where the client wants what is broken: RSA with SHA-1. `type` is that of the key's line. RFC 8332, 5656, 8709. */
export function algorithmOf(type: string, flags: number): Algorithm | null {
  if (type === 'ssh-ed25519') return { name: type, mode: 'EdDSA', hash: null }
  if (type === 'ssh-rsa') {
    if (flags & RSA_SHA2_512) return { name: 'rsa-sha2-512', mode: 'PKCS1_SHA512', hash: 'SHA512' }
    if (flags & RSA_SHA2_256) return { name: 'rsa-sha2-256', mode: 'PKCS1_SHA256', hash: 'SHA256' }
    return null
  }
  const hash = ECDSA[type.replace(/^ecdsa-sha2-/, '')]
  return hash === undefined ? null : { name: type, mode: 'ECDSA', hash }
}

/** A signature of the appliance in the form of SSH: for ECDSA the two numbers that DER holds. */
export const signatureBlob = ({ name, mode }: Algorithm, signature: Uint8Array): Buffer =>
  Buffer.concat([string(Buffer.from(name)), string(mode === 'ECDSA' ? twoNumbers(Buffer.from(signature)) : signature)])

/** With its length before it. */
export const string = (bytes: Uint8Array): Buffer => Buffer.concat([uint32(bytes.length), bytes])

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** Reads from the front. Throws `RangeError` when something is cut. */
export function createReader(bytes: Buffer) {
  let at = 0
  const number = () => {
    const value = bytes.readUInt32BE(at)
    at += 4
    return value
  }
  return {
    number,
    string(): Buffer {
      const size = number()
      if (at + size > bytes.length) throw new RangeError('cut')
      at += size
      return bytes.subarray(at - size, at)
    },
  }
}

/** DER has them as SSH does: signed, as short as they can be. */
function twoNumbers(der: Buffer): Buffer {
  let at = (der[1] ?? 0) >= 0x80 ? 3 : 2
  const number = () => {
    const size = der[at + 1] ?? 0
    at += 2 + size
    return string(der.subarray(at - size, at))
  }
  return Buffer.concat([number(), number()])
}
