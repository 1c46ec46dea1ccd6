/**
 * Zulip's Java client by J. Netherton: the tests that its author runs against a live server, unmodified. They are in no registry of
 * packages: ZULIP_JAVA_CLIENT names a checkout, and without it they are not run.
 */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createClock } from '../../../firmware/base/clock.ts'
import { createLog } from '../../../firmware/base/log.ts'
import type { Api } from '../../../firmware/chat/pipeline/pipeline.ts'
import { createChat } from '../../../firmware/chat/process/chat.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import type { Connection } from '../../../firmware/http/server/exchange.ts'
import { makeDataDirectory } from '../../support/process.ts'
import { needs } from '../../support/tools.ts'
import { CHAT_KEY, openTestChat, type TestChat } from '../support/chat.ts'
import { serve } from '../support/serving.ts'

const TESTS = 61
const LEVELS = [500, 460]
const MESSAGE_IDS_SINCE = 472
const LEVEL_HEADER = 'x-service-feature-level'
const checkout = process.env.ZULIP_JAVA_CLIENT
const skip =
  checkout === undefined
    ? 'to run this: ZULIP_JAVA_CLIENT=/path/to/zulip-java-client, a checkout of it, and sudo apt install maven'
    : needs('mvn').skip

/** As in the database that its author furnishes a server with, where the groups of the server's own organization come first. */
const TESTER = { email: 'test@test.com', id: 8, password: 'testing123!', name: 'tester' }
const GROUPS_BEFORE = 8
const ORGANIZATION = { name: 'testing', description: 'The coolest place in the universe.', enable_read_receipts: true }

test('the live tests of zulip-java-client pass, and every parameter that it sends is known', { skip }, async (t) => {
  const directory = join(makeDataDirectory(t), 'client')
  cpSync(checkout!, directory, { recursive: true })
  for (const level of LEVELS) {
    await t.test(`at level ${level}`, async (t) => {
      const chat = await furnished(t)
      const key = await makeTester(chat)
      const port = await serve(t, { fetch: (request, env) => withDifferences(chat.chat.api, request, env, level) })
      const site = `https://127.0.0.1:${port}`
      const lines = [`email=${TESTER.email}`, `key=${key}`, `site=${site}`, 'insecure=true']
      writeFileSync(join(directory, 'zuliprc'), `[api]\n${lines.join('\n')}\n`, { mode: 0o600 })
      const printed = await maven(directory)
      assert.match(printed, new RegExp(`Tests run: ${TESTS}, Failures: 0, Errors: 0, Skipped: 0\n`), printed)
    })
  }
})

async function furnished(t: TestContext): Promise<TestChat> {
  const directory = makeDataDirectory(t)
  const log = createLog('error', () => {})
  const derive = () => Promise.reject(new Error('nobody signs in'))
  const empty = createChat({ directory, chatKey: CHAT_KEY, log, derive })
  empty.realm.transaction((turn) => {
    for (let made = 0; made < GROUPS_BEFORE; made++) turn.nextId('group')
  })
  empty.close()
  const chat = await openTestChat({ directory, clock: createClock() })
  t.after(chat.close)
  changeOperatorSettings(chat.chat.realm, { url: 'https://localhost.localdomain' })
  await chat.owner.patch('/realm', ORGANIZATION)
  return chat
}

/** Makes a second owner who has signed in by a browser. Returns their key. */
async function makeTester({ owner }: TestChat): Promise<string> {
  const make = async (email: string, full_name: string): Promise<number> =>
    (await owner.post('/users', { email, full_name, password: TESTER.password })).user_id
  let made = owner.user.id
  while (made < TESTER.id - 1) made = await make(`other${made}@test.com`, 'Some other')
  assert.equal(await make(TESTER.email, TESTER.name), TESTER.id)
  await owner.patch(`/users/${TESTER.id}`, { role: ROLES.owner })
  const { api_key } = await owner.post('/fetch_api_key', { username: TESTER.email, password: TESTER.password })
  const authorization = `Basic ${Buffer.from(`${TESTER.email}:${api_key}`).toString('base64')}`
  await owner.call('PATCH', '/settings', { timezone: 'Europe/London' }, { authorization })
  await owner.call('POST', '/users/me/presence', { status: 'active' }, { authorization })
  return api_key
}

/**
 * Its tests differ from the contract on purpose in passwords that they give to others, which have nine characters, not ten (11.17); in a
 * scheduled message that was sent and can still be deleted (E32); and in the unset icon, which is Gravatar's (3.9). Below level 472
 * attachments have no `message_ids`, which they expect.
 */
async function withDifferences(api: Api, request: Request, env: Connection, level: number): Promise<Response> {
  const { method, url, headers } = request
  const call = `${method} ${new URL(url).pathname.replace(/^\/api\/v1/, '')}`
  env.incoming!.headers[LEVEL_HEADER] = `${level}`
  if (call === 'POST /users') {
    const form = new URLSearchParams(await request.text())
    form.set('password', `${form.get('password')}!`)
    const kept = ['authorization', 'host', 'user-agent'].map((name): [string, string] => [name, headers.get(name)!])
    return api.request(url, { method, headers: [...kept, [LEVEL_HEADER, `${level}`]], body: form })
  }
  const answer = await api.fetch(request, env)
  if (call === 'GET /attachments' && level < MESSAGE_IDS_SINCE) {
    const body = (await answer.json()) as { attachments: { messages: { id: number }[] }[] }
    const withIds = body.attachments.map((one) => ({ ...one, message_ids: one.messages.map(({ id }) => id) }))
    return Response.json({ ...body, attachments: withIds })
  }
  if (call === 'GET /server_settings')
    return Response.json({ ...((await answer.json()) as object), realm_icon: 'https://secure.gravatar.com/avatar/' })
  if (/^DELETE \/scheduled_messages\//.test(call) && answer.status === 404)
    return Response.json({ result: 'success', msg: '' })
  return answer
}

/** Surefire, since the other plugin for such tests is told there to leave out what waits for ten seconds. Gives what is printed. */
function maven(directory: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const settings = ['-Dtest=*IT', '-Dtest.ignoredParametersUnsupported=true', '-Dformatter.skip', '-Dimpsort.skip']
  const child = spawn('mvn', ['--batch-mode', ...settings, 'test'], { cwd: directory })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text))
  child.on('close', () => resolve(printed))
  return promise
}
