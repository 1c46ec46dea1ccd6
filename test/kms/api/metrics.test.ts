/** Metrics for Prometheus beyond the JSON: how much there is, what is due, and how long answers take. Contract section 4.8. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { ChatService } from '../../../firmware/chat/link/chat-service.ts'
import { createTraffic } from '../../../firmware/http/server/traffic.ts'
import { operationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'

async function samples(rig: Rig, as = 'metrics'): Promise<Map<string, number>> {
  const { status, text } = await rig.call('GET', '/metrics', { as, headers: { accept: 'text/plain' } })
  assert.equal(status, 200, text())
  const lines = text()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

test('keys and users are counted, for those of a namespace its own', async (t) => {
  const rig = await operationalRig(t)
  for (const [id, role] of [
    ['backend~chief', 'Administrator'],
    ['backend~gauge', 'Metrics'],
  ] as const)
    await rig.user(id, role)
  await rig.call('PUT', '/namespaces/backend', { as: 'admin' })
  await rig.key('one')
  await rig.key('two')
  await rig.key('one', {}, 'backend~chief')
  const all = await samples(rig)
  assert.deepEqual([all.get('coffer_keys'), all.get('coffer_users')], [3, 6])
  const own = await samples(rig, 'backend~gauge')
  assert.deepEqual([own.get('coffer_keys'), own.get('coffer_users')], [1, 2])
  await rig.call('DELETE', '/keys/two', { as: 'admin' })
  await rig.call('DELETE', '/namespaces/backend', { as: 'admin' })
  assert.equal((await samples(rig)).get('coffer_keys'), 1)
})

test('the state is the one that is', async (t) => {
  const rig = await operationalRig(t)
  const states = [...(await samples(rig))].filter(([name]) => name.startsWith('coffer_state{'))
  assert.deepEqual(Object.fromEntries(states), {
    'coffer_state{state="Unprovisioned"}': 0,
    'coffer_state{state="Locked"}': 0,
    'coffer_state{state="Operational"}': 1,
    'coffer_state{state="Failed"}': 0,
  })
})

test('the end of the certificate is that of the one in use', async (t) => {
  const rig = await operationalRig(t)
  const name = 'coffer_tls_certificate_end_timestamp_seconds'
  const endless = Date.parse('9999-12-31T23:59:59Z') / 1000 // RFC 5280 section 4.1.2.5
  assert.equal((await samples(rig)).get(name), endless)
})

test('a backup is noted once it was sent to its end, and still known after a lock', async (t) => {
  const rig = await operationalRig(t)
  const name = 'coffer_last_backup_timestamp_seconds'
  const json = { newPassphrase: 'backup passphrase', currentPassphrase: '' }
  assert.equal(await rig.status('PUT', '/config/backup-passphrase', { as: 'admin', json }), 204)
  assert.equal((await samples(rig)).get(name), 0)
  const { stream } = await rig.appliance.backups.make('coffer')
  for await (const _ of stream) break // the client has gone
  assert.equal((await samples(rig)).get(name), 0)
  const before = rig.appliance.clock.now() / 1000
  assert.equal(await rig.status('POST', '/system/backup', { as: 'backup' }), 200)
  const noted = (await samples(rig)).get(name)!
  assert.ok(before <= noted && noted <= rig.appliance.clock.now() / 1000, `${noted}`)
  await rig.call('POST', '/lock', { as: 'admin' })
  await rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } })
  assert.equal((await samples(rig)).get(name), noted)
})

test('the JSON has the names that clients know, and no more', async (t) => {
  const rig = await operationalRig(t)
  const names = Object.keys((await rig.call('GET', '/metrics', { as: 'metrics' })).json())
  assert.ok(!names.some((name) => /undefined|coffer|backup|certificate/.test(name)), names.join())
})

test('times of responses go into the bucket that they fit', () => {
  const traffic = createTraffic()
  for (const seconds of [0, 0.001, 0.0011, 0.3, 61, 1e9]) traffic.record(200, seconds)
  const filled = traffic.durations.filter(({ count }) => count > 0)
  assert.deepEqual(filled, [
    { boundSeconds: 0.001, count: 2 },
    { boundSeconds: 0.0025, count: 1 },
    { boundSeconds: 0.5, count: 1 },
    { boundSeconds: Number.POSITIVE_INFINITY, count: 2 },
  ])
  assert.ok(Math.abs(traffic.totalSeconds - 1_000_000_061.3021) < 0.001)
})

const chatThat = (state: ChatService['state'], figures: ChatService['figures']): ChatService =>
  ({ state, problem: null, port: null, figures }) as ChatService

const FIGURES = {
  name: 'Example',
  commits: 5,
  url: '',
  users: 3,
  messages: 40,
  bytes: 5000,
  queues: 2,
  exportKey: '',
  older: [],
}

const ofChat = (all: Map<string, number>) =>
  Object.fromEntries([...all].filter(([name, value]) => name.startsWith('coffer_chat_') && value !== 0))

test('the state and size of a chat that runs are told, but not to users of a namespace, and not in the JSON', async (t) => {
  const rig = await operationalRig(t, { chat: chatThat('running', async () => FIGURES) })
  assert.deepEqual(ofChat(await samples(rig)), {
    'coffer_chat_state{state="running"}': 1,
    coffer_chat_users: 3,
    coffer_chat_messages: 40,
    coffer_chat_bytes: 5000,
    coffer_chat_queues: 2,
  })
  await rig.user('backend~chief', 'Administrator')
  await rig.user('backend~gauge', 'Metrics')
  await rig.call('PUT', '/namespaces/backend', { as: 'admin' })
  assert.deepEqual(ofChat(await samples(rig, 'backend~gauge')), {})
  assert.doesNotMatch((await rig.call('GET', '/metrics', { as: 'metrics' })).text(), /chat/)
})

test('a chat that has failed, ends meanwhile or never answers holds no metrics up', async (t) => {
  const never = () => new Promise<never>(() => {})
  for (const [state, figures] of [
    ['failed', never],
    ['running', () => Promise.reject(new Error('it has ended'))],
    ['running', never],
  ] as const) {
    const rig = await operationalRig(t, { chat: chatThat(state, figures) })
    const all = await samples(rig)
    assert.deepEqual(ofChat(all), { [`coffer_chat_state{state="${state}"}`]: 1 })
    assert.equal(all.get('coffer_keys'), 0)
  }
})
