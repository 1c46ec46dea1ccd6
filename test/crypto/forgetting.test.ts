/** What a worker keeps of a key in its memory, read from outside: proc(5). */

import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { generateCurveKey } from '../../firmware/crypto/ec/private-key.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { decodeRsaPrivateKey, encodeRsaPrivateKey, generateRsa } from '../../firmware/crypto/rsa/private-key.ts'
import type { KeyType, SignMode } from '../../firmware/crypto/types.ts'
import { DISGUISE, type Order } from './remembering-program.ts'

const CHUNK_BYTES = 16 * 1024 * 1024
const chunk = Buffer.alloc(CHUNK_BYTES + 16) // a key on the seam of two is found, too

let child: ChildProcess
before(async () => {
  child = fork(new URL('remembering-program.ts', import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await once(child, 'message')
})
after(async () => {
  const end = once(child, 'exit')
  child.send('end' satisfies Order)
  await end
})

async function obey(order: Order): Promise<void> {
  const done = once(child, 'message')
  child.send(order)
  await done
}

interface Secret {
  type: KeyType
  mode: SignMode
  stored: Uint8Array
  /** What must be gone. */
  parts: readonly Uint8Array[]
}

function curveKey(type: Exclude<KeyType, 'RSA' | 'Generic'>, mode: SignMode): Secret {
  const { private: stored } = generateCurveKey(type, systemRandom)
  return { type, mode, stored, parts: [stored] }
}

function rsaKey(): Secret {
  const stored = encodeRsaPrivateKey(generateRsa(2048, systemRandom))
  const { p, q, dp } = decodeRsaPrivateKey(stored)
  return { type: 'RSA', mode: 'PSS_SHA256', stored, parts: [p, q, dp] }
}

/** How often the parts of a key are in the child's memory, as they are or turned round. */
function count({ parts }: Secret): number {
  // The end of a part suffices to know it again.
  const ends = parts.map((part) => Buffer.from(part.subarray(-16)))
  const patterns = ends.flatMap((end) => [end, Buffer.from(end).reverse()])
  const memory = openSync(`/proc/${child.pid}/mem`, 'r')
  let found = 0
  try {
    for (const line of readFileSync(`/proc/${child.pid}/maps`, 'utf8').split('\n')) {
      const match = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line)
      if (match === null) continue
      const [start, end] = [BigInt(`0x${match[1]}`), BigInt(`0x${match[2]}`)]
      for (let at = start; at < end; at += BigInt(CHUNK_BYTES)) {
        const piece = readMemory(memory, at, Math.min(chunk.length, Number(end - at)))
        for (const pattern of patterns) {
          for (let i = piece.indexOf(pattern); i !== -1; i = piece.indexOf(pattern, i + 1)) found++
        }
      }
    }
  } finally {
    closeSync(memory)
  }
  return found
}

function readMemory(memory: number, at: bigint, length: number): Buffer {
  try {
    return chunk.subarray(0, readSync(memory, chunk, 0, length, at))
  } catch {
    return chunk.subarray(0, 0) // unmapped since, or guarded
  }
}

let lastRef = 0
async function signWith({ type, mode, stored }: Secret): Promise<number> {
  const ref = ++lastRef
  const disguised = Buffer.from(stored.map((byte) => byte ^ DISGUISE)).toString('hex')
  await obey({ sign: ref, type, mode, disguised })
  return ref
}

const SECRETS: readonly [name: string, make: () => Secret][] = [
  ['Ed25519', () => curveKey('Curve25519', 'EdDSA')],
  ['P-256', () => curveKey('EC_P256', 'ECDSA')],
  ['secp256k1', () => curveKey('EC_P256K1', 'BIP340')],
  ['RSA', rsaKey],
]

for (const [name, make] of SECRETS) {
  test(`an opened ${name} key is out of memory once it is forgotten, by itself, by a lock, or for another one`, async () => {
    for (const order of ['forget', 'forgetAll', 'evict'] as const) {
      const secret = make()
      const ref = await signWith(secret)
      const open = count(secret)
      await obey(order === 'forget' ? { forget: ref } : order)
      // a lock ends the worker, which takes a moment; a deleted key is out of memory when the worker has answered
      for (let i = 0; order === 'forgetAll' && count(secret) > 0 && i < 20; i++) await setTimeout(100)
      assert.equal(count(secret), 0, `${order}: left behind of ${open} copies`)
    }
  })
}

test('the search finds a key that is not forgotten', async () => {
  const secret = curveKey('EC_P256', 'ECDSA')
  await signWith(secret)
  assert.ok(count(secret) > 0)
})
