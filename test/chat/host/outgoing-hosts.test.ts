/** The appliance keeps the list of hosts that the chat reaches. Contract section 3.8 of the key service. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createRelay } from '../../../boot/supervisor/relay.ts'
import { createLog } from '../../../firmware/base/log.ts'
import { type FramedChannel, openChannel } from '../../../firmware/channel/channel.ts'
import { createChatHost } from '../../../firmware/chat/host/host.ts'
import { writeRecord } from '../../../firmware/chat/host/record.ts'
import { type FromChat, type OutgoingResponse, readToChat, type ToChat } from '../../../firmware/chat/link/link.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { CHAT_HOSTS } from '../../../firmware/store/device-area.ts'
import { connected } from '../../boot/socket-pair.ts'
import { openClient } from '../../outgoing/link.ts'
import { makeOperationalRig } from '../../support/in-process.ts'

/** An appliance beside a chat process that an attacker controls: it says that it may reach `claims`. */
async function open(t: TestContext, claims: readonly string[]) {
  const rig = await makeOperationalRig()
  t.after(rig.close)
  const { appliance, dataDirectory: directory } = rig
  appliance.configuration.chatTls.use(await makeTlsIdentity(systemRandom))
  writeRecord(appliance.deviceRecords, { generation: 'one', stage: 'present' })
  const relay = createRelay('chat')
  const [near, pipe] = await connected(t)
  relay.joinFirmware(near, assert.fail)
  const outgoing = await openClient(t)
  const responses: OutgoingResponse[] = []
  let chat: FramedChannel<ToChat, FromChat> | undefined
  const start = async () => {
    const [ofBoot, far] = await connected(t)
    const channel = openChannel<ToChat, FromChat>(far, readToChat)
    chat = channel
    channel.on('message', (message) => {
      if (message.type === 'start') channel.send({ type: 'listening', port: 9443 })
      if (message.type === 'response') responses.push(message.response)
      if (message.type !== 'ask') return
      const settings = {
        url: '',
        ownerFullContentAccess: false,
        uploadQuotaMib: null,
        outgoingHosts: claims,
        externalPreviews: false,
        jwt: null,
      }
      const value = message.ask.do === 'settings' ? settings : undefined
      channel.send({ type: 'answer', id: message.id, problem: null, value })
    })
    relay.joinOther(ofBoot)
  }
  const host = createChatHost({
    appliance,
    place: { directory, port: 0 },
    host: '127.0.0.1',
    pipe,
    want: (wish) => {
      if (wish === 'running') void start()
    },
    log: createLog('error', () => {}),
    outgoing: outgoing.client,
    onTrial: false,
  })
  t.after(() => host.close())
  while (host.state !== 'running') await nextTurn()
  const request = async (url: string): Promise<OutgoingResponse> => {
    const before = responses.length
    const body = new Uint8Array(0)
    chat!.send({ type: 'request', id: before, request: { url, contentType: 'application/json', body } })
    while (responses.length === before) await nextTurn()
    return responses.at(-1)!
  }
  const isKept = () => appliance.deviceRecords.read('the hosts', (area) => area.has(CHAT_HOSTS)) === true
  return { host, request, outgoing, isKept }
}

const NOT_LISTED = { problem: 'the administrator of the server has not listed its host', isFinal: true }

test('the list of an organization from before is taken over once, and the chat cannot change it', async (t) => {
  const claims = ['old.example.org']
  const { host, request, outgoing, isKept } = await open(t, claims)
  while (!isKept()) await nextTurn()
  claims[0] = 'evil.example.org'
  assert.deepEqual((await host.settings()).outgoingHosts, ['old.example.org'])
  assert.deepEqual(await request('https://evil.example.org/'), NOT_LISTED)
  await host.changeSettings({ outgoingHosts: ['new.example.org'] })
  assert.deepEqual((await host.settings()).outgoingHosts, ['new.example.org'])
  assert.deepEqual(await request('https://old.example.org/'), NOT_LISTED)
  assert.deepEqual(outgoing.wishes, [])
})

test('a listed host is asked as the appliance wants it', async (t) => {
  const { host, request, outgoing } = await open(t, [])
  await host.changeSettings({ outgoingHosts: ['hooks.example.org'] })
  const response = request('https://hooks.example.org/a')
  const worker = await outgoing.start()
  await outgoing.until(() => worker.jobs.length === 1)
  const [{ id, job }] = worker.jobs as [(typeof worker.jobs)[0]]
  assert.ok(job.do === 'http')
  assert.deepEqual([job.method, job.url, job.timeoutMs], ['POST', 'https://hooks.example.org/a', 10_000])
  worker.channel.send({ type: 'answer', id, answer: { status: 200, headers: {}, body: new Uint8Array([123, 125]) } })
  assert.deepEqual(await response, { status: 200, body: new Uint8Array([123, 125]) })
})
