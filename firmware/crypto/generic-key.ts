/** Generic keys: AES-CBC, XAES-256-GCM and HMAC (RFC 2104, FIPS 198-1). Contract sections 6.1 and 6.2. */

import { createHmac } from 'node:crypto'
import { CofferError } from '../base/error.ts'
import { copySecret, wipe } from '../base/secret.ts'
import { decryptAesCbc, encryptAesCbc } from './aes.ts'
import { HMAC_HASHES, type HmacMode, type OpenedKey, type SignMode } from './types.ts'
import { openXaes, type XaesKey } from './xaes.ts'

/** Copies the key, until `wipe`. */
export function openGenericKey(key: Uint8Array): OpenedKey {
  const secret = copySecret(key)
  let xaes: XaesKey | undefined
  const openedXaes = (): XaesKey => {
    xaes ??= openXaes(secret)
    return xaes
  }
  return {
    sign: (mode, message, context) => macOf(secret, hashOf(mode), message, context),
    decrypt: (mode, encrypted, iv, associatedData, context) => {
      if (mode === 'XAES_GCM' && context !== undefined)
        return withDerived(secret, context, (key) => key.decrypt(iv ?? NO_NONCE, encrypted, associatedData))
      if (mode === 'XAES_GCM') return openedXaes().decrypt(iv ?? NO_NONCE, encrypted, associatedData)
      if (mode !== 'AES_CBC') throw misfit(mode)
      return decryptAesCbc(secret, iv, encrypted)
    },
    encrypt: (mode, message, iv, associatedData, context) => {
      if (mode !== 'XAES_GCM') return encryptAesCbc(secret, iv, message)
      if (context === undefined) return openedXaes().encrypt(iv, message, associatedData)
      return withDerived(secret, context, (key) => key.encrypt(iv, message, associatedData))
    },
    wipe: () => {
      xaes?.wipe()
      wipe(secret)
    },
  }
}

/** HKDF (RFC 5869) with SHA-256, without salt: its first block, which is as long as a key of XAES. */
function withDerived<T>(secret: Uint8Array, context: Uint8Array, use: (key: XaesKey) => T): T {
  const extracted = createHmac('sha256', NO_SALT).update(secret).digest()
  const derived = createHmac('sha256', extracted).update(context).update(FIRST_BLOCK).digest()
  wipe(extracted)
  try {
    const key = openXaes(derived)
    try {
      return use(key)
    } finally {
      key.wipe()
    }
  } finally {
    wipe(derived)
  }
}

const NO_SALT = new Uint8Array(32)
const FIRST_BLOCK = Uint8Array.of(1)

const NO_NONCE = new Uint8Array()

const misfit = (mode: string): CofferError => new CofferError('invalid', `mode: ${mode} does not fit Generic keys`)

function hashOf(mode: SignMode): string {
  const hash = HMAC_HASHES.find((name) => mode === (`HMAC_${name}` satisfies HmacMode))
  if (hash === undefined) throw misfit(mode)
  return hash.toLowerCase().replace('_', '-')
}

/** With `context` the key of the MAC is HMAC-SHA-256 of it: a key that encrypts, too, serves no two algorithms with the same bytes. */
function macOf(secret: Uint8Array, hash: string, message: Uint8Array, context: Uint8Array | undefined): Uint8Array {
  if (context === undefined) return createHmac(hash, secret).update(message).digest()
  const derived = createHmac('sha256', secret).update(context).digest()
  try {
    return createHmac(hash, derived).update(message).digest()
  } finally {
    wipe(derived)
  }
}
