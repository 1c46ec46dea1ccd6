/** Uses keys that its parent hands over disguised, and forgets them when told: for a look at its memory from outside. */

import { copySecret } from '../../firmware/base/secret.ts'
import { parsePrivateKeyPem } from '../../firmware/crypto/encoding/import-pem.ts'
import { createPool } from '../../firmware/crypto/pool/pool.ts'
import type { EncryptMode, KeyHandle, KeyPair, KeyType, SignMode } from '../../firmware/crypto/types.ts'

const DISGUISE = 0x5a

const XAES_NONCE = new Uint8Array(24)
export const HMAC_CONTEXT = new Uint8Array(Buffer.from('context'))

/** With this argument, workers wipe nothing. */
export const CARELESS = 'careless'

export type Order =
  | { use: number; type: KeyType; mode: SignMode | EncryptMode; disguised: string }
  | { import: KeyType; disguised: string }
  | { generate: KeyType; bits?: number }
  | { forget: number }
  | 'warmUp'
  | 'forgetAll'
  | 'evict'
  | 'end'

export type Answer = 'ready' | 'done' | { disguised: string }

/** In memory of its own, not among V8's objects, as what the store gives. */
export function undisguise(text: string): Uint8Array {
  const bytes = copySecret(Buffer.from(text, 'hex'))
  for (let i = 0; i < bytes.length; i++) bytes[i]! ^= DISGUISE
  return bytes
}

export function disguise(bytes: Uint8Array): string {
  const copy = copySecret(bytes)
  for (let i = 0; i < copy.length; i++) copy[i]! ^= DISGUISE
  return Buffer.from(copy).toString('hex')
}

const DIGESTS: Partial<Record<KeyType, number>> = { EC_P384: 48, EC_P521: 64, BrainpoolP384: 48, BrainpoolP512: 64 }
const OTHERS = 300 // more keys than a worker keeps open

if (process.send !== undefined) {
  const worker = process.argv.includes(CARELESS) ? './careless-worker.ts' : '../../firmware/crypto/pool/worker.ts'
  const pool = createPool({ workers: 1, entry: new URL(worker, import.meta.url) })
  const warm = new Promise<void>((resolve) => pool.onTested(() => resolve()))
  const other = await pool.generate('Curve25519')
  let lastRef = 1_000_000
  const otherKey = (): KeyHandle => ({ ref: ++lastRef, type: other.type, load: () => copySecret(other.private) })
  const message = new Uint8Array(32).fill(1)

  const use = async ({ use: ref, type, mode, disguised }: Extract<Order, { use: number }>): Promise<void> => {
    const key = { ref, type, load: () => undisguise(disguised) }
    const digest = new Uint8Array(DIGESTS[type] ?? 32).fill(1)
    if (mode === 'AES_CBC') await pool.decrypt(key, mode, message, new Uint8Array(16))
    else if (mode === 'XAES_GCM') {
      const encrypted = await pool.encrypt(key, mode, message, XAES_NONCE)
      await pool.decrypt(key, mode, encrypted, XAES_NONCE)
    } else if (mode === 'HMAC_SHA256') await pool.sign(key, mode, message, HMAC_CONTEXT)
    else for (let i = 0; i < 3; i++) await pool.sign(key, mode, digest)
  }
  const importKey = async (type: KeyType, disguised: string): Promise<KeyPair> => {
    const data = undisguise(disguised)
    try {
      if (type === 'Generic') return await pool.importRaw(type, data)
      const file = parsePrivateKeyPem(data)
      try {
        return file.type === 'RSA'
          ? await pool.importRsa(file.primeP, file.primeQ, file.publicExponent, file)
          : await pool.importRaw(file.type, file.data, 'expanded' in file ? file.expanded : undefined)
      } finally {
        for (const value of Object.values(file)) if (value instanceof Uint8Array) value.fill(0)
      }
    } finally {
      data.fill(0)
    }
  }

  process.on('message', async (order: Order) => {
    let answer: Answer = 'done'
    if (order === 'end') {
      await pool.close()
      process.disconnect?.()
      return
    }
    if (order === 'warmUp') await warm
    else if (order === 'forgetAll') pool.forgetAll()
    else if (order === 'evict') for (let i = 0; i < OTHERS; i++) await pool.sign(otherKey(), 'EdDSA', message)
    else if ('forget' in order) pool.forget(order.forget)
    else if ('use' in order) await use(order)
    else {
      const pair =
        'import' in order
          ? await importKey(order.import, order.disguised)
          : await pool.generate(order.generate, order.bits)
      if ('generate' in order) answer = { disguised: disguise(pair.private) }
      pair.private.fill(0)
    }
    await pool.sign(otherKey(), 'EdDSA', message) // the worker has done all that came before
    process.send?.(answer)
  })
  process.send('ready' satisfies Answer)
}
