/** The limit on failed attempts. Contract section 7.1. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { CofferError } from '../../firmware/error.ts'
import { createAttemptLimiter } from '../../firmware/http/attempts.ts'

const limited = (error: unknown) => error instanceof CofferError && error.code === 'tooManyAttempts'

test('a failure blocks its pair for a second, and refused attempts do not extend it', () => {
  let nowMs = 5
  const limiter = createAttemptLimiter(() => nowMs)
  limiter.check('1.2.3.4', 'admin')
  limiter.fail('1.2.3.4', 'admin')
  for (nowMs = 5; nowMs < 1005; nowMs += 100) assert.throws(() => limiter.check('1.2.3.4', 'admin'), limited)
  limiter.check('1.2.3.4', 'admin')
  limiter.check('1.2.3.5', 'admin')
})

test('other names and other addresses are not blocked', () => {
  const limiter = createAttemptLimiter(() => 0)
  limiter.fail('1.2.3.4', 'admin')
  limiter.check('1.2.3.4', 'admin2')
  limiter.check('1.2.3.5', 'admin')
  assert.throws(() => limiter.check('1.2.3.4', 'admin'), limited)
})

test('the table is bounded, forgets what expired, and keeps the newest failures', () => {
  let nowMs = 0
  const limiter = createAttemptLimiter(() => nowMs)
  for (let n = 0; n < 25_000; n++) limiter.fail('1.2.3.4', `user${n}`)
  assert.equal(limiter.size, 10_000)
  assert.throws(() => limiter.check('1.2.3.4', 'user24999'), limited)
  nowMs = 1000
  limiter.fail('1.2.3.4', 'another')
  assert.equal(limiter.size, 1)
})

test('right attempts that come together all succeed', async () => {
  const limiter = createAttemptLimiter(() => 0)
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
  const limiter = createAttemptLimiter(() => 0)
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
  const limiter = createAttemptLimiter(() => 0)
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
  const limiter = createAttemptLimiter(() => 0)
  const broken = limiter.attempt('a', 'u', async () => {
    throw new Error('no worker')
  })
  const next = limiter.attempt('a', 'u', async () => 'in')
  await assert.rejects(broken, /no worker/)
  assert.equal(await next, 'in')
})
