/** When the appliance asks for the chat's process while it is Locked: an unlock has the processor first. */

import assert from 'node:assert/strict'
import type { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createRelay } from '../../../boot/supervisor/relay.ts'
import { createLog } from '../../../firmware/base/log.ts'
import { openChannel } from '../../../firmware/channel/channel.ts'
import type { ProcessWish } from '../../../firmware/channel/protocol.ts'
import { type ChatHost, createChatHost, LOCKED_PAUSE_MS } from '../../../firmware/chat/host/host.ts'
import { writeRecord } from '../../../firmware/chat/host/record.ts'
import { type FromChat, readToChat, type ToChat } from '../../../firmware/chat/link/link.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { connected } from '../../boot/socket-pair.ts'
import { expect } from '../../support/appliance.ts'
import { makeOperationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'

interface Chat {
  rig: Rig
  wishes: ProcessWish[]
  host: ChatHost
}

/** An Operational appliance with an organization, whose timers are the test's. */
async function openChat(t: TestContext): Promise<Chat> {
  const rig = await makeOperationalRig()
  t.after(rig.close)
  const { chatTls } = rig.appliance.configuration
  chatTls.use(await makeTlsIdentity(systemRandom))
  writeRecord(rig.appliance.deviceRecords, { generation: 'one', stage: 'present' })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return { rig, ...(await openHost(t, rig)) }
}

async function openHost(t: TestContext, rig: Rig): Promise<Pick<Chat, 'wishes' | 'host'>> {
  const { appliance, dataDirectory: directory } = rig
  const wishes: ProcessWish[] = []
  const relay = createRelay('chat')
  const [near, pipe] = await connected(t)
  relay.joinFirmware(near, assert.fail)
  const host = createChatHost({
    appliance,
    place: { directory, port: 0 },
    host: '127.0.0.1',
    pipe,
    want: (wish) => {
      wishes.push(wish)
      if (wish === 'running') void startChat(t).then(relay.joinOther)
    },
    log: createLog('error', () => {}),
    onTrial: false,
  })
  t.after(() => host.close())
  return { wishes, host }
}

/** The end of a chat's process that listens, and opens what it is asked to. */
async function startChat(t: TestContext): Promise<Duplex> {
  const [near, far] = await connected(t)
  const channel = openChannel<ToChat, FromChat>(far, readToChat)
  channel.on('message', (message) => {
    if (message.type === 'start') channel.send({ type: 'listening', port: 9443 })
    if (message.type === 'ask') channel.send({ type: 'answer', id: message.id, problem: null })
  })
  return near
}

const unlock = (rig: Rig) => rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } })

test('a lock ends the process, and asks for another one after a pause', async (t) => {
  const { rig, wishes, host } = await openChat(t)
  while (host.state !== 'running') await new Promise(setImmediate)
  rig.appliance.lock()
  await new Promise(setImmediate)
  assert.deepEqual(wishes, ['running', 'none'])
  t.mock.timers.tick(LOCKED_PAUSE_MS)
  assert.deepEqual(wishes, ['running', 'none', 'running'])
})

test('an unlock that follows a lock comes before the process', async (t) => {
  const { rig, wishes, host } = await openChat(t)
  while (host.state !== 'running') await new Promise(setImmediate)
  rig.appliance.lock()
  await new Promise(setImmediate)
  const answer = unlock(rig)
  while (!rig.appliance.isUnlocking) await new Promise(setImmediate)
  t.mock.timers.tick(LOCKED_PAUSE_MS * 10)
  assert.deepEqual(wishes, ['running', 'none'])
  await expect(204, answer)
  assert.deepEqual(wishes, ['running', 'none', 'running'])
})

test('a start that finds it Locked asks for the process after a pause', async (t) => {
  const { rig } = await openChat(t)
  rig.appliance.lock()
  const { wishes } = await openHost(t, rig)
  assert.deepEqual(wishes, [])
  t.mock.timers.tick(LOCKED_PAUSE_MS)
  assert.deepEqual(wishes, ['running'])
})

test('an unlock ends the pause', async (t) => {
  const { rig } = await openChat(t)
  rig.appliance.lock()
  const { wishes } = await openHost(t, rig)
  await expect(204, unlock(rig))
  assert.deepEqual(wishes, ['running'])
})

test('while a passphrase is being checked no process is asked for', async (t) => {
  const { rig } = await openChat(t)
  rig.appliance.lock()
  const { wishes } = await openHost(t, rig)
  const answer = unlock(rig)
  while (!rig.appliance.isUnlocking) await new Promise(setImmediate)
  t.mock.timers.tick(LOCKED_PAUSE_MS * 10)
  assert.deepEqual(wishes, [])
  await expect(204, answer)
  assert.deepEqual(wishes, ['running'])
})

test('without a lock nothing waits', async (t) => {
  const { wishes } = await openChat(t)
  assert.deepEqual(wishes, ['running'])
})
