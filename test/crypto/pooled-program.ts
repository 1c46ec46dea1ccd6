/** A program that signs through the pool and ends, as bundles have it: its worker is the bundle beside it. */

import { createPool } from '../../firmware/crypto/pool/pool.ts'

const pool = createPool({ workers: 2, entry: new URL('./worker.js', import.meta.url) })
const { private: secret } = await pool.generate('Curve25519')
const key = { ref: 1, type: 'Curve25519' as const, load: () => secret.slice() }
const signature = await pool.sign(key, 'EdDSA', new Uint8Array(32))
const derived = await pool.scrypt(new Uint8Array(10), new Uint8Array(16), { N: 1024, r: 8, p: 1 })
console.log(`${signature.length} ${derived.length}`)
await pool.close()
