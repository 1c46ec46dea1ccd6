/** A CA, a chat process or a store that fails at the worst moment: orders go on afterwards, at a bounded rate. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Send } from '../../firmware/acme/client.ts'
import { expectListed } from '../../firmware/outgoing/hosts.ts'
import { needs } from '../support/tools.ts'
import { type AcmeRig, DAY_MS, leafExtensions, openAcme, portOf, START_MS, step, validity } from './support/rig.ts'

const options = { ...needs('openssl'), timeout: 60_000 }
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const NAMES = ['coffer.test', 'keys.coffer.test']

const untilValid = (opened: AcmeRig): Promise<void> => step(opened, () => portOf(opened).state === 'valid')

/** Orders that fail before a validation begins, more of them than an hour has room for failed validations. */
async function failSixTimes(opened: AcmeRig): Promise<void> {
  await opened.set({ appliance: ['coffer.test'] })
  for (let tries = 1; tries <= 6; tries++) {
    await step(opened, () => portOf(opened).failures > 0)
    await passTime(opened, 11_000)
    if (tries < 6) opened.acme.renew('appliance')
  }
}

async function passTime(opened: AcmeRig, ms: number): Promise<void> {
  const untilMs = opened.clock.now() + ms
  while (await opened.clock.advance(untilMs));
}

/** Answers as `change` makes them of those of the scripted CA. */
async function wrapSend(opened: AcmeRig, wrap: (send: Send) => Send): Promise<void> {
  opened.ca.send = wrap(opened.ca.send)
  await opened.restart()
}

test('a validation that cannot be stored does not begin, and does not count', options, async (t) => {
  const opened = await openAcme(t)
  const { deviceRecords } = opened.rig.appliance
  const { write } = deviceRecords
  deviceRecords.write = (change) => {
    const isBeginning =
      portOf(opened).state === 'ordering' && opened.ca.asked.at(-1)?.startsWith('POST /authorization/')
    if (isBeginning) throw new Error('no space left')
    write(change)
  }
  await failSixTimes(opened)
  assert.equal(opened.ca.asked.filter((path) => path.startsWith('POST /challenge/')).length, 0)
  deviceRecords.write = write
  opened.acme.renew('appliance')
  await untilValid(opened)
  assert.ok(opened.clock.now() - START_MS < 10 * MINUTE_MS)
})

test('an order that lists an authorization again and again fails, and does not block the name', options, async (t) => {
  const opened = await openAcme(t)
  let isHostile = true
  await wrapSend(opened, (send) => async (job, ...rest) => {
    const answer = await send(job, ...rest)
    if (!isHostile || !/\/order/.test(job.url)) return answer
    const order = JSON.parse(Buffer.from(answer.body).toString())
    order.authorizations = Array(6).fill(order.authorizations[0])
    return { ...answer, body: new TextEncoder().encode(JSON.stringify(order)) }
  })
  opened.ca.problemAt = (path) =>
    isHostile && path.startsWith('/challenge/') ? { status: 500, type: 'serverInternal' } : null
  await failSixTimes(opened)
  assert.equal(portOf(opened).problem, 'The CA asks twice for coffer.test')
  isHostile = false
  opened.acme.renew('appliance')
  await untilValid(opened)
  assert.ok(opened.clock.now() - START_MS < 10 * MINUTE_MS)
})

test('a window behind the end of the certificate does not stop its renewal', options, async (t) => {
  const opened = await openAcme(t)
  const late = (days: number) => new Date(START_MS + days * DAY_MS).toISOString()
  opened.ca.renewalInfo = () => ({ start: late(300), end: late(301) })
  await opened.set({ appliance: NAMES })
  await untilValid(opened)
  const endMs = opened.shown().validToDate.getTime()
  await step(opened, () => opened.ca.orders.length === 2)
  assert.ok(opened.clock.now() < endMs - 8 * DAY_MS)
})

test('a CA that fails for a while does not let a short life end', options, async (t) => {
  const opened = await openAcme(t)
  opened.ca.issue = (csr, names) => opened.issue(csr, names, 1 / 4)
  await opened.set({ appliance: NAMES })
  await untilValid(opened)
  const endMs = opened.shown().validToDate.getTime()
  opened.ca.problemAt = () => (opened.clock.now() < START_MS + 4 * HOUR_MS ? 'unreachable' : null)
  await step(opened, () => portOf(opened).failures >= 3)
  await untilValid(opened)
  assert.ok(opened.clock.now() < endMs - HOUR_MS)
})

test('a life of less than an hour is refused, and not ordered again and again', options, async (t) => {
  const opened = await openAcme(t)
  opened.ca.issue = (csr, names) => {
    const dates = validity(opened.clock.now(), opened.clock.now() + 59 * MINUTE_MS)
    const leaf = opened.workshop.issue({
      name: 'short',
      csr,
      issuer: opened.authority,
      extensions: leafExtensions(names),
      validity: dates,
    })
    return `${leaf.pem}${opened.authority.pem}`
  }
  await opened.set({ appliance: NAMES })
  await passTime(opened, DAY_MS)
  assert.equal(portOf(opened).problem, 'The certificate was refused: it is valid for less than an hour')
  assert.ok(opened.ca.orders.length <= 8, `${opened.ca.orders.length} orders`)
})

test('a step at no time is not taken', options, async (t) => {
  const opened = await openAcme(t, () => Number.NaN)
  opened.ca.issue = (csr, names) => {
    assert.ok(opened.ca.orders.length < 5, 'order after order')
    return opened.issue(csr, names)
  }
  await opened.set({ appliance: NAMES })
  await untilValid(opened)
  await passTime(opened, DAY_MS)
  assert.equal(opened.ca.orders.length, 1)
})

const silentChat = (t: TestContext): Promise<AcmeRig> => openAcme(t, Math.random, () => new Promise(() => {}))

test('a chat process that does not take challenges holds no order of the appliance', options, async (t) => {
  const opened = await silentChat(t)
  await opened.set({ appliance: NAMES, challenge: 'tls-alpn-01' })
  await untilValid(opened)
  assert.ok(opened.clock.now() - START_MS < MINUTE_MS)
})

test('a stop does not wait for a chat process that does not take challenges', options, async (t) => {
  const opened = await silentChat(t)
  await opened.set({ appliance: NAMES, challenge: 'tls-alpn-01' })
  await step(opened, () => opened.ca.asked.includes('POST /authorization/1'))
  await opened.acme.close()
  assert.equal(opened.clock.now(), START_MS)
})

test('an error outside of a step is logged, and the steps go on', options, async (t) => {
  let isBroken = false
  const opened = await openAcme(t, () => {
    if (isBroken) throw new Error('no random number')
    return 0.5
  })
  opened.ca.problemAt = () => (isBroken ? 'unreachable' : null)
  isBroken = true
  await opened.set({ appliance: NAMES })
  await step(opened, () => opened.clock.now() >= START_MS + 3 * MINUTE_MS)
  assert.ok(opened.ca.asked.length <= 4, `${opened.ca.asked.length} requests`)
  isBroken = false
  await untilValid(opened)
})

test('ten minutes of polls are measured with the time of the requests', options, async (t) => {
  const opened = await openAcme(t)
  await wrapSend(opened, (send) => async (job, hosts, signal) => {
    await opened.clock.sleep(25_000, signal)
    return send(job, hosts, signal)
  })
  opened.ca.validate = () => 'pending'
  await opened.set({ appliance: ['coffer.test'] })
  await step(opened, () => portOf(opened).failures > 0)
  assert.equal(portOf(opened).problem, 'The CA did not decide within 10 minutes')
  assert.ok(opened.clock.now() - START_MS < 16 * MINUTE_MS)
})

test('a directory whose host has a trailing dot is reached', options, async (t) => {
  const opened = await openAcme(t)
  await wrapSend(opened, (send) => (job, hosts, signal) => {
    expectListed(job.url, hosts)
    return send(job, hosts, signal)
  })
  await opened.set({ directory: 'https://ca.example./directory', appliance: NAMES })
  await untilValid(opened)
})
