/** The port of the chat: an Administrator of a device chooses it, and another process then listens there. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createRelay } from '../../../boot/supervisor/relay.ts'
import { createLog } from '../../../firmware/base/log.ts'
import { openChannel } from '../../../firmware/channel/channel.ts'
import { createChatHost } from '../../../firmware/chat/host/host.ts'
import { readRecord, writeRecord } from '../../../firmware/chat/host/record.ts'
import { type FromChat, readToChat, type ToChat } from '../../../firmware/chat/link/link.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { CHAT_PORT } from '../../../firmware/store/device-area.ts'
import { connected } from '../../boot/socket-pair.ts'
import { makeOperationalRig } from '../../support/in-process.ts'

const SETTINGS = {
  url: 'https://chat.example.org',
  ownerFullContentAccess: false,
  uploadQuotaMib: null,
  outgoingHosts: [],
  externalPreviews: false,
  jwt: null,
}

/** `refused`: the port at which a process cannot listen. */
async function open(t: TestContext, portChoices: readonly number[] | undefined, refused?: number) {
  const rig = await makeOperationalRig()
  t.after(rig.close)
  const { appliance, dataDirectory: directory } = rig
  appliance.configuration.chatTls.use(await makeTlsIdentity(systemRandom))
  writeRecord(appliance.deviceRecords, { generation: 'one', stage: 'present' })
  const relay = createRelay('chat')
  const [near, pipe] = await connected(t)
  relay.joinFirmware(near, assert.fail)
  const started: number[] = []
  const start = async () => {
    const [ofBoot, far] = await connected(t)
    const channel = openChannel<ToChat, FromChat>(far, readToChat)
    channel.on('message', (message) => {
      if (message.type === 'start') {
        const { port } = message.start
        started.push(port)
        channel.send(port === refused ? { type: 'refused', reason: 'the port is in use' } : { type: 'listening', port })
      }
      if (message.type !== 'ask') return
      const value = message.ask.do === 'settings' ? SETTINGS : message.ask.do === 'figures' ? STATISTICS : undefined
      channel.send({ type: 'answer', id: message.id, problem: null, value })
    })
    relay.joinOther(ofBoot)
  }
  const host = createChatHost({
    appliance,
    place: { directory, port: 9443, ...(portChoices && { portChoices }) },
    host: '127.0.0.1',
    pipe,
    want: (wish) => {
      if (wish === 'running') void start()
    },
    log: createLog('error', () => {}),
    onTrial: false,
  })
  t.after(() => host.close())
  const until = async (isReached: () => boolean) => {
    while (!isReached()) await nextTurn()
  }
  return { rig, host, started, until }
}

const STATISTICS = {
  url: SETTINGS.url,
  users: 1,
  messages: 0,
  bytes: 0,
  queues: 0,
  exportKey: '',
  older: [],
}

test('another port is listened at by another process, and the choice survives', async (t) => {
  const { rig, host, started, until } = await open(t, [9443, 443])
  await until(() => host.state === 'running')
  assert.deepEqual([started, (await host.settings()).port], [[9443], 9443])
  await host.changeSettings({ port: 443 })
  await until(() => host.state === 'running' && host.port === 443)
  assert.deepEqual([started, (await host.settings()).port], [[9443, 443], 443])
  await host.changeSettings({ port: 443 }) // no change
  assert.equal(host.state, 'running')
  rig.appliance.lock()
  await assert.rejects(host.changeSettings({ port: 9443 }), { code: 'unavailable' })
  assert.equal(
    Buffer.from(rig.appliance.deviceRecords.read('the port', (area) => area.get(CHAT_PORT))!).toString(),
    '443',
  )
})

test('a port that is no choice is refused, and nothing of the same request is changed', async (t) => {
  const { host, started, until } = await open(t, [9443, 443])
  await until(() => host.state === 'running')
  await assert.rejects(host.changeSettings({ port: 8443, outgoingHosts: ['hooks.example.org'] }), {
    code: 'invalid',
    message: 'port must be 9443 or 443',
  })
  assert.deepEqual([started, (await host.settings()).outgoingHosts], [[9443], []])
})

test('a port at which the chat cannot listen is left again while it has failed', async (t) => {
  const { host, started, until } = await open(t, [9443, 443], 443)
  await until(() => host.state === 'running')
  await host.changeSettings({ port: 443 })
  await until(() => host.state === 'failed')
  await host.changeSettings({ port: 9443 })
  await until(() => host.state === 'running')
  assert.deepEqual(started, [9443, 443, 9443])
})

test('where the port is fixed it is not shown, and no other one is taken', async (t) => {
  const { rig, host, until } = await open(t, undefined)
  rig.appliance.deviceRecords.write((area) => area.put(CHAT_PORT, Buffer.from('443'))) // of a device's backup
  await until(() => host.state === 'running')
  assert.equal(host.port, 9443)
  assert.ok(!('port' in (await host.settings())))
  await assert.rejects(host.changeSettings({ port: 443 }), { code: 'unavailable', message: /COFFER_CHAT_PORT/ })
})

test('without an organization there is no port to choose, and the end of one forgets it', async (t) => {
  const { rig, host, until } = await open(t, [9443, 443])
  await until(() => host.state === 'running')
  await host.changeSettings({ port: 443 })
  const { deviceRecords } = rig.appliance
  writeRecord(deviceRecords, null)
  assert.equal(readRecord(deviceRecords), null)
  assert.equal(
    deviceRecords.read('the port', (area) => area.get(CHAT_PORT)),
    null,
  )
})
