/**
 * Outgoing webhooks of the real chat process over a real network: another network namespace is the computer on whose hosts they
 * are, and names are in the system's file of them. Contract row E140. Root makes it, where a container lets him.
 */

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ADMIN, expect, provision } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { makeDataDirectory, startCoffer } from '../../support/process.ts'
import { needs } from '../../support/tools.ts'
import { type Account, ask, askUntil, keyOf, makeOrganization, statusOf } from '../support/process.ts'

const [HERE, THERE] = ['198.51.100.1', '198.51.100.2'] // RFC 5737; machines of CI have been seen with those of 192.0.2.0/24
const PORT = 8080
const NAMES = {
  'hooks.test': [THERE],
  'own.test': [HERE],
  'loop.test': ['127.0.0.1'],
  'both.test': [THERE, '127.0.0.1'],
  'unlisted.test': [THERE],
}

const LISTENER = `
  require('node:http').createServer((request, response) => {
    let text = ''
    request.on('data', (piece) => (text += piece)).on('end', () => {
      console.log(JSON.stringify({ path: request.url, host: request.headers.host, from: request.socket.remoteAddress, body: JSON.parse(text) }))
      if (request.url === '/away') response.writeHead(302, { location: 'http://127.0.0.1/' }).end()
      else response.end(JSON.stringify({ content: 'You said: ' + JSON.parse(text).data }))
    })
  }).listen(${PORT}, '${THERE}', () => console.log('listening'))`

test('bots reach a listed host by its name, and no address of this computer by any', needs('ip'), async (t) => {
  const elsewhere = mayMount() ? makeElsewhere(t) : null
  if (elsewhere === null) return t.skip('only root makes namespaces of networks and mounts, and not in every container')
  const listener = await listenThere(t, elsewhere)
  const touched = await listenHere(t)
  const { port, owner } = await furnishedWith(t, [
    ...Object.keys(NAMES)
      .filter((name) => name !== 'unlisted.test')
      .map((name) => `${name}:${PORT}`),
    `127.0.0.1:${touched.port}`,
    `loop.test:${touched.port}`,
    `own.test:${touched.port}`,
  ])
  const said = (name: string, url: string) => reply(port, owner, name, url)

  assert.equal(await said('listed', `http://hooks.test:${PORT}/hook`), 'You said: to listed')
  const [heard] = listener.heard()
  assert.deepEqual([heard.path, heard.host, heard.from], ['/hook', `hooks.test:${PORT}`, HERE])
  assert.equal(heard.body.bot_full_name, 'listed')
  assert.match(heard.body.token, /^[A-Za-z0-9]{32}$/)

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
    listener.heard().map(({ path }) => path),
    ['/hook', '/away'],
  )
  assert.equal(touched.connections(), 0)
})

/** Puts another file in the place of one, for a program and nobody else. */
const OVER_HOSTS = 'mount --bind "$0" /etc/hosts && exec "$@"'

const mayMount = (): boolean =>
  spawnSync('unshare', ['--mount', 'sh', '-c', OVER_HOSTS, '/etc/hosts', 'true'], { stdio: 'ignore' }).status === 0

/** The name of a network namespace that is joined to this one by a pair of interfaces; null where none may be made. */
function makeElsewhere(t: TestContext): string | null {
  const name = `coffer-${process.pid}`
  const [near, far] = [`cof${process.pid % 1e6}a`, `cof${process.pid % 1e6}b`]
  const isDone = (...parameters: string[]) => spawnSync('ip', parameters, { stdio: 'ignore' }).status === 0
  if (!isDone('netns', 'add', name)) return null
  t.after(() => isDone('netns', 'delete', name)) // and with it the pair
  if (!isDone('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', name)) return null
  const ip = (...parameters: string[]) => execFileSync('ip', parameters, { stdio: 'pipe' })
  ip('address', 'add', `${HERE}/30`, 'dev', near)
  ip('link', 'set', near, 'up')
  ip('-n', name, 'address', 'add', `${THERE}/30`, 'dev', far)
  ip('-n', name, 'link', 'set', far, 'up')
  return name
}

async function listenThere(t: TestContext, namespace: string) {
  const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, '-e', LISTENER], { stdio: 'pipe' })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  while (!output.includes('listening')) await once(child.stdout, 'data')
  return {
    heard: () =>
      output
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line)),
  }
}

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
async function furnishedWith(t: TestContext, outgoingHosts: readonly string[]) {
  const data = makeDataDirectory(t)
  const hosts = join(makeDataDirectory(t), 'hosts')
  const lines = Object.entries(NAMES).flatMap(([name, addresses]) => addresses.map((address) => `${address} ${name}`))
  writeFileSync(hosts, `127.0.0.1 localhost\n${lines.join('\n')}\n`, { mode: 0o644 })
  const through = ['unshare', '--mount', 'sh', '-c', OVER_HOSTS, hosts]
  const program = await buildForTests()
  const coffer = startCoffer(t, { program, data, settings: { COFFER_CHAT_PORT: '0' }, through })
  await provision(coffer)
  await makeOrganization(coffer)
  const { port } = await statusOf(coffer)
  const settings = (await expect(200, coffer.call('GET', '/chat/settings', { as: ADMIN }))).json<object>()
  await expect(204, coffer.call('PUT', '/chat/settings', { as: ADMIN, json: { ...settings, outgoingHosts } }))
  return { port: port!, owner: await keyOf(port!) }
}

/** What a bot at that address says to a message, or the Notification Bot says of it. */
async function reply(port: number, owner: Account, name: string, url: string): Promise<string> {
  const form = { full_name: name, short_name: name, bot_type: '3', payload_url: JSON.stringify(url) }
  const made = await ask(port, 'POST', '/bots', { as: owner, form })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const message = { type: 'direct', to: JSON.stringify([made.body.user_id]), content: `to ${name}` }
  const { body } = await ask(port, 'POST', '/messages', { as: owner, form: message })
  const range = { anchor: String(body.id), num_before: '0', num_after: '1', include_anchor: 'false' }
  const { body: after } = await askUntil(({ body }) => body.messages?.length === 1, port, 'GET', '/messages', {
    as: owner,
    form: { ...range, narrow: '[["is", "dm"]]', apply_markdown: 'false' },
  })
  return after.messages[0].content
}
