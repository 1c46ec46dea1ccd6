/** Orders over an appliance: which certificates are installed, failures, renewals, restarts and locks. */

import assert from 'node:assert/strict'
import type { X509Certificate } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { UNLOCK } from '../support/in-process.ts'
import { needs } from '../support/tools.ts'
import { type AcmeRig, DAY_MS, leafExtensions, openAcme, portOf, START_MS, step, validity } from './support/rig.ts'

const options = needs('openssl')
const HOUR_MS = 3_600_000
const NAMES = ['coffer.test', 'keys.coffer.test']

const namesOf = (certificate: X509Certificate) => certificate.subjectAltName

async function openValid(t: TestContext, json: object = {}): Promise<AcmeRig> {
  const opened = await openAcme(t)
  await opened.set({ appliance: NAMES, ...json })
  await step(opened, () => portOf(opened).state === 'valid')
  return opened
}

test('nothing is asked without a directory, and nothing is ordered without names', options, async (t) => {
  const opened = await openAcme(t)
  await opened.clock.advance(START_MS + DAY_MS)
  assert.equal(portOf(opened).state, 'off')
  await opened.set({})
  await opened.clock.advance(START_MS + DAY_MS)
  assert.deepEqual(opened.ca.asked, [])
  assert.throws(() => opened.acme.renew('appliance'), { code: 'unavailable' })
})

test('the certificate has the names and the key of the port, and is audited', options, async (t) => {
  const opened = await openAcme(t)
  const before = opened.shown()
  await opened.set({ appliance: NAMES })
  await step(opened, () => portOf(opened).state === 'valid')
  assert.equal(namesOf(opened.shown()), NAMES.map((name) => `DNS:${name}`).join(', '))
  assert.ok(opened.shown().publicKey.equals(before.publicKey))
  const { lines } = (await opened.rig.call('GET', '/audit?action=acme', { as: 'admin' })).json()
  const [{ user, kind, facts }] = lines.filter((line: { action: string }) => line.action === 'acme')
  assert.equal(user, '')
  assert.equal(kind, 'change')
  assert.equal(facts.port, 'appliance')
  assert.equal(Date.parse(facts.notAfter), opened.shown().validToDate.getTime())
})

const REFUSED: Record<
  string,
  { issue: (opened: AcmeRig) => (csr: string, names: readonly string[]) => string; problem: RegExp }
> = {
  'for another key': {
    issue:
      ({ workshop, authority, clock }) =>
      (_, names) => {
        const dates = validity(clock.now(), clock.now() + DAY_MS)
        const leaf = workshop.issue({
          name: 'x',
          issuer: authority,
          extensions: leafExtensions(names),
          validity: dates,
        })
        return `${leaf.pem}${authority.pem}`
      },
    problem: /not for the TLS key/,
  },
  'with another name': {
    issue:
      ({ issue }) =>
      (csr, names) =>
        issue(csr, [...names.slice(1), 'other.test']),
    problem: /other names than were ordered/,
  },
  'with one name more': {
    issue:
      ({ issue }) =>
      (csr, names) =>
        issue(csr, [...names, 'other.test']),
    problem: /other names than were ordered/,
  },
  'with one name less': {
    issue:
      ({ issue }) =>
      (csr, names) =>
        issue(csr, names.slice(1)),
    problem: /other names than were ordered/,
  },
  'that has expired': {
    issue:
      ({ issue }) =>
      (csr, names) =>
        issue(csr, names, -1 / 48),
    problem: /valid from .* only/,
  },
  'that is not valid yet': {
    issue:
      ({ workshop, authority, clock }) =>
      (csr, names) => {
        const dates = validity(clock.now() + DAY_MS, clock.now() + 2 * DAY_MS)
        const leaf = workshop.issue({
          name: 'x',
          csr,
          issuer: authority,
          extensions: leafExtensions(names),
          validity: dates,
        })
        return `${leaf.pem}${authority.pem}`
      },
    problem: /valid from .* only/,
  },
  'with a cut chain': {
    issue:
      ({ issue }) =>
      (csr, names) =>
        issue(csr, names).replace(/(-----END CERTIFICATE-----\n).*/s, '$1'),
    problem: /leads to no authority that is known/,
  },
  'with a chain of others': {
    issue:
      ({ issue, workshop }) =>
      (csr, names) =>
        issue(csr, names).replace(/(-----END CERTIFICATE-----\n).*/s, `$1${workshop.root('Another').pem}`),
    problem: /not issued by the next one/,
  },
  'that is none': { issue: () => () => 'nothing', problem: /no certificate found/ },
}

for (const [what, { issue, problem }] of Object.entries(REFUSED))
  test(`a certificate ${what} is not installed, and the one in use stays`, options, async (t) => {
    const opened = await openValid(t)
    const before = opened.shown()
    opened.ca.issue = issue(opened)
    opened.clock.advance(opened.clock.now() + 11_000)
    opened.acme.renew('appliance')
    await step(opened, () => portOf(opened).failures > 0)
    const { state, problem: said } = portOf(opened)
    assert.equal(state, 'failing')
    assert.match(said!, problem)
    assert.equal(opened.shown().raw.compare(before.raw), 0)
    opened.ca.issue = opened.issue
    await step(opened, () => portOf(opened).state === 'valid')
    assert.notEqual(opened.shown().raw.compare(before.raw), 0)
    assert.ok(opened.shown().publicKey.equals(before.publicKey))
  })

test('a certificate is renewed at the time that is shown, and names the former one', options, async (t) => {
  const opened = await openAcme(t)
  opened.ca.issue = (csr, names) => opened.issue(csr, names, 6)
  await opened.set({ appliance: NAMES, profile: 'classic' })
  await step(opened, () => portOf(opened).state === 'valid')
  const { renewAtMs } = portOf(opened)
  const before = opened.shown()
  await step(opened, () => opened.ca.orders.length === 2)
  await step(opened, () => portOf(opened).state === 'valid')
  const lateMs = opened.clock.now() - renewAtMs!
  assert.ok(lateMs >= 0 && lateMs < HOUR_MS, `${lateMs / HOUR_MS} hours late`)
  const [first, second] = opened.ca.orders
  assert.deepEqual([first!.replaces, first!.profile, second!.profile], [undefined, 'classic', 'classic'])
  const serial = Buffer.from(before.serialNumber, 'hex').toString('base64url')
  assert.match(second!.replaces!, new RegExp(`^[\\w-]{27}\\.A{0,2}${serial.replace(/=+$/, '')}$`))
  assert.equal(opened.ca.accounts.length, 1)
})

for (const type of ['alreadyReplaced', 'unauthorized', 'malformed', 'serverInternal'])
  test(
    `a CA that refuses as ${type} to replace a certificate is asked for one that replaces none`,
    options,
    async (t) => {
      const opened = await openValid(t)
      const before = opened.shown()
      opened.ca.problemAt = (path, payload) =>
        path === '/order' && payload?.replaces !== undefined ? { status: 403, type } : null
      opened.acme.renew('appliance')
      await step(opened, () => opened.shown().serialNumber !== before.serialNumber)
      assert.equal(opened.ca.orders.at(-1)!.replaces, undefined)
    },
  )

test('a limit of the CA is not answered with a second order', options, async (t) => {
  const opened = await openValid(t)
  const limited = { status: 429, type: 'rateLimited', retryAfterS: 3600 }
  opened.ca.problemAt = (path) => (path === '/order' ? limited : null)
  const asked = opened.ca.asked.length
  opened.acme.renew('appliance')
  await step(opened, () => portOf(opened).failures === 1)
  assert.equal(opened.ca.asked.slice(asked).filter((text) => text === 'POST /order').length, 1)
})

test('a restart does not lose an order that was asked for', options, async (t) => {
  const opened = await openValid(t)
  const before = opened.shown()
  opened.acme.renew('appliance')
  await opened.restart()
  await step(opened, () => opened.shown().serialNumber !== before.serialNumber)
  assert.ok(opened.clock.now() - START_MS < HOUR_MS)
})

test('a window that the CA moves into the past renews as soon as it is known', options, async (t) => {
  const opened = await openValid(t)
  const before = opened.shown()
  const past = (hours: number) => new Date(START_MS - hours * HOUR_MS).toISOString()
  opened.ca.renewalInfo = () => ({ start: past(2), end: past(1) })
  await step(opened, () => opened.shown().serialNumber !== before.serialNumber)
  assert.ok(opened.clock.now() - START_MS < DAY_MS)
})

test('a restart and a lock in the middle of an order: the next one begins anew', options, async (t) => {
  const opened = await openAcme(t)
  const { rig, ca } = opened
  ca.validate = () => 'pending'
  await opened.set({ appliance: NAMES })
  await step(opened, () => ca.asked.includes('POST /challenge/0'))
  await opened.restart()
  await step(opened, () => ca.orders.length === 2)
  await rig.appliance.lock()
  assert.equal(await rig.status('GET', '/config/acme', { as: 'admin' }), 412)
  ca.validate = () => 'valid'
  await rig.appliance.unlock(new TextEncoder().encode(UNLOCK))
  await step(opened, () => portOf(opened).state === 'valid')
  assert.equal(ca.accounts.length, 1)
  await opened.restart()
  assert.equal(portOf(opened).state, 'valid')
  await opened.clock.advance(opened.clock.now() + DAY_MS)
  assert.equal(ca.orders.length, 3)
})

test('failures survive a restart, and a change of a setting begins anew', options, async (t) => {
  const opened = await openAcme(t)
  opened.ca.problemAt = () => 'unreachable'
  await opened.set({ appliance: NAMES })
  await step(opened, () => portOf(opened).failures === 4)
  const before = portOf(opened)
  assert.match(before.problem!, /^Cannot reach the CA: it did not answer/)
  await opened.restart()
  assert.deepEqual(portOf(opened), before)
  await opened.set({ contact: ['admin@coffer.test'] })
  assert.equal(portOf(opened).failures, 0)
})

test('another directory makes another account, a failure never does', options, async (t) => {
  const opened = await openValid(t)
  const first = opened.ca.accounts[0]
  opened.ca.problemAt = (path) => (path === '/order' ? { status: 500, type: 'serverInternal' } : null)
  opened.acme.renew('appliance')
  await step(opened, () => portOf(opened).failures === 3)
  assert.equal(opened.ca.accounts.length, 1)
  opened.ca.problemAt = () => null
  await opened.set({ directory: null })
  assert.equal(opened.acme.view().account, null)
  await opened.set({ directory: 'https://ca.example/directory' })
  await opened.clock.advance(opened.clock.now() + 11_000)
  opened.acme.renew('appliance')
  await step(opened, () => opened.acme.view().account !== null && portOf(opened).state === 'valid')
  assert.equal(opened.ca.accounts.length, 2)
  assert.notEqual(opened.ca.accounts[1]!.x, first!.x)
})

test('names that cannot be validated: five times in an hour at most', options, async (t) => {
  const opened = await openAcme(t)
  const times: number[] = []
  opened.ca.validate = () => {
    times.push(opened.clock.now())
    return 'invalid'
  }
  await opened.set({ appliance: ['coffer.test'] })
  for (let asked = 0; asked < 60; asked++) {
    await opened.clock.advance(opened.clock.now() + 11_000)
    await opened.clock.settle()
    if (asked % 3 === 0) await opened.set({ contact: [`admin${asked}@coffer.test`] })
    else if (opened.clock.now() > START_MS + asked * 11_000) opened.acme.renew('appliance')
    if (asked % 7 === 0) await opened.restart()
  }
  assert.equal(times.filter((atMs) => atMs < START_MS + HOUR_MS).length, 5)
  assert.match(portOf(opened).problem ?? 'could not validate', /could not validate/)
})
