// @test short 15
/** The chat of a host: its port is fixed, and the port of plain HTTP leads people who type its name to it. */

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { freePort } from '../../../tools/free-ports.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { makeDataDirectory, startCoffer } from '../../support/process.ts'
import { makeOrganization, reach } from '../support/process.ts'

test('a request for the name of the chat is sent to the chat while it runs, all others to the appliance', async (t) => {
  const http = await freePort()
  const coffer = startCoffer(t, {
    program: await buildForTests(),
    data: makeDataDirectory(t),
    settings: { COFFER_CHAT_PORT: '0', COFFER_HTTP_PORT: `${http}` },
  })
  await provision(coffer)
  const { port } = await coffer.target()
  const ask = (host: string, path = '/a?b') =>
    new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
      const asked = request({ port: http, host: '127.0.0.1', path, headers: { host } }, (answer) => {
        answer.resume()
        resolve([answer.statusCode, answer.headers.location])
      })
      asked.on('error', reject).end()
    })
  const put = (json: object) => coffer.call('PUT', '/chat/settings', { as: ADMIN, json })
  const appliance = (name: string) => [301, `https://${name}:${port}/a?b`]
  await expect(404, put({ port: 443 }))
  await makeOrganization(coffer)
  assert.deepEqual(await ask('chat.example.org'), appliance('chat.example.org'))

  await expect(204, put({ url: 'https://chat.example.org:9443' }))
  const chat = [302, 'https://chat.example.org:9443/a?b']
  for (const host of ['chat.example.org', 'chat.example.org:80', 'Chat.Example.ORG', 'chat.example.org.'])
    assert.deepEqual(await ask(host), chat, host)
  assert.deepEqual(await ask('box.example.org', 'http://chat.example.org/a?b'), chat)
  assert.deepEqual(await ask('chat.example.org:8080'), appliance('chat.example.org')) // as before
  for (const name of ['box.example.org', 'chat.example.org.evil.example', 'xchat.example.org'])
    assert.deepEqual(await ask(name), appliance(name), name)
  // A path of challenges is no exception: nothing is pending.
  assert.deepEqual(await ask('chat.example.org', '/.well-known/acme-challenge/x'), [
    302,
    'https://chat.example.org:9443/.well-known/acme-challenge/x',
  ])
  const settings = (await expect(200, coffer.call('GET', '/chat/settings', { as: ADMIN }))).json<object>()
  assert.ok(!('port' in settings))
  await expect(412, put({ port: 443 }))
  for (const value of [0, 65_536, '443', null]) await expect(400, put({ port: value }))

  await expect(204, put({ url: 'http://chat.example.org' })) // it would lead back here
  assert.deepEqual(await ask('chat.example.org'), appliance('chat.example.org'))
  await expect(204, put({ url: 'https://chat.example.org' }))
  assert.deepEqual(await ask('chat.example.org'), [302, 'https://chat.example.org/a?b'])
  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  assert.deepEqual(await ask('chat.example.org'), appliance('chat.example.org'))
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await reach(coffer, 'running')
  assert.deepEqual(await ask('chat.example.org'), [302, 'https://chat.example.org/a?b'])
  await expect(204, coffer.call('DELETE', '/chat/organization', { as: ADMIN, json: { name: 'Example' } }))
  assert.deepEqual(await ask('chat.example.org'), appliance('chat.example.org'))
})
