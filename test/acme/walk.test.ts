// @test long 60
/** A clock walks through 200 days with failures of each kind: there is always a certificate, and no more than five failures of a name in an hour. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileNeeds } from '../support/tools.ts'
import type { Ca, Problem } from './support/ca.ts'
import { DAY_MS, openAcme, START_MS } from './support/rig.ts'

await fileNeeds('openssl')

const HOUR_MS = 3_600_000
const DAYS = 200
const NAMES = ['coffer.test', 'keys.coffer.test']

const mostInAnHour = (times: readonly number[]): number =>
  Math.max(0, ...times.map((from) => times.filter((time) => time >= from && time < from + HOUR_MS).length))

const problem = (type: string, status: number, retryAfterS?: number): Problem => ({
  ...{ type, status },
  ...(retryAfterS !== undefined && { retryAfterS }),
})

type Mood = Partial<Pick<Ca, 'problemAt' | 'validate' | 'issue'>>

/** Each lasts five days and is followed by five good ones. */
const MOODS: Record<string, (paths: { at: (path: string, what: ReturnType<Ca['problemAt']>) => Mood }) => Mood> = {
  unreachable: () => ({ problemAt: () => 'unreachable' }),
  'a broken directory': ({ at }) => at('/directory', 'malformed'),
  'nonces that it never takes': ({ at }) => at('/order', problem('badNonce', 400)),
  'orders that it limits': ({ at }) => at('/order', problem('rateLimited', 429, 4 * 3600)),
  'orders that it limits for ages': ({ at }) => at('/order', problem('rateLimited', 429, 99 * 86_400)),
  'names that it cannot validate': () => ({ validate: () => 'invalid' }),
  'one name that it cannot validate': () => ({ validate: (name) => (name === NAMES[1] ? 'invalid' : 'valid') }),
  'validations that never end': () => ({ validate: () => 'pending' }),
  'requests that it refuses': () => ({
    problemAt: (path) => (path.startsWith('/finalize') ? problem('badCSR', 400) : null),
  }),
  'certificates that are none': () => ({ issue: () => 'nothing' }),
}

const PROBLEMS = [
  'Cannot reach the CA: it did not answer within 30 seconds',
  'The directory of the CA is malformed',
  'The CA refuses: refused as badNonce',
  'The CA refuses: refused as rateLimited',
  'The CA could not validate coffer.test: no answer',
  'The CA could not validate keys.coffer.test: no answer',
  'The CA did not decide within 10 minutes',
  'The CA refuses: refused as badCSR',
  'PEM: no certificate found',
]

test('two hundred days', async (t) => {
  let seed = 7
  const fraction = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const opened = await openAcme(t, fraction)
  const { ca, clock } = opened
  const good: Mood = {
    problemAt: () => null,
    validate: () => 'valid',
    issue: (csr, names) => opened.issue(csr, names, 6),
  }
  const at = (path: string, what: ReturnType<Ca['problemAt']>): Mood => ({
    problemAt: (asked) => (asked === path ? what : null),
  })
  const failures = new Map<string, number[]>()
  let validates: Ca['validate'] = () => 'valid'
  ca.validate = (name, token) => {
    const result = validates(name, token)
    if (result !== 'valid') failures.set(name, [...(failures.get(name) ?? []), clock.now()])
    return result
  }
  const feel = ({ validate, ...mood }: Mood) => {
    validates = validate ?? (() => 'valid')
    Object.assign(ca, { problemAt: good.problemAt, issue: good.issue }, mood)
  }

  feel(good)
  await opened.set({ appliance: NAMES })
  const port = () => opened.acme.view().ports.appliance
  const moods = Object.entries(MOODS)
  const states = new Set<string>()
  const serials = new Set<string>()
  let failedForMs = 0
  for (let day = 0; day < DAYS; day++) {
    const [name, mood] = moods[Math.floor(day / 10) % moods.length]!
    feel(day % 10 >= 5 ? { ...mood({ at }) } : good)
    const untilMs = START_MS + (day + 1) * DAY_MS
    for (let steps = 0; await clock.advance(untilMs); steps++) {
      assert.ok(steps < 20_000, `${name}: ${JSON.stringify(port())}`)
      if (fraction() < 0.01) await opened.restart()
      if (fraction() < 0.01) await opened.set({ contact: [`day${day}@coffer.test`] })
      if (fraction() < 0.02 && port().state === 'failing')
        try {
          opened.acme.renew('appliance')
        } catch {} // within ten seconds of the last time
    }
    await clock.settle()
    states.add(port().state)
    serials.add(opened.shown().serialNumber)
    const isValid = opened.shown().validToDate.getTime() > clock.now()
    failedForMs = day % 10 >= 5 ? failedForMs + DAY_MS : 0
    if (failedForMs === 0) assert.ok(isValid, `day ${day}, ${name}: no valid certificate at the end of a good day`)
  }
  assert.ok(serials.size > 20, `${serials.size} certificates`)
  const said = opened.rig.entries.map(({ message }) => /cannot order .*? appliance: (.*)/.exec(message)?.[1])
  assert.deepEqual(new Set(said.filter((text) => text !== undefined)), new Set(PROBLEMS))
  assert.ok(states.has('failing') && states.has('valid'))
  assert.ok(failures.size === 2)
  for (const [name, times] of failures) {
    t.diagnostic(`${name}: ${times.length} failures, ${mostInAnHour(times)} in an hour`)
    assert.ok(times.length > 10)
    assert.ok(mostInAnHour(times) <= 5, `${name}: ${mostInAnHour(times)} in an hour`)
  }
  assert.equal(ca.accounts.length, 1)
})
