/** Common interface for opened keys of all types in a worker. Contract sections 4.4, 6.1 and 6.2. */

import { CofferError } from '../../base/error.ts'
import { copySecret } from '../../base/secret.ts'
import { checkBits, isMlDsaKeyType } from '../algorithms.ts'
import { generateCurveKey, importCurveKey, openCurveKey } from '../ec/private-key.ts'
import { openGenericKey } from '../generic-key.ts'
import { generateMlDsa, importMlDsa, openMlDsa } from '../ml-dsa/private-key.ts'
import { type Random, systemRandom } from '../random.ts'
import { wipeRsaKey } from '../rsa/encoding.ts'
import type { OpenedRsa, RsaClaims, RsaPrivateKey } from '../rsa/private-key.ts'
import { decodeRsaPrivateKey, encodeRsaPrivateKey, generateRsa, openRsa, rsaFromPrimes } from '../rsa/private-key.ts'
import type { KeyPair, KeyType, OpenedKey } from '../types.ts'

/** Opens a stored private key; copies the necessary bytes. */
export function openKey(type: KeyType, privateKey: Uint8Array, random: Random): OpenedKey {
  const unfit = (mode: string) => (): never => {
    throw new CofferError('invalid', `mode: ${type} keys cannot ${mode}`)
  }
  if (type === 'RSA') {
    const key = openStoredRsa(privateKey, random)
    return { sign: key.sign, decrypt: key.decrypt, wipe: key.wipe, encrypt: unfit('encrypt') }
  }
  if (type !== 'Generic') {
    const key = isMlDsaKeyType(type) ? openMlDsa(type, privateKey, random) : openCurveKey(type, privateKey, random)
    return { sign: key.sign, wipe: key.wipe, decrypt: unfit('decrypt'), encrypt: unfit('encrypt') }
  }
  return openGenericKey(privateKey)
}

export function generateKey(type: KeyType, bits: number | undefined, random: Random): KeyPair {
  if (type === 'RSA') return rsaPair(generateRsa(checkBits('RSA', bits), random))
  if (isMlDsaKeyType(type)) return generateMlDsa(type, random)
  if (type !== 'Generic') return generateCurveKey(type, random)
  return { type, private: random(Math.ceil(checkBits('Generic', bits) / 8)), public: null }
}

/** The caller keeps ownership of the arguments. */
export function importRsaKey(
  primeP: Uint8Array,
  primeQ: Uint8Array,
  publicExponent: Uint8Array,
  random: Random,
  claims?: RsaClaims,
): KeyPair {
  return rsaPair(rsaFromPrimes(primeP, primeQ, publicExponent, random, undefined, claims))
}

const GENERIC_IMPORT_BYTES = { min: 16, max: 1024 } // contract 4.4

export function importKey(
  type: Exclude<KeyType, 'RSA'>,
  data: Uint8Array,
  expanded?: Uint8Array,
  random: Random = systemRandom,
): KeyPair {
  if (isMlDsaKeyType(type)) return importMlDsa(type, data, random, expanded)
  if (type !== 'Generic') return importCurveKey(type, data)
  const { min, max } = GENERIC_IMPORT_BYTES
  if (data.length < min || data.length > max) {
    throw new CofferError('invalid', `data: Generic keys have ${min} to ${max} bytes`)
  }
  return { type, private: copySecret(data), public: null }
}

function openStoredRsa(stored: Uint8Array, random: Random): OpenedRsa {
  const key = decodeRsaPrivateKey(stored)
  try {
    return openRsa(key, random)
  } finally {
    wipeRsaKey(key)
  }
}

/** Wipes `key`. */
function rsaPair(key: RsaPrivateKey): KeyPair {
  const { n, e } = key
  const pair: KeyPair = {
    type: 'RSA',
    private: encodeRsaPrivateKey(key),
    public: { modulus: n.slice(), publicExponent: e.slice() },
  }
  wipeRsaKey(key)
  return pair
}
