/** Signs with keys that its parent hands over disguised, and forgets them when told: for a look at its memory from outside. */

import { createPool } from '../../firmware/crypto/pool/pool.ts'
import type { KeyHandle, KeyType, SignMode } from '../../firmware/crypto/types.ts'

export const DISGUISE = 0x5a

export type Order =
  | { sign: number; type: KeyType; mode: SignMode; disguised: string }
  | { forget: number }
  | 'forgetAll'
  | 'evict'
  | 'end'

const MESSAGE = new Uint8Array(32).fill(1)
const OTHERS = 300 // more keys than a worker keeps open

if (process.send !== undefined) {
  const pool = createPool({ workers: 1, entry: new URL('../../firmware/crypto/pool/worker.ts', import.meta.url) })
  const other = await pool.generate('Curve25519')
  let lastRef = 1_000_000
  const otherKey = (): KeyHandle => ({ ref: ++lastRef, type: other.type, load: () => other.private.slice() })

  process.on('message', async (order: Order) => {
    if (order === 'end') {
      await pool.close()
      process.disconnect?.()
      return
    }
    if (order === 'forgetAll') pool.forgetAll()
    else if (order === 'evict') for (let i = 0; i < OTHERS; i++) await pool.sign(otherKey(), 'EdDSA', MESSAGE)
    else if ('forget' in order) pool.forget(order.forget)
    else {
      const disguised = new Uint8Array(Buffer.from(order.disguised, 'hex'))
      const load = () => {
        const bytes = new Uint8Array(new ArrayBuffer(disguised.length)) // not among V8's objects, as what the store gives
        for (const [index, byte] of disguised.entries()) bytes[index] = byte ^ DISGUISE
        return bytes
      }
      await pool.sign({ ref: order.sign, type: order.type, load }, order.mode, MESSAGE)
    }
    await pool.sign(otherKey(), 'EdDSA', MESSAGE) // the worker has done all that came before
    process.send?.('done')
  })
  process.send('ready')
}
