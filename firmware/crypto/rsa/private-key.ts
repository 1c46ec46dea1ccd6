/** Uses RSA private keys in all modes of contract sections 6.1 and 6.2. RFC 8017. */

import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { Engine } from '../engine/engine.ts'
import { engine as defaultEngine } from '../engine/select.ts'
import { type Random, systemRandom } from '../random.ts'
import type { DecryptMode, HashName, SignMode } from '../types.ts'
import { type RsaPrivateKey, withoutLeadingZeros } from './encoding.ts'
import { RsaOperation } from './operation.ts'
import { decodeOaep, decodePkcs1, encodePkcs1, encodePss, RSA_HASHES } from './padding.ts'

export { decodeRsaPrivateKey, encodeRsaPrivateKey, type RsaPrivateKey } from './encoding.ts'
export { generateRsa, type RsaClaims, rsaFromPrimes } from './generate.ts'

export interface OpenedRsa {
  bits: number
  modulusBytes: number
  /** Returns a signature as long as the modulus. Throws CofferError `invalid` if the mode or the length of the message does not fit. */
  sign(mode: SignMode, message: Uint8Array): Uint8Array
  /** Throws CofferError `invalid`, with the same message for all errors in the encrypted bytes. */
  decrypt(mode: DecryptMode, encrypted: Uint8Array): Uint8Array
  wipe(): void
}

/** Copies the necessary parts of the key. */
export function openRsa(key: RsaPrivateKey, random: Random = systemRandom, engine: Engine = defaultEngine): OpenedRsa {
  const operation = new RsaOperation(key, random, engine)
  const n = key.n.slice()
  return {
    bits: operation.bits,
    modulusBytes: n.length,
    sign: (mode, message) => {
      const encoded = encodeForSigning(mode, message, operation.bits, random)
      try {
        return operation.power(encoded)
      } finally {
        wipe(encoded)
      }
    },
    decrypt: (mode, encrypted) => {
      const decode = decoder(mode)
      const number = mode === 'RAW' ? rawNumber(encrypted) : wholeNumber(encrypted, n.length)
      if (!isBelow(number, n)) throw decryptionFailure()
      const encoded = operation.power(number)
      if (decode === undefined) return encoded
      try {
        const message = decode(encoded)
        if (message === null) throw decryptionFailure()
        return message
      } finally {
        wipe(encoded)
      }
    },
    wipe: () => operation.wipe(),
  }
}

const decryptionFailure = () => new CofferError('invalid', 'Decryption failure')
const misfit = (mode: string) => new CofferError('invalid', `mode: ${mode} does not fit RSA keys`)

function encodeForSigning(mode: SignMode, message: Uint8Array, bits: number, random: Random): Uint8Array {
  const bytes = Math.ceil(bits / 8)
  const [scheme, hashName] = splitMode(mode)
  if (mode === 'PKCS1') {
    const encoded = encodePkcs1(message, bytes)
    if (encoded === null) throw new CofferError('invalid', 'message: too long for this key')
    return encoded
  }
  if ((scheme !== 'PKCS1' && scheme !== 'PSS') || hashName === undefined) throw misfit(mode)
  const hash = RSA_HASHES[hashName]
  if (message.length !== hash.bytes) {
    throw new CofferError('invalid', `message: ${mode} signs digests of ${hash.bytes} bytes`)
  }
  const encoded =
    scheme === 'PKCS1'
      ? encodePkcs1(Uint8Array.from([...hash.digestInfo, ...message]), bytes)
      : encodePss(message, random(hash.bytes), hash, bits)
  if (encoded === null || (scheme === 'PSS' && Math.floor(bits / 8) < 2 * hash.bytes + 2)) {
    throw new CofferError('invalid', `mode: the key is too short for ${mode}`)
  }
  return encoded
}

/** Undefined for RAW, which has no encoding. */
function decoder(mode: DecryptMode): ((encoded: Uint8Array) => Uint8Array | null) | undefined {
  const [scheme, hashName] = splitMode(mode)
  if (mode === 'RAW') return undefined
  if (mode === 'PKCS1') return decodePkcs1
  if (scheme !== 'OAEP' || hashName === undefined) throw misfit(mode)
  return (encoded) => decodeOaep(encoded, RSA_HASHES[hashName])
}

function splitMode(mode: SignMode | DecryptMode): [scheme: string, hash: HashName | undefined] {
  const [scheme, hash] = mode.split('_')
  return [scheme!, hash !== undefined && Object.hasOwn(RSA_HASHES, hash) ? (hash as HashName) : undefined]
}

/** Removes leading zeros. Throws CofferError `invalid` for 0 and 1. */
function rawNumber(encrypted: Uint8Array): Uint8Array {
  const number = withoutLeadingZeros(encrypted)
  if (number.length === 0 || (number.length === 1 && number[0]! < 2)) throw decryptionFailure()
  return number
}

function wholeNumber(encrypted: Uint8Array, bytes: number): Uint8Array {
  if (encrypted.length !== bytes) throw decryptionFailure()
  return encrypted
}

/** Not constant-time: the client knows both numbers. */
function isBelow(number: Uint8Array, n: Uint8Array): boolean {
  return number.length < n.length || (number.length === n.length && Buffer.compare(number, n) < 0)
}
