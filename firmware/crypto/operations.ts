/** One shape for keys of every type, opened in a worker. Contract sections 4.4, 6.1 and 6.2. */

import { CofferError } from '../error.ts'
import { decryptAesCbc, encryptAesCbc } from './aes.ts'
import { checkBits } from './algorithms.ts'
import { generateCurveKey, importCurveKey, openCurveKey } from './curves.ts'
import type { Random } from './random.ts'
import type { DecryptMode, EncryptMode, KeyPair, KeyType, SignMode } from './types.ts'

export interface OpenedKey {
  /** Throws CofferError `invalid` when the key cannot do that; what is returned belongs to the caller. */
  sign(mode: SignMode, message: Uint8Array): Uint8Array
  decrypt(mode: DecryptMode, encrypted: Uint8Array, iv: Uint8Array | undefined): Uint8Array
  encrypt(mode: EncryptMode, message: Uint8Array, iv: Uint8Array): Uint8Array
  wipe(): void
}

/** Opens a private key as it is stored; copies what it needs of the bytes. */
export function openKey(type: KeyType, privateKey: Uint8Array, random: Random): OpenedKey {
  const unfit = (mode: string) => (): never => {
    throw new CofferError('invalid', `mode: ${type} keys cannot ${mode}`)
  }
  if (type === 'RSA') throw new CofferError('internal', 'RSA keys cannot be used yet')
  if (type !== 'Generic') {
    const key = openCurveKey(type, privateKey, random)
    return { sign: key.sign, wipe: key.wipe, decrypt: unfit('decrypt'), encrypt: unfit('encrypt') }
  }
  const secret = privateKey.slice()
  return {
    sign: unfit('sign'),
    decrypt: (mode, encrypted, iv) => {
      if (mode !== 'AES_CBC') throw new CofferError('invalid', `mode: ${mode} does not fit Generic keys`)
      return decryptAesCbc(secret, iv, encrypted)
    },
    encrypt: (_mode, message, iv) => encryptAesCbc(secret, iv, message),
    wipe: () => secret.fill(0),
  }
}

export function generateKey(type: KeyType, bits: number | undefined, random: Random): KeyPair {
  if (type === 'RSA') throw new CofferError('internal', 'RSA keys cannot be generated yet')
  if (type !== 'Generic') return generateCurveKey(type, random)
  return { type, private: random(Math.ceil(checkBits('Generic', bits) / 8)), public: null }
}

const GENERIC_IMPORT_BYTES = { min: 16, max: 1024 } // contract 4.4

export function importKey(type: Exclude<KeyType, 'RSA'>, data: Uint8Array): KeyPair {
  if (type !== 'Generic') return importCurveKey(type, data)
  const { min, max } = GENERIC_IMPORT_BYTES
  if (data.length < min || data.length > max) {
    throw new CofferError('invalid', `data: Generic keys have ${min} to ${max} bytes`)
  }
  return { type, private: data.slice(), public: null }
}
