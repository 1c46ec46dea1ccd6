/** When the appliance asks for the chat's process while it is Locked: an unlock has the processor first. */

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../../firmware/base/log.ts'
import type { ChatWish } from '../../../firmware/channel/protocol.ts'
import { type ChatHost, createChatHost, LOCKED_PAUSE_MS } from '../../../firmware/chat/host/host.ts'
import { writeRecord } from '../../../firmware/chat/host/record.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { expect } from '../../support/appliance.ts'
import { makeOperationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'

interface Chat {
  rig: Rig
  /** Of the host, oldest first. */
  wishes: ChatWish[]
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
  return { rig, ...openHost(t, rig) }
}

function openHost(t: TestContext, { appliance, dataDirectory: directory }: Rig): Pick<Chat, 'wishes' | 'host'> {
  const wishes: ChatWish[] = []
  const host = createChatHost({
    appliance,
    place: { directory, port: 0 },
    host: '127.0.0.1',
    pipe: new PassThrough(),
    want: (wish) => wishes.push(wish),
    log: createLog('error', () => {}),
    onTrial: false,
  })
  t.after(() => host.close())
  return { wishes, host }
}

const unlock = (rig: Rig) => rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } })

test('a start that finds it Locked asks for the process after a pause', async (t) => {
  const { rig } = await openChat(t)
  rig.appliance.lock()
  const { wishes } = openHost(t, rig)
  assert.deepEqual(wishes, [])
  t.mock.timers.tick(LOCKED_PAUSE_MS)
  assert.deepEqual(wishes, ['running'])
})

test('an unlock ends the pause', async (t) => {
  const { rig } = await openChat(t)
  rig.appliance.lock()
  const { wishes } = openHost(t, rig)
  await expect(204, unlock(rig))
  assert.deepEqual(wishes, ['running'])
})

test('while a passphrase is being checked no process is asked for', async (t) => {
  const { rig } = await openChat(t)
  rig.appliance.lock()
  const { wishes } = openHost(t, rig)
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
