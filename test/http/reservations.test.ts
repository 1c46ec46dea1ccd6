/** One user's request bodies leave room for those of others. Contract section 1.5. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BODY_LIMITS } from '../../firmware/http/request/body-rate.ts'
import { createReservations } from '../../firmware/http/request/reservations.ts'

const BUSY = { code: 'busy' }

const reservations = () => createReservations({ ...BODY_LIMITS, totalBytesMax: 1000, smallBytes: 10 })

/** Holds bodies of 110 bytes, of which 100 count, until one is refused; returns those that were not. */
function fill({ hold }: ReturnType<typeof reservations>, user: string) {
  const bodies = []
  for (;;) {
    const body = hold(user)
    try {
      body.add(110)
    } catch (error) {
      assert.equal((error as { code?: string }).code, BUSY.code)
      body.release()
      return bodies
    }
    bodies.push(body)
  }
}

test('the bodies of one user take half of the memory, and those of the next ones half of what is left', () => {
  const all = reservations()
  const counts = ['anna', 'ben', 'carl', 'dora'].map((user) => fill(all, user).length)
  assert.deepEqual(counts, [5, 2, 1, 1])
})

test('shares become equal as bodies end and others begin', () => {
  const all = reservations()
  const anna = fill(all, 'anna')
  assert.equal(fill(all, 'ben').length, 2)
  for (const body of anna.splice(0, 2)) body.release()
  assert.equal(fill(all, 'ben').length, 1, 'three each')
  assert.equal(fill(all, 'anna').length, 0)
})

test('the only body of a user takes all that is left, and is refused beyond that', () => {
  const { hold } = reservations()
  hold('anna').add(310)
  const ben = hold('ben')
  ben.add(410)
  ben.add(300)
  assert.throws(() => ben.add(1), BUSY)
  ben.release()
  hold('ben').add(710)
})

test('a later body of a user does not end the one that was alone when it began', () => {
  const { hold } = reservations()
  const [large, later, third] = [hold('anna'), hold('anna'), hold('anna')]
  large.add(710)
  assert.throws(() => later.add(20), BUSY)
  large.add(100)
  later.release()
  large.add(100)
  assert.throws(() => third.add(20), BUSY)
  large.release() // the third is the oldest now
  third.add(900)
})

test('small bodies do not count, however many they are', () => {
  const all = reservations()
  fill(all, 'anna')
  for (let n = 0; n < 1000; n++) all.hold('anna').add(10)
  assert.equal(fill(all, 'ben').length, 2)
})

test('a body that was refused gives back what it took, and one that was released counts once', () => {
  const all = reservations()
  const bodies = fill(all, 'anna')
  assert.equal(fill(all, 'anna').length, 0)
  for (const body of [...bodies, ...bodies]) body.release()
  assert.equal(fill(all, 'ben').length, 5)
})
