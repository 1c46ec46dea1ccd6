/** The limit on failed attempts. Contract section 7.1. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import type { QueuePriority } from '../../firmware/base/fair-queue.ts'
import { createLoginLimiter, prefixOf, UNLOCK_USER } from '../../firmware/base/login-limiter.ts'

const limited = (error: unknown) => error instanceof CofferError && error.code === 'tooManyAttempts'

test('a failure blocks its pair for a second, and refused attempts do not extend it', () => {
  let nowMs = 5
  const limiter = createLoginLimiter(() => nowMs)
  limiter.check('1.2.3.4', 'admin')
  limiter.fail('1.2.3.4', 'admin')
  for (nowMs = 5; nowMs < 1005; nowMs += 100) assert.throws(() => limiter.check('1.2.3.4', 'admin'), limited)
  limiter.check('1.2.3.4', 'admin')
  limiter.check('1.2.3.5', 'admin')
})

test('other names and other addresses are not blocked', () => {
  const limiter = createLoginLimiter(() => 0)
  limiter.fail('1.2.3.4', 'admin')
  limiter.check('1.2.3.4', 'admin2')
  limiter.check('1.2.3.5', 'admin')
  assert.throws(() => limiter.check('1.2.3.4', 'admin'), limited)
})

test('failures of a name are forgiven from every address, and those of others stay', () => {
  const limiter = createLoginLimiter(() => 0)
  for (const [address, user] of [
    ['1.2.3.4', 'admin'],
    ['2001:db8::1', 'admin'],
    ['1.2.3.4', 'an admin'],
  ] as const)
    limiter.fail(address, user)
  limiter.forgive('admin')
  limiter.check('1.2.3.4', 'admin')
  limiter.check('2001:db8::1', 'admin')
  assert.throws(() => limiter.check('1.2.3.4', 'an admin'), limited)
})

test('the table is bounded, forgets what expired, and keeps the newest failures', () => {
  let nowMs = 0
  const limiter = createLoginLimiter(() => nowMs)
  for (let n = 0; n < 25_000; n++) limiter.fail('1.2.3.4', `user${n}`)
  assert.equal(limiter.size, 10_000)
  assert.throws(() => limiter.check('1.2.3.4', 'user24999'), limited)
  nowMs = 1000
  limiter.fail('1.2.3.4', 'another')
  assert.equal(limiter.size, 1)
})

test('right attempts that come together all succeed', async () => {
  const limiter = createLoginLimiter(() => 0)
  let running = 0
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      limiter.attempt('a', 'u', async () => {
        assert.equal(++running, 1)
        await null
        running--
        return n
      }),
    ),
  )
  assert.deepEqual(
    results,
    Array.from({ length: 200 }, (_, n) => n),
  )
})

test('of guesses that come together only the first is verified', async () => {
  const limiter = createLoginLimiter(() => 0)
  let verified = 0
  const guesses = Array.from({ length: 50 }, () =>
    limiter.attempt('a', 'u', async () => {
      verified++
      await new Promise((resolve) => setTimeout(resolve, 5))
      return null
    }),
  )
  const other = limiter.attempt('a', 'someone else', async () => 'in')
  const outcomes = await Promise.allSettled(guesses)
  assert.equal(verified, 1)
  assert.deepEqual(outcomes[0], { status: 'fulfilled', value: null })
  assert.ok(outcomes.slice(1).every((outcome) => outcome.status === 'rejected' && limited(outcome.reason)))
  assert.equal(await other, 'in')
})

test('what is known at once waits for nobody, counts when it is wrong, and stays behind a guess under way', async () => {
  const limiter = createLoginLimiter(() => 0)
  const guess = Promise.withResolvers<null>()
  let verified = 0
  const known = (user: string) =>
    limiter.attempt('a', user, () => {
      verified++
      return 'in'
    })
  const first = known('u')
  assert.equal(verified, 1)
  assert.equal(await first, 'in')
  const slow = limiter.attempt('a', 'u', () => guess.promise)
  const behind = known('u')
  assert.equal(verified, 1)
  guess.resolve(null)
  assert.equal(await slow, null)
  await assert.rejects(behind, limited)
  assert.equal(verified, 1)
  assert.equal(await limiter.attempt('a', 'v', () => null), null)
  await assert.rejects(known('v'), limited)
})

test('a verification that throws counts as no failure and holds nobody up', async () => {
  const limiter = createLoginLimiter(() => 0)
  const broken = limiter.attempt('a', 'u', async () => {
    throw new Error('no worker')
  })
  const next = limiter.attempt('a', 'u', async () => 'in')
  await assert.rejects(broken, /no worker/)
  assert.equal(await next, 'in')
})

test('an IPv4 address counts for itself, and an IPv6 address for its /64', async () => {
  const same = [
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8::1', '2001:db8:0:0:1::'],
    ['::1', '::2:3'],
    ['fe80::1%eth0', 'fe80::2%eth0'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4::'],
  ] as const
  for (const [one, other] of same) assert.equal(prefixOf(one), prefixOf(other))
  const distinct = ['192.0.2.1', '192.0.2.2', '2001:db8:1:2::1', '2001:db8:1:3::1', '2001:db8::1', '1::', '::1', '']
  assert.equal(new Set(distinct.map(prefixOf)).size, distinct.length)
  const limiter = createLoginLimiter(() => 0)
  limiter.fail('2001:db8::1', 'admin')
  assert.throws(() => limiter.check('2001:db8::2', 'admin'), limited)
  limiter.check('2001:db8:0:1::2', 'admin')
})

test('a user who was right there before is not blocked by failures of others at that address, nor waits for them', async () => {
  const limiter = createLoginLimiter(() => 0)
  const login = async (address: string, recalled: string | null) =>
    limiter.recallOrAttempt(
      address,
      'u',
      () => recalled,
      async () => 'derived',
    )
  assert.equal(await login('a', null), 'derived')
  limiter.fail('a', 'u')
  assert.equal(await login('a', 'recalled'), 'recalled')
  await assert.rejects(login('a', null), limited)
  const guess = Promise.withResolvers<null>()
  const other = createLoginLimiter(() => 0)
  await other.attempt('a', 'u', async () => 'in')
  const slow = other.attempt('a', 'u', () => guess.promise)
  const recalled = await other.recallOrAttempt(
    'a',
    'u',
    () => 'recalled',
    async () => 'derived',
  )
  assert.equal(recalled, 'recalled')
  guess.resolve(null)
  assert.equal(await slow, null)
})

test('what is remembered answers no guesses from elsewhere while they are limited', async () => {
  const limiter = createLoginLimiter(() => 0)
  await limiter.attempt('a', 'u', async () => 'in')
  limiter.fail('b', 'u')
  const guess = async () =>
    limiter.recallOrAttempt(
      'b',
      'u',
      () => 'recalled',
      async () => 'derived',
    )
  await assert.rejects(guess, limited)
})

test('a pair that was right before is known, and so is an unlock from its prefix', async () => {
  const limiter = createLoginLimiter(() => 0)
  const place = async (address: string, user: string): Promise<QueuePriority> =>
    (await limiter.attempt(address, user, (p) => p))!
  assert.deepEqual(await place('a', 'u'), { rank: 'unknown', prefix: 'a' })
  assert.deepEqual(await place('a', 'u'), { rank: 'known', prefix: 'a' })
  assert.deepEqual(await place('a', UNLOCK_USER), { rank: 'known', prefix: 'a' })
  assert.deepEqual(await place('a', 'v'), { rank: 'unknown', prefix: 'a' })
  assert.deepEqual(await place('b', 'u'), { rank: 'unknown', prefix: 'b' })
  assert.equal((await place('c', UNLOCK_USER)).rank, 'unknown')
})

test('of attempts to unlock one runs and one waits for each prefix', async () => {
  const limiter = createLoginLimiter(() => 0)
  const end = Promise.withResolvers<null>()
  let verified = 0
  const attempt = (address: string) =>
    limiter.attempt(address, UNLOCK_USER, () => {
      verified++
      return end.promise
    })
  const outcomes = Promise.allSettled(Array.from({ length: 100 }, (_, n) => attempt(`2001:db8::${n}`)))
  const other = attempt('2001:db8:0:1::1')
  assert.equal(verified, 2)
  end.resolve(null)
  assert.ok((await outcomes).slice(2).every((outcome) => outcome.status === 'rejected' && limited(outcome.reason)))
  assert.equal(await other, null)
})
