/**
 * Outgoing webhooks of the real chat process over a real network: another network namespace is the computer on whose hosts they
 * are, and names are in the system's file of them. Contract row E140. It needs root, in a container that allows it.
 */

import assert from 'node:assert/strict'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ADMIN, expect, provision } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { makeDataDirectory, startCoffer } from '../../support/process.ts'
import { needs } from '../../support/tools.ts'
import { type Elsewhere, listenThere, makeElsewhere, NO_NAMESPACES, withNames } from '../support/elsewhere.ts'
import { askWebhook, keyOf, makeOrganization, statusOf } from '../support/process.ts'

const PORT = 8080
const namesOf = ({ here, there }: Elsewhere) => ({
  'hooks.test': [there],
  'own.test': [here],
  'loop.test': ['127.0.0.1'],
  'both.test': [there, '127.0.0.1'],
  'unlisted.test': [there],
})

const listener = (address: string) => `
  require('node:http').createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => (text += piece)).on('end', () => {
      console.log(JSON.stringify({ path: request.url, host: request.headers.host, from: request.socket.remoteAddress, body: JSON.parse(text) }))
      if (request.url === '/away') response.writeHead(302, { location: 'http://127.0.0.1/' }).end()
      else response.end(JSON.stringify({ content: 'You said: ' + JSON.parse(text).data }))
    })
  }).listen(${PORT}, '${address}', () => console.log('listening'))`

test('bots reach a listed host by its name, and no address of this computer by any', needs('ip'), async (t) => {
  const elsewhere = makeElsewhere(t)
  if (elsewhere === null) return t.skip(NO_NAMESPACES)
  const names = namesOf(elsewhere)
  const { heard } = await listenThere(t, elsewhere, listener(elsewhere.there))
  const touched = await listenHere(t)
  const { port, owner } = await furnishedWith(t, names, [
    ...Object.keys(names)
      .filter((name) => name !== 'unlisted.test')
      .map((name) => `${name}:${PORT}`),
    `127.0.0.1:${touched.port}`,
    `loop.test:${touched.port}`,
    `own.test:${touched.port}`,
  ])
  const said = (name: string, url: string) => askWebhook(port, owner, name, url)

  assert.equal(await said('listed', `http://hooks.test:${PORT}/hook`), 'You said: to listed')
  const [{ path, host, from, body }] = heard()
  assert.deepEqual([path, host, from], ['/hook', `hooks.test:${PORT}`, elsewhere.here])
  assert.equal(body.bot_full_name, 'listed')
  assert.match(body.token, /^[A-Za-z0-9]{32}$/)

  const nowhere = /its name leads to an address that nothing is sent to/
  for (const [name, url] of [
    ['loop', `http://loop.test:${touched.port}/`],
    ['literal', `http://127.0.0.1:${touched.port}/`],
    ['own', `http://own.test:${touched.port}/`],
    ['both', `http://both.test:${PORT}/`],
  ] as const)
    assert.match(await said(name, url), nowhere, name)
  assert.match(await said('unlisted', `http://unlisted.test:${PORT}/`), /has not listed its host/)
  assert.match(await said('away', `http://hooks.test:${PORT}/away`), /it answered with the status 302/)
  assert.deepEqual(
    heard().map(({ path }) => path),
    ['/hook', '/away'],
  )
  assert.equal(touched.connections(), 0)
})

async function listenHere(t: TestContext) {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections++
    socket.destroy()
  })
  await new Promise<void>((done) => server.listen(0, '0.0.0.0', done))
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

/** A Coffer for which the names are in /etc/hosts, in a mount namespace of its own. */
async function furnishedWith(t: TestContext, names: ReturnType<typeof namesOf>, outgoingHosts: readonly string[]) {
  const data = makeDataDirectory(t)
  const through = withNames(t, names)
  const program = await buildForTests()
  const coffer = startCoffer(t, { program, data, settings: { COFFER_CHAT_PORT: '0' }, through })
  await provision(coffer)
  await makeOrganization(coffer)
  const { port } = await statusOf(coffer)
  const settings = (await expect(200, coffer.call('GET', '/chat/settings', { as: ADMIN }))).json<object>()
  await expect(204, coffer.call('PUT', '/chat/settings', { as: ADMIN, json: { ...settings, outgoingHosts } }))
  return { port: port!, owner: await keyOf(port!) }
}
