/** The certificates of both ports verify by what the appliance gives of them, by every name that leads there. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { checkServerIdentity, connect, type TLSSocket } from 'node:tls'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { makeOrganization, reach, statusOf } from '../support/process.ts'

const DEADLINE_MS = 60_000 // the machine may be busy
const URL_HOST = 'chat.example.org'
const NAMES = ['localhost', '127.0.0.1', '::1']

let program: string
before(async () => {
  program = await buildForTests()
})

const certificate = async (coffer: Coffer, path: '/chat/tls' | '/config/tls'): Promise<string> =>
  (await expect(200, coffer.call('GET', `${path}/cert.pem`, { as: ADMIN }))).bytes.toString()

/** Throws when a client that trusts these certificates alone would not take the port for each of the names. */
async function verify(port: number, ca: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const socket: TLSSocket = connect({
      ...{ host: '127.0.0.1', port, ca, minVersion: 'TLSv1.3' },
      checkServerIdentity: (_, shown) => checkServerIdentity(name, shown),
    })
    await once(socket, 'secureConnect')
    assert.equal(socket.authorized, true, name)
    socket.destroy()
  }
}

/** Until both ports have a certificate for the name: it is made beside the answer. */
async function untilFor(coffer: Coffer, ports: readonly number[], name: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    try {
      await verify(ports[0]!, await certificate(coffer, '/config/tls'), [name])
      await verify(ports[1]!, await certificate(coffer, '/chat/tls'), [name])
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await wait(50)
    }
  }
}

test('they do at once, and by the host of the address of the organization when that is set; keys and copies stay', async (t) => {
  const data = makeDataDirectory(t)
  const start = () => startCoffer(t, { program, data, settings: { COFFER_CHAT_PORT: '0' } })
  const coffer = start()
  const { port } = await coffer.target()
  await provision(coffer)
  await makeOrganization(coffer)
  const chatPort = (await statusOf(coffer)).port!
  const publicKeys = () =>
    Promise.all(
      (['/chat/tls', '/config/tls'] as const).map(async (path) =>
        (await expect(200, coffer.call('GET', `${path}/public.pem`, { as: ADMIN }))).bytes.toString(),
      ),
    )
  const keys = await publicKeys()
  const first = [await certificate(coffer, '/config/tls'), await certificate(coffer, '/chat/tls')]
  await verify(port, first[0]!, NAMES)
  await verify(chatPort, first[1]!, NAMES)
  await assert.rejects(verify(chatPort, first[1]!, [URL_HOST]))

  await expect(204, coffer.call('PUT', '/chat/settings', { as: ADMIN, json: { url: `https://${URL_HOST}:9443` } }))
  await untilFor(coffer, [port, chatPort], URL_HOST)
  const second = [await certificate(coffer, '/config/tls'), await certificate(coffer, '/chat/tls')]
  await verify(chatPort, second[1]!, NAMES)
  assert.deepEqual(await publicKeys(), keys)

  await coffer.stop()
  const again = start()
  const { port: newPort } = await again.target()
  await verify(newPort, second[0]!, [URL_HOST, ...NAMES])
  await expect(204, again.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  const { port: newChatPort } = await reach(again, 'running')
  await verify(newChatPort!, second[1]!, [URL_HOST, ...NAMES])
  assert.deepEqual([await certificate(again, '/config/tls'), await certificate(again, '/chat/tls')], second)
})
