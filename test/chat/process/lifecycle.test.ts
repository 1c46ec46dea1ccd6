// @test long 90
/** The chat's process from the organization's making to its end, through locks, crashes and restarts. */

import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import type { Alert } from '../../../firmware/client/types.ts'
import { ADMIN, expect, provision, stateOf, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { childrenOf, commandLineOf } from '../../support/proc.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { mark } from '../support/backups.ts'
import { ask, askUntil, chatPid, ended, keyOf, makeOrganization, OWNER, reach, statusOf } from '../support/process.ts'

let program: string
before(async () => {
  program = await buildForTests()
})

const SETTINGS = { COFFER_CHAT_PORT: '0' }

async function started(t: TestContext, data = makeDataDirectory(t), settings = SETTINGS): Promise<Coffer> {
  const coffer = startCoffer(t, { program, data, settings })
  await coffer.target()
  return coffer
}

async function provisioned(t: TestContext, data = makeDataDirectory(t), settings = SETTINGS): Promise<Coffer> {
  const coffer = await started(t, data, settings)
  await provision(coffer)
  return coffer
}

const unlock = (coffer: Coffer) =>
  expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
const lock = (coffer: Coffer) => expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
const isNotReady = ({ status, body }: { status: number; body: { code?: string } }) =>
  status === 500 && body.code === 'SERVER_NOT_READY'

async function register(port: number, as: Awaited<ReturnType<typeof keyOf>>) {
  const { status, body } = await ask(port, 'POST', '/register', { as })
  assert.equal(status, 200, JSON.stringify(body))
  const form = { queue_id: body.queue_id as string, last_event_id: String(body.last_event_id), dont_block: 'true' }
  return () => ask(port, 'GET', '/events', { as, form })
}

test('without an organization there is one process, no port, and every call says so', async (t) => {
  const coffer = await provisioned(t)
  assert.deepEqual(await statusOf(coffer), { state: 'none' })
  assert.equal(childrenOf(coffer.bootPid()).length, 1)
  for (const [method, path, json] of [
    ['GET', '/chat/settings', undefined],
    ['PUT', '/chat/settings', { url: '' }],
    ['DELETE', '/chat/organization', { name: 'x' }],
    ['POST', '/chat/recover-owner', { email: OWNER, password: 'another password' }],
    ['GET', '/chat/tls/cert.pem', undefined],
    ['POST', '/chat/tls/generate', { type: 'EC_P256' }],
  ] as const)
    await expect(404, coffer.call(method, path, { as: ADMIN, ...(json && { json }) }))
})

test('an organization is made once, and what cannot be made leaves nothing', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await provisioned(t, data)
  const make = (name: string, email: string) => {
    const owner = { email, fullName: 'Olivia Owner', password: 'a password of hers' }
    return coffer.call('PUT', '/chat/organization', { as: ADMIN, json: { name, owner } })
  }
  await expect(400, make('Example', 'no address'))
  assert.deepEqual(await statusOf(coffer), { state: 'none' })
  assert.deepEqual(readdirSync(join(data, 'chat')), [])
  await expect(201, make('Example', OWNER))
  await expect(409, make('Another', OWNER))
  const { state, users, messages, port } = await statusOf(coffer)
  assert.deepEqual({ state, users, messages }, { state: 'running', users: 1, messages: 0 })
  await keyOf(port!, OWNER, 'a password of hers')
  const gauge = { realName: 'Gauge', role: 'Metrics', passphrase: 'a metrics passphrase' }
  await expect(201, coffer.call('PUT', '/users/gauge', { as: ADMIN, json: gauge }))
  const as = `gauge:${gauge.passphrase}`
  const told = (await expect(200, coffer.call('GET', '/metrics', { as, accept: 'text/plain' }))).text()
  assert.match(told, /^coffer_chat_state\{state="running"\} 1\ncoffer_chat_state/m)
  assert.match(told, /^coffer_chat_users 1$/m)
})

test('it runs confined to its own directory, as a user of its own where we are root', async (t) => {
  const coffer = await provisioned(t)
  await makeOrganization(coffer)
  const [chat, firmware] = [await chatPid(coffer), await coffer.firmwarePid()]
  const line = commandLineOf(chat).split('\0')
  assert.ok(line.includes('--permission'))
  assert.deepEqual(
    line.filter((word) => word.startsWith('--allow-fs-write')).map((word) => word.replace(/.*\//, '')),
    ['*'],
  )
  assert.ok(line.some((word) => /^--allow-fs-write=.*\/chat\/\*$/.test(word)))
  assert.ok(!line.some((word) => word.includes('/store')))
  const uidOf = (pid: number) => /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]
  if (process.geteuid!() === 0) assert.deepEqual([uidOf(firmware), uidOf(chat)], ['60700', '60701'])
})

test('a start that ends Failed starts no chat, and loses none: it is back with the device key', async (t) => {
  const data = makeDataDirectory(t)
  const first = await provisioned(t, data)
  await makeOrganization(first)
  assert.equal(await first.stop(), 0)
  const [key, away] = [join(data, 'device.key'), join(makeDataDirectory(t), 'device.key')]
  renameSync(key, away)
  const failed = await started(t, data)
  assert.equal(await stateOf(failed), 'Failed')
  assert.equal(childrenOf(failed.bootPid()).length, 1)
  assert.equal(await failed.stop(), 0)
  renameSync(away, key)
  const last = await started(t, data)
  await unlock(last)
  assert.equal((await reach(last, 'running')).users, 1)
})

test('a lock ends the process, another one only refuses, and after the unlock clients go on where they were', async (t) => {
  const coffer = await provisioned(t)
  await makeOrganization(coffer)
  const { port } = await statusOf(coffer)
  const account = await keyOf(port!)
  const poll = await register(port!, account)
  const before = await chatPid(coffer)
  await lock(coffer)
  const refused = await askUntil(isNotReady, port!, 'GET', '/users/me', { as: account })
  assert.equal(refused.headers['retry-after'], '5')
  await ended(coffer, before) // it may be the one that has refused
  await unlock(coffer)
  assert.equal((await reach(coffer, 'running')).port, port)
  const { body } = await poll()
  assert.deepEqual(
    body.events.map(({ type }: { type: string }) => type),
    ['restart'],
  )
})

test('a clean restart of Coffer keeps the queues; locked, the port refuses', async (t) => {
  const data = makeDataDirectory(t)
  const first = await provisioned(t, data)
  await makeOrganization(first)
  const { port } = await statusOf(first)
  const account = await keyOf(port!)
  await register(port!, account)
  const form = { queue_id: '', last_event_id: '-1', dont_block: 'true' }
  form.queue_id = (await ask(port!, 'POST', '/register', { as: account })).body.queue_id
  assert.equal(await first.stop(), 0)
  const second = await started(t, data)
  assert.equal(await stateOf(second), 'Locked')
  const [, again] = await second.see(/chat: \[\d+\] listening at port (\d+)/)
  await askUntil(isNotReady, Number(again), 'GET', '/server_settings')
  await unlock(second)
  await reach(second, 'running')
  const { status, body } = await ask(Number(again), 'GET', '/events', { as: account, form })
  assert.equal(status, 200, JSON.stringify(body))
  assert.equal(body.events.at(-1).type, 'restart')
})

test('a database that is put back to an older copy is said in the log and in the state, until there is another one', async (t) => {
  const data = makeDataDirectory(t)
  const scratch = makeDataDirectory(t)
  const first = await provisioned(t, data)
  await makeOrganization(first)
  assert.equal(await first.stop(), 0)
  cpSync(join(data, 'chat'), scratch, { recursive: true })

  const second = await started(t, data)
  await unlock(second)
  const { port, olderCopies } = await reach(second, 'running')
  assert.equal(olderCopies, undefined)
  await keyOf(port!)
  process.kill(await chatPid(second), 'SIGKILL') // says nothing at its end
  await second.see(/The chat ended with SIGKILL/)
  assert.equal((await reach(second, 'running')).olderCopies, undefined)
  assert.equal(await second.stop(), 0)
  cpSync(scratch, join(data, 'chat'), { recursive: true })

  const third = await started(t, data)
  await unlock(third)
  assert.deepEqual((await reach(third, 'running')).olderCopies, ['chat.db'])
  await third.see(/chat\.db was put back to an older copy/)
  const hasAlert = async () =>
    (await expect(200, third.call('GET', '/alerts', { as: ADMIN }))).json<Alert[]>().some(({ id }) => id === 'chat')
  assert.equal(await hasAlert(), true)
  await lock(third)
  await unlock(third)
  assert.deepEqual((await reach(third, 'running')).olderCopies, ['chat.db'])
  await expect(204, third.call('DELETE', '/chat/organization', { as: ADMIN, json: { name: 'Example' } }))
  await makeOrganization(third)
  assert.equal((await statusOf(third)).olderCopies, undefined)
  assert.equal(await hasAlert(), false)
})

test('one that is killed comes back without the queues, and no call to the appliance fails meanwhile', async (t) => {
  const coffer = await provisioned(t)
  await makeOrganization(coffer)
  const { port } = await statusOf(coffer)
  const account = await keyOf(port!)
  const poll = await register(port!, account)
  const firmware = await coffer.firmwarePid()
  process.kill(await chatPid(coffer), 'SIGKILL')
  for (let call = 0; call < 20; call++) await expect(200, coffer.call('GET', '/users', { as: ADMIN }))
  await coffer.see(/The chat ended with SIGKILL\. It is started again/)
  await reach(coffer, 'running')
  assert.equal(await coffer.firmwarePid(), firmware)
  assert.equal((await poll()).body.code, 'BAD_EVENT_QUEUE_ID')
  assert.equal((await ask(port!, 'GET', '/users/me', { as: account })).status, 200)
})

test('after three crashes in a row it has failed, keys go on, and it comes back by itself', async (t) => {
  const coffer = await provisioned(t)
  await makeOrganization(coffer)
  for (let crash = 1; crash <= 3; crash++) {
    process.kill(await chatPid(coffer), 'SIGKILL')
    await coffer.see(/The chat ended with SIGKILL/)
  }
  const { problem } = await reach(coffer, 'failed')
  assert.match(problem!, /3 times in a row/)
  await expect(200, coffer.call('GET', '/users', { as: ADMIN }))
  await expect(412, coffer.call('GET', '/chat/settings', { as: ADMIN }))
  await reach(coffer, 'running')
})

test('with the firmware the chat ends, and comes back with it', async (t) => {
  const coffer = await provisioned(t)
  await makeOrganization(coffer)
  const chat = await chatPid(coffer)
  process.kill(await coffer.firmwarePid(), 'SIGKILL')
  await coffer.see(/The firmware ended with SIGKILL/)
  const [, port] = await coffer.see(/chat: \[\d+\] listening at port (\d+)/)
  await askUntil(isNotReady, Number(port), 'GET', '/server_settings')
  assert.notEqual(await chatPid(coffer), chat)
  await unlock(coffer)
  await reach(coffer, 'running')
})

test('a port that is taken fails the chat with a reason, and nothing else', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  t.after(() => other.close())
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as { port: number }
  const coffer = await provisioned(t, makeDataDirectory(t), { COFFER_CHAT_PORT: String(port) })
  const owner = { email: OWNER, fullName: 'Olivia Owner', password: 'a password of hers' }
  const refused = await coffer.call('PUT', '/chat/organization', { as: ADMIN, json: { name: 'Example', owner } })
  assert.equal(refused.status, 412)
  assert.match(refused.text(), new RegExp(`port ${port} at 127.0.0.1 is in use; COFFER_CHAT_PORT chooses another`))
  assert.deepEqual(await statusOf(coffer), { state: 'none', problem: (await statusOf(coffer)).problem })
  await expect(200, coffer.call('GET', '/users', { as: ADMIN }))
})

test('settings are kept, and a forgotten password is replaced with all keys of the account', async (t) => {
  const coffer = await provisioned(t)
  await makeOrganization(coffer)
  const { port } = await statusOf(coffer)
  const account = await keyOf(port!)
  const put = (json: object) => coffer.call('PUT', '/chat/settings', { as: ADMIN, json })
  await expect(400, put({ url: 'https://chat.example.org/' }))
  await expect(400, put({ unknown: 1 }))
  await expect(204, put({ url: 'https://chat.example.org' }))
  await expect(204, put({ uploadQuotaMib: 100 }))
  for (const host of ['Hooks.example.org', 'hooks.example.org/', 'hooks.example.org.', 'a:b@c', 'x:443', '127.1', ''])
    await expect(400, put({ outgoingHosts: [host] }))
  await expect(204, put({ outgoingHosts: ['hooks.example.org', '[2001:db8::1]:8443'] }))
  const settings = await expect(200, coffer.call('GET', '/chat/settings', { as: ADMIN }))
  assert.deepEqual(settings.json(), {
    url: 'https://chat.example.org',
    ownerFullContentAccess: false,
    uploadQuotaMib: 100,
    outgoingHosts: ['hooks.example.org', '[2001:db8::1]:8443'],
    externalPreviews: false,
    jwt: null,
    webPush: null,
  })
  await expect(400, put({ externalPreviews: 'true' }))
  await expect(204, put({ externalPreviews: true }))
  const key = 'a secret of thirty-two bytes, or more'
  await expect(400, put({ jwt: { algorithm: 'HS256', key: 'too short' } }))
  await expect(400, put({ jwt: { algorithm: 'HS384', key } }))
  await expect(400, put({ jwt: { algorithm: 'RS256', key } }))
  await expect(204, put({ jwt: { algorithm: 'HS256', key } }))
  const shown = await expect(200, coffer.call('GET', '/chat/settings', { as: ADMIN }))
  const { jwt, externalPreviews } = shown.json<{ jwt: object; externalPreviews: boolean }>()
  assert.deepEqual([jwt, externalPreviews], [{ algorithm: 'HS256' }, true])
  const exported = await expect(200, coffer.call('GET', '/audit/export', { as: ADMIN }))
  const lines = exported
    .text()
    .split('\n')
    .filter((line) => line.includes('"PUT /chat/settings"'))
  assert.equal(lines.filter((line) => line.includes('"facts":{"externalPreviews":"true"}')).length, 1)
  assert.ok(!(coffer.output() + exported.bytes.toString()).includes(key))
  const recover = (email: string) =>
    coffer.call('POST', '/chat/recover-owner', { as: ADMIN, json: { email, password: 'a new password' } })
  await expect(404, recover('nobody@example.org'))
  await expect(204, recover(OWNER))
  assert.equal((await ask(port!, 'GET', '/users/me', { as: account })).body.code, 'INVALID_API_KEY')
  await keyOf(port!, OWNER, 'a new password')
})

test('its TLS key is its own, and another one is served at once', async (t) => {
  const coffer = await provisioned(t)
  await makeOrganization(coffer)
  const pem = async (path: string) => (await expect(200, coffer.call('GET', path, { as: ADMIN }))).text()
  const [own, appliance] = [await pem('/chat/tls/public.pem'), await pem('/config/tls/public.pem')]
  assert.notEqual(own, appliance)
  await expect(204, coffer.call('POST', '/chat/tls/generate', { as: ADMIN, json: { type: 'EC_P384' } }))
  assert.notEqual(await pem('/chat/tls/public.pem'), own)
  assert.equal(await pem('/config/tls/public.pem'), appliance)
  const { port } = await statusOf(coffer)
  assert.equal((await ask(port!, 'GET', '/server_settings')).status, 200)
})

test('erased by its name only; nothing of it is left, and another can be made', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await provisioned(t, data)
  await makeOrganization(coffer)
  assert.equal(readdirSync(join(data, 'chat')).length, 1)
  const erase = (name: string) => coffer.call('DELETE', '/chat/organization', { as: ADMIN, json: { name } })
  await expect(400, erase('Other'))
  await expect(204, erase('Example'))
  assert.deepEqual(await statusOf(coffer), { state: 'none' })
  assert.deepEqual(readdirSync(join(data, 'chat')), [])
  await makeOrganization(coffer, 'Second')
  assert.equal((await statusOf(coffer)).state, 'running')
})

test('a factory reset leaves nothing of it', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = await provisioned(t, data)
  await makeOrganization(coffer)
  await coffer.see(/Operational/)
  const { port } = await statusOf(coffer)
  const account = await keyOf(port!)
  await mark(port!, account, 'Before')
  await expect(204, coffer.call('POST', '/system/factory-reset', { as: ADMIN }))
  await coffer.see(/Unprovisioned/)
  assert.ok(!readdirSync(data).includes('chat'))
  await assert.rejects(ask(port!, 'GET', '/server_settings'), { code: 'ECONNREFUSED' })
  await provision(coffer)
  assert.deepEqual(await statusOf(coffer), { state: 'none' })
  await expect(404, coffer.call('GET', '/chat/tls/cert.pem', { as: ADMIN }))
  await makeOrganization(coffer)
  const again = await reach(coffer, 'running')
  assert.equal((await ask(again.port!, 'GET', '/users/me', { as: account })).body.code, 'INVALID_API_KEY')
  assert.equal(again.messages, 0)
})
