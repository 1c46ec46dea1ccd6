/** Zulip's JavaScript package and its examples, unmodified from npm, against a whole Coffer with a certificate that they verify. */

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { buildForTests } from '../../support/build.ts'
import { needsZulipJs, ZULIP_JS } from '../../support/tools.ts'
import { type Account, ask, keyOf, OWNER_PASSWORD } from '../support/process.ts'
import { furnished } from './furnished.ts'

const TIME_MS_MAX = 60_000
const HAMLET = { email: 'hamlet@example.org', password: 'a password of a prince' }

let program: string
before(async () => {
  if (needsZulipJs().skip === false) program = await buildForTests()
})

/**
 * Each prints what shows that it has done its work. Not among them: `init` and `queue_helper` name files of their author's,
 * `filters` asks for what there is not yet.
 */
const EXAMPLES: readonly [name: string, printed: RegExp][] = [
  ['subscriptions', /subscribed: \{ '\d+': \[ 'off topic' \] \}/],
  ['accounts', /api_key: '[0-9A-Za-z]{32}'/],
  ['server', /zulip_feature_level: 500/],
  ['call_endpoint', /result: 'success',.*id: \d+/],
  ['reactions', /result: 'success'.*result: 'success'/],
  ['private-messages', /content: '<p>Something is wrong\.\.\.\.<\/p>'/],
  // Sends, edits, reads, marks read and unread, and deletes; the pointer that it also asks for left the API long ago.
  [
    'messages',
    /id: \d+.*content: '<p>New content<\/p>'.*messages: \[ \d+ \].*messages: \[ \d+ \].*message_history.*result: 'success'/,
  ],
  ['queues', /queue_id: '.*last_event_id: -1.*BAD_EVENT_QUEUE_ID/], // it ends a queue that is none
  ['streams', /name: 'off topic'/],
  ['users', /email: 'hamlet@example\.org'.*user_id: \d+.*alert_words: \[\]/],
  ['emojis', /emoji: \{\}/],
]

test('the examples of zulip-js do their work, those that poll too', needsZulipJs(), async (t) => {
  const { port, owner, hamlet, environment, run } = await staged(t)
  for (const [name, printed] of EXAMPLES) assert.match(await run(name), printed, name)

  const form = { event_types: '["message"]' }
  const { body } = await ask(port, 'POST', '/register', { as: owner, form })
  const events = run('events', [], { ZULIP_QUEUE_ID: body.queue_id })
  await send(port, hamlet, 'while it polls')
  assert.match(await events, /type: 'message', message.*id: 0/)

  const { ZULIP_REALM: realm } = environment
  const both = [realm!, owner.email, owner.key, hamlet.email, hamlet.key]
  assert.match(await run('typing-notifications/send-and-recieve', both), /type: 'typing'.*op: 'start'/)
})

test('zulip-js is called for each event that it polls for', needsZulipJs(), async (t) => {
  const { port, hamlet, environment, config } = await staged(t)
  const script = `require('zulip-js')({ zuliprc: ${JSON.stringify(config)} }).then((z) =>
    z.callOnEachEvent(({ message }) => console.log(message.content), ['message']))`
  const child = spawn(process.execPath, ['-e', script], { env: environment, cwd: ZULIP_JS })
  t.after(() => child.kill())
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text))
  const deadline = Date.now() + TIME_MS_MAX
  // It does not say when it has registered: of what is sent before, it hears nothing.
  for (let count = 1; !/number \d+.*number \d+/s.test(printed); count += 1) {
    assert.ok(child.exitCode === null && Date.now() < deadline, printed)
    await send(port, hamlet, `number ${count}`)
    await wait(500)
  }
})

async function send(port: number, as: Account, content: string): Promise<void> {
  const form = { type: 'stream', to: 'test-bot', topic: 'polling', content }
  const { status, body } = await ask(port, 'POST', '/messages', { as, form })
  assert.equal(status, 200, JSON.stringify(body))
}

/** Two accounts and the channels that the examples name, with two messages for them to look at. */
async function staged(t: TestContext) {
  const { port, owner, configure, directory } = await furnished(t, program)
  const post = async (path: string, form: Record<string, string>): Promise<void> => {
    const { status, body } = await ask(port, 'POST', path, { as: owner, form })
    assert.equal(status, 200, JSON.stringify(body))
  }
  const subscriptions = '[{"name": "test-bot"}, {"name": "bot testing"}]'
  await post('/users/me/subscriptions', { subscriptions })
  for (const content of ['one', 'two']) await send(port, owner, content) // the examples name their ids, 1 and 2
  await post('/users', { ...HAMLET, full_name: 'Hamlet' })
  await post('/users/me/subscriptions', { subscriptions, principals: JSON.stringify([HAMLET.email]) })
  const hamlet = await keyOf(port, HAMLET.email, HAMLET.password)
  const environment: Record<string, string> = {
    NODE_EXTRA_CA_CERTS: join(directory, 'ca.pem'),
    NODE_NO_WARNINGS: '1',
    ZULIP_REALM: `https://127.0.0.1:${port}`,
    ZULIP_USERNAME: owner.email,
    ZULIP_PASSWORD: OWNER_PASSWORD,
    ZULIP_API_KEY: owner.key,
    ZULIP_TEST_USERNAME: HAMLET.email,
  }
  async function run(name: string, parameters: string[] = [], settings = {}): Promise<string> {
    const path = join(ZULIP_JS, 'node_modules/zulip-js/examples', `${name}.js`)
    const options = { env: { ...environment, ...settings }, timeout: TIME_MS_MAX }
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [path, ...parameters], options)
    assert.equal(stderr, '', name)
    return stdout.replaceAll('\n', ' ')
  }
  return { port, owner, hamlet, environment, config: configure(owner), run }
}
