/**
 * Web Push of the real processes over a real network: another network namespace is the computer of the push service. Contract section
 * 3.9.1. It needs root, in a container that allows it.
 */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { needs } from '../../support/tools.ts'
import { listenThere, makeElsewhere, NO_NAMESPACES, withNames } from '../support/elsewhere.ts'
import { type Account, ask, askUntil, keyOf, makeOrganization, reach } from '../support/process.ts'
import { newBrowser } from '../support/push.ts'

const DEADLINE_MS = 60_000 // the machine may be busy
const IDLE_MS = 10_000 // of a connection
const CONTACT = 'mailto:operator@example.org'

const listener = (address: string, port: number, key: string, cert: string) => `
  const { readFileSync } = require('node:fs')
  const tls = { key: readFileSync('${key}'), cert: readFileSync('${cert}') }
  const numbers = new Map()
  const ended = []
  require('node:https').createServer(tls, (request, response) => {
    const pieces = []
    request.on('data', (piece) => pieces.push(piece)).on('end', () => {
      const { headers, socket } = request
      const body = Buffer.concat(pieces).toString('base64')
      const connection = numbers.get(socket)
      console.log(JSON.stringify({ path: request.url, headers, from: socket.remoteAddress, body, connection, ended }))
      response.writeHead(request.url.startsWith('/gone') ? 410 : 201).end()
    })
  }).on('secureConnection', (socket) => {
    const number = numbers.size + 1
    numbers.set(socket, number)
    socket.once('close', () => ended.push(number))
  }).listen(${port}, '${address}', () => console.log('listening'))`

/** A session of the page with a subscription to the endpoint. */
async function subscribe(port: number, endpoint: string) {
  const { email, key } = await keyOf(port)
  const site = { 'sec-fetch-site': 'same-origin' }
  const opened = await ask(port, 'POST', '/session', { as: { email, key }, form: { device: 'test' }, headers: site })
  assert.equal(opened.status, 200, JSON.stringify(opened.body))
  const [cookie] = String(opened.headers['set-cookie']).split(';')
  const headers = { ...site, cookie: cookie! }
  const browser = newBrowser('')
  const form = { ...browser.subscription, endpoint }
  return { browser, headers, answer: await ask(port, 'POST', '/web_push', { headers, form }) }
}

async function makeBen(port: number, owner: Account): Promise<{ ben: Account; ownerId: number }> {
  const form = { email: 'ben@example.org', password: 'words of ben becker', full_name: 'Ben Becker' }
  await ask(port, 'POST', '/users', { as: owner, form })
  const { body } = await ask(port, 'GET', '/users/me', { as: owner })
  return { ben: await keyOf(port, form.email, form.password), ownerId: body.user_id }
}

/** A push service on the other computer, and a port of this computer that counts connections. */
async function openAll(t: TestContext) {
  const elsewhere = makeElsewhere(t)
  if (elsewhere === null) return null
  const { here, there } = elsewhere
  const { key, cert } = await makeTlsIdentity(systemRandom, undefined, ['push.test', 'loop.test', 'own.test'])
  const directory = makeDataDirectory(t)
  const [keyFile, certFile] = [join(directory, 'push.key'), join(directory, 'push.pem')]
  writeFileSync(keyFile, key)
  writeFileSync(certFile, cert)
  let touched = 0
  const server = createTcpServer((socket) => {
    touched++
    socket.destroy()
  })
  await new Promise<void>((done) => server.listen(0, '0.0.0.0', done))
  t.after(() => server.close())
  const { port: pushPort } = server.address() as AddressInfo // of both computers
  const { heard } = await listenThere(t, elsewhere, listener(there, pushPort, keyFile, certFile))
  const names = {
    ...{ 'push.test': [there], 'loop.test': ['127.0.0.1'], 'own.test': [here] },
    'both.test': [there, '127.0.0.1'],
  }
  const coffer = startCoffer(t, {
    ...{ program: await buildForTests(), data: makeDataDirectory(t), through: withNames(t, names) },
    settings: { COFFER_CHAT_PORT: '0' },
  })
  await provision(coffer)
  await makeOrganization(coffer)
  const json = { authorities: cert, publicAuthorities: false }
  await expect(204, coffer.call('PUT', '/config/outgoing', { as: ADMIN, json }))
  const { port } = await reach(coffer, 'running')
  return { coffer, port: port!, pushPort, here, heard, touched: () => touched }
}

const setPush = (coffer: Coffer, hosts: readonly string[] | null) =>
  coffer.call('PUT', '/chat/settings', {
    as: ADMIN,
    json: { webPush: hosts && { hosts, contact: CONTACT, content: true } },
  })

test('notifications reach a listed push service and no other, and outlive a lock', needs('ip'), async (t) => {
  const all = await openAll(t)
  if (all === null) return t.skip(NO_NAMESPACES)
  const { coffer, port, pushPort, here, heard, touched } = all
  const at = (name: string) => `${name}:${pushPort}`
  const endpoint = `https://${at('push.test')}/endpoint`
  const owner = await keyOf(port)
  const { ben, ownerId } = await makeBen(port, owner)
  const send = (content: string) =>
    ask(port, 'POST', '/messages', { as: ben, form: { type: 'direct', to: `[${ownerId}]`, content } })
  const until = async (count: number) => {
    const deadline = Date.now() + DEADLINE_MS
    while (heard().length < count) {
      assert.ok(Date.now() < deadline, coffer.output())
      await wait(20)
    }
  }

  const off = await subscribe(port, endpoint) // nothing is listed
  assert.deepEqual([off.answer.status, off.answer.body.msg], [400, 'Web Push is off'])
  await expect(204, setPush(coffer, ['push.test', 'loop.test', 'own.test', 'both.test'].map(at)))
  const { browser, headers, answer } = await subscribe(port, endpoint)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const { body: sent } = await send('the play is the thing')
  await until(1)
  const [push] = heard()
  const { path, from, headers: got, body } = push
  assert.deepEqual([path, from, got.host], ['/endpoint', here, at('push.test')])
  assert.deepEqual([got['content-encoding'], got.ttl, got['content-length']], ['aes128gcm', '86400', '2150'])
  const { id, sender, text } = browser.open(Buffer.from(body, 'base64'))
  assert.deepEqual([id, sender, text], [sent.id, 'Ben Becker', 'the play is the thing'])

  // Names that lead to this computer are listed, but are not asked; others are refused at once.
  for (const name of ['loop.test', 'own.test', 'both.test']) {
    const one = await subscribe(port, `https://${at(name)}/`)
    assert.equal(one.answer.status, 200, name)
    const tested = await ask(port, 'POST', '/web_push/test', { headers: one.headers })
    assert.equal(tested.status, 400, name)
    assert.match(tested.body.msg, /^The push service cannot be reached: its name leads to an address/)
  }
  for (const url of [
    `https://${at('127.0.0.1')}/`,
    'https://localhost/',
    'https://unlisted.test/',
    'https://push.test/',
  ])
    assert.equal((await subscribe(port, url)).answer.status, 400, url)
  assert.equal(touched(), 0)

  const gone = await subscribe(port, `https://${at('push.test')}/gone`)
  const { body: tested } = await ask(port, 'POST', '/web_push/test', { headers: gone.headers })
  assert.equal(tested.status, 410)
  assert.equal((await ask(port, 'GET', '/web_push', { headers: gone.headers })).body.subscribed, false)

  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await reach(coffer, 'running')
  const { body: shown } = await askUntil(({ status }) => status === 200, port, 'GET', '/web_push', { headers })
  assert.deepEqual([shown.subscribed, shown.content, shown.hosts.length], [true, true, 4])
  const before = heard().length
  const { body: after } = await send('after the unlock')
  await until(before + 1)
  const last = heard().findLast(({ path }) => path === '/endpoint')
  assert.equal(browser.open(Buffer.from(last.body, 'base64')).id, after.id)

  await expect(204, setPush(coffer, null))
  await send('off again')
  const { body: key } = await ask(port, 'GET', '/web_push', { headers })
  assert.equal(key.key, '')
  assert.ok(!coffer.output().includes('/endpoint'), 'the log has an endpoint')
})

test('notifications share connections, which end with a lock and other settings', needs('ip'), async (t) => {
  const all = await openAll(t)
  if (all === null) return t.skip(NO_NAMESPACES)
  const { coffer, port, pushPort, heard } = all
  const host = `push.test:${pushPort}`
  await expect(204, setPush(coffer, [host]))
  const { headers, answer } = await subscribe(port, `https://${host}/`)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const push = async (): Promise<{ connection: number; ended: number[] }> => {
    const before = heard().length
    const tested = await askUntil(({ status }) => status === 200, port, 'POST', '/web_push/test', { headers })
    assert.equal(tested.body.status, 201)
    while (heard().length === before) await wait(5)
    return heard().at(-1)
  }
  const begunMs = performance.now()
  const [first, second] = [await push(), await push()]
  if (performance.now() - begunMs < IDLE_MS) assert.equal(second.connection, first.connection)

  await expect(204, coffer.call('PUT', '/config/outgoing', { as: ADMIN, json: { proxyExcept: ['other.test'] } }))
  const third = await push()
  assert.notEqual(third.connection, second.connection)
  assert.ok(third.ended.includes(second.connection))

  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await reach(coffer, 'running')
  const last = await push()
  assert.notEqual(last.connection, third.connection)
  assert.ok(last.ended.includes(third.connection))
})

test('settings of Web Push are checked', async (t) => {
  const coffer = startCoffer(t, {
    ...{ program: await buildForTests(), data: makeDataDirectory(t), settings: { COFFER_CHAT_PORT: '0' } },
  })
  await provision(coffer)
  await makeOrganization(coffer)
  const put = (webPush: unknown) => coffer.call('PUT', '/chat/settings', { as: ADMIN, json: { webPush } })
  const good = { hosts: ['push.example.org'], contact: CONTACT }
  for (const hosts of [
    [],
    ['*'],
    ['*.'],
    ['**.a.org'],
    ['*.*.org'],
    ['a.*.org'],
    ['A.org'],
    ['https://a.org'],
    ['a.org/'],
    ['*.a.org.'],
    ['a.org:443'],
    'a.org',
  ])
    await expect(400, put({ ...good, hosts }))
  for (const contact of [
    '',
    'operator@example.org',
    'mailto:',
    'mailto:operator',
    'http://example.org',
    `https://example.org/${'x'.repeat(300)}`,
    ...['mailto:\u0001a@example.org', 'mailto:a@example.org\u0085', 'https://example.org/\n'],
  ])
    await expect(400, put({ ...good, contact }))
  for (const bad of [true, {}, { ...good, other: 1 }, { ...good, content: 'yes' }]) await expect(400, put(bad))
  const shown = async () =>
    (await expect(200, coffer.call('GET', '/chat/settings', { as: ADMIN }))).json<{ webPush: unknown }>().webPush
  assert.equal(await shown(), null)
  const hosts = ['push.example.org', '*.push.example.org', '[2001:db8::1]:8443', '*.example.net:8443']
  await expect(204, put({ hosts, contact: 'https://example.org/contact', content: true }))
  assert.deepEqual(await shown(), { hosts, contact: 'https://example.org/contact', content: true })
  await expect(204, put(good))
  assert.deepEqual(await shown(), { ...good, content: false })
  await expect(204, coffer.call('PUT', '/chat/settings', { as: ADMIN, json: { uploadQuotaMib: 100 } }))
  assert.deepEqual(await shown(), { ...good, content: false }) // stays

  // An organization that is made later begins without.
  await expect(204, coffer.call('DELETE', '/chat/organization', { as: ADMIN, json: { name: 'Example' } }))
  await makeOrganization(coffer)
  await reach(coffer, 'running')
  assert.equal(await shown(), null)
})
