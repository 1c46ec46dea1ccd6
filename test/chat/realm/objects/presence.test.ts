import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isWithin, legacy, modern, report } from '../../../../firmware/chat/realm/objects/presence.ts'

const now = 1_700_000_000

describe('presence', () => {
  it('a first report is kept, and tells others when it is an active one', () => {
    assert.deepEqual(report(undefined, 'active', now), { times: { active: now, idle: now }, returned: true })
    assert.deepEqual(report(undefined, 'idle', now), { times: { active: 0, idle: now }, returned: false })
  })

  it('a report within 55 seconds says nothing new, one after that does', () => {
    const before = { active: now, idle: now }
    assert.deepEqual(report(before, 'active', now + 55), { times: null, returned: false })
    assert.deepEqual(report(before, 'active', now + 56), {
      times: { active: now + 56, idle: now + 56 },
      returned: false,
    })
  })

  it('activity after a recent idle report is news at once', () => {
    const before = { active: now - 100, idle: now }
    assert.deepEqual(report(before, 'active', now + 1).times, { active: now + 1, idle: now + 1 })
    assert.equal(report(before, 'idle', now + 1).times, null)
  })

  it('others are told at once of who was away for more than 200 seconds', () => {
    const before = { active: now, idle: now }
    assert.equal(report(before, 'active', now + 200).returned, false)
    assert.equal(report(before, 'active', now + 201).returned, true)
    assert.equal(report(before, 'idle', now + 201).returned, false)
  })

  it('an idle report leaves the time of activity as it was', () => {
    assert.deepEqual(report({ active: now, idle: now }, 'idle', now + 300).times, {
      active: now,
      idle: now + 300,
    })
  })

  it('old clients see users as active who were active within 70 seconds of their last report', () => {
    const website = { client: 'website', status: 'active', timestamp: now, pushable: false }
    assert.deepEqual(legacy({ active: now, idle: now + 70 }), {
      aggregated: { client: 'website', status: 'active', timestamp: now },
      website,
    })
    assert.deepEqual(legacy({ active: now, idle: now + 71 }).website, {
      client: 'website',
      status: 'idle',
      timestamp: now + 71,
      pushable: false,
    })
    assert.equal(legacy({ active: 0, idle: now }).aggregated.status, 'idle')
  })

  it('new clients see both times, and only the one that there is', () => {
    assert.deepEqual(modern({ active: now, idle: now + 5 }), { active_timestamp: now, idle_timestamp: now + 5 })
    assert.deepEqual(modern({ active: 0, idle: now }), { idle_timestamp: now })
  })

  it('is answered for as many days as are asked for', () => {
    const presence = { active: 0, idle: now - 86_400 }
    assert.equal(isWithin(presence, 1, now), true)
    assert.equal(isWithin(presence, 1, now + 1), false)
  })
})
