/** Users share the pool in turns: one who sends thousands of operations keeps nobody out, and nobody back. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { runAuthorized } from '../../firmware/base/request-authorization.ts'
import { createPool } from '../../firmware/crypto/pool/pool.ts'
import { createWaitingJobs } from '../../firmware/crypto/pool/waiting-jobs.ts'
import type { Job } from '../../firmware/crypto/pool/worker-thread.ts'
import type { CryptoPool, KeyHandle } from '../../firmware/crypto/types.ts'

const ENTRY = new URL('../../firmware/crypto/pool/worker.ts', import.meta.url)
const JOBS_MAX = 2048
const AHEAD_MAX = 16 // jobs that a thread has already, when another user comes

async function withPool(work: (pool: CryptoPool) => Promise<void>): Promise<void> {
  const pool = createPool({ workers: 1, entry: ENTRY })
  try {
    await work(pool)
  } finally {
    await pool.close()
  }
}

const as = <T>(user: string, act: () => T): T => runAuthorized(() => {}, act, user)

async function keyOf(pool: CryptoPool, type: 'Curve25519' | 'Generic', ref: number): Promise<KeyHandle> {
  const pair = await pool.generate(type, 256)
  return { ref, type, load: () => pair.private.slice() }
}

/** Names of the operations in the order in which they ended; those refused in `refused`. */
function follow() {
  const [ended, refused]: [string[], string[]] = [[], []]
  const one = (name: string, operation: Promise<unknown>): Promise<void> =>
    operation.then(
      () => void ended.push(name),
      (error) => {
        assert.ok(error instanceof CofferError && error.code === 'busy', String(error))
        refused.push(name)
      },
    )
  return { ended, refused, one }
}

test('in a queue that one user has filled, others have room, and the next turns', () =>
  withPool(async (pool) => {
    const key = await keyOf(pool, 'Curve25519', 1)
    const sign = () => pool.sign(key, 'EdDSA', new Uint8Array(32))
    const { ended, refused, one } = follow()
    const all = Array.from({ length: JOBS_MAX + 10 }, (_, i) => as('batch', () => one(`batch ${i}`, sign())))
    for (const user of ['a', 'b']) for (let i = 0; i < 3; i++) all.push(as(user, () => one(`${user} ${i}`, sign())))
    await Promise.all(all)
    const ofOthers = ['a 0', 'b 0', 'a 1', 'b 1', 'a 2', 'b 2']
    assert.deepEqual(
      ended.filter((name) => !name.startsWith('batch')),
      ofOthers,
    )
    // Each turn of the others is followed by one of the batch.
    assert.ok(ended.indexOf('b 2') < AHEAD_MAX + 3 * ofOthers.length, `${ended.indexOf('b 2')}`)
    const ownOverflow = Array.from({ length: 10 }, (_, i) => `batch ${JOBS_MAX + i}`)
    const newest = ofOthers.map((_, i) => `batch ${JOBS_MAX - 1 - i}`)
    assert.deepEqual(refused, [...ownOverflow, ...newest])
    assert.ok(await as('batch', sign), 'there is room again')
  }))

test('the bytes of large messages are shared in the same way', () =>
  withPool(async (pool) => {
    const key = await keyOf(pool, 'Generic', 1)
    const [message, iv] = [new Uint8Array(50 * 1024 * 1024), new Uint8Array(16)]
    const encrypt = () => pool.encrypt(key, 'AES_CBC', message, iv)
    const { ended, refused, one } = follow()
    const names = ['large 0', 'large 1', 'large 2', 'large 3', 'large 4', 'other', 'large 5']
    await Promise.all(names.map((name) => as(name.slice(0, 5), () => one(name, encrypt()))))
    assert.deepEqual(refused, ['large 4', 'large 5'])
    assert.equal(ended[3], 'other', 'behind two that the thread had, and one turn')
  }))

test('a search for keys of one user waits for one of another, not for all of them', () =>
  withPool(async (pool) => {
    const { ended, refused, one } = follow()
    const generate = () => pool.generate('RSA', 1024)
    const all = Array.from({ length: 33 }, (_, i) => as('many', () => one(`many ${i}`, generate())))
    all.push(as('other', () => one('other', generate())))
    pool.importRaw('Generic', new Uint8Array(16)) // of no user: in another queue
    await Promise.all(all)
    assert.deepEqual(refused, ['many 32', 'many 31'])
    assert.ok(ended.indexOf('other') <= 3, `${ended.indexOf('other')}`)
  }))

const job = (user: string, bytes = 0) => ({ user, bytes }) as Job

test('users have turns in the order of their last ones, and each its jobs in order', () => {
  const waiting = createWaitingJobs()
  const [a1, a2, a3, b1, c1] = [job('a'), job('a'), job('a'), job('b'), job('')]
  for (const each of [a1, a2, a3, b1]) waiting.add(each)
  assert.equal(waiting.next(), a1)
  waiting.add(c1)
  assert.equal(waiting.size, 4)
  assert.deepEqual(
    Array.from({ length: 5 }, () => waiting.next()),
    [b1, a2, c1, a3, undefined],
  )
  assert.equal(waiting.size, 0)
})

test('who has as much waiting as another makes no room, and jobs of no user never do', () => {
  const waiting = createWaitingJobs()
  const own = Array.from({ length: 5 }, () => job('', 100))
  const [a1, a2, a3, b1] = [job('a', 10), job('a', 30), job('a'), job('b', 40)]
  for (const each of [...own, a1, a2, a3, b1]) waiting.add(each)
  const one = { jobs: 1, bytes: 0 }
  assert.equal(waiting.makeRoom('a', one, 0), null)
  assert.deepEqual(waiting.makeRoom('c', one, 0), [a3])
  assert.deepEqual(waiting.makeRoom('c', one, 0), [a2])
  assert.equal(waiting.makeRoom('c', one, 0), null)
  assert.equal(waiting.makeRoom('c', { jobs: 0, bytes: 50 }, 30), null, 'not enough')
  assert.equal(waiting.makeRoom('c', { jobs: 0, bytes: 20 }, 40), null)
  assert.deepEqual(waiting.makeRoom('c', { jobs: 0, bytes: 20 }, 30), [b1])
  assert.equal(waiting.size, own.length + 1)
})
