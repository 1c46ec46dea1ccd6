/** The commands of the chat's README, run as they stand there, and read back by a second account. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { buildForTests } from '../../support/build.ts'
import { makeDataDirectory, startCoffer } from '../../support/process.ts'
import { fileNeeds } from '../../support/tools.ts'
import { ask, statusOf } from '../support/process.ts'

await fileNeeds('curl', 'openssl')

const README = readFileSync(join(import.meta.dirname, '../../../firmware/chat/README.md'), 'utf8')
const TIME_MS_MAX = 120_000

let program: string
before(async () => {
  program = await buildForTests()
})

test('from the start to the first message and an alert, as the README has it; a second account reads them among its events', async (t) => {
  const [script, alerting] = [...README.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text!) as [
    string,
    string,
  ]
  const expected = [...script.matchAll(/# → (.*)$/gm)].map(([, text]) => text!)
  assert.equal(expected.length, 2)
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_CHAT_PORT: '0' } })
  const { port } = await coffer.target()

  // In two parts: the system chooses the chat's port when the organization is made, and the second account is there before
  // the message is.
  const [making, using] = script.split(/^chat=.*\n/m) as [string, string]
  const [subscribing, sending] = using.split(/^(?=.*type=stream)/m) as [string, string]
  const tools = making.slice(making.indexOf('call() {'), making.indexOf('\n\n'))
  const directory = makeDataDirectory(t)
  assert.doesNotMatch(script, /insecure/)
  const run = (...parts: string[]): string => {
    const here = parts.join('\n').replaceAll('127.0.0.1:8443', `127.0.0.1:${port}`)
    const { stdout, stderr, status } = spawnSync('bash', ['-euo', 'pipefail', '-c', here], {
      cwd: directory,
      encoding: 'utf8',
      timeout: TIME_MS_MAX,
    })
    assert.equal(status, 0, stdout + stderr)
    return stdout
  }
  run(making)
  const { port: chatPort } = await statusOf(coffer, 'admin:staple of an administrator')
  const chat = `chat=https://127.0.0.1:${chatPort}/api/v1`
  const printed = run(tools, chat, subscribing, 'echo "key=$key"')
  assert.ok(printed.includes(expected[0]!), printed)
  const key = /key=(\w+)/.exec(printed)![1]!

  const olivia = { email: 'olivia@example.org', key }
  const [email, password] = ['hamlet@example.org', 'a password for hamlet']
  const made = await ask(chatPort!, 'POST', '/users', { as: olivia, form: { email, password, full_name: 'Hamlet' } })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const signedIn = await ask(chatPort!, 'POST', '/fetch_api_key', { form: { username: email, password } })
  const hamlet = { email, key: signedIn.body.api_key as string }
  const subscribed = await ask(chatPort!, 'POST', '/users/me/subscriptions', {
    as: hamlet,
    form: { subscriptions: '[{"name": "general"}]' },
  })
  assert.equal(subscribed.status, 200, JSON.stringify(subscribed.body))
  const { body: queue } = await ask(chatPort!, 'POST', '/register', {
    as: hamlet,
    form: { event_types: '["message"]' },
  })

  const sent = run(tools, chat, `key=${key}`, sending)
  assert.ok(sent.includes(expected[1]!), sent)
  const { body } = await ask(chatPort!, 'GET', '/events', {
    as: hamlet,
    form: { queue_id: queue.queue_id, last_event_id: String(queue.last_event_id) },
  })
  const { message, id } = body.events.find(({ type }: { type: string }) => type === 'message')
  assert.deepEqual(
    [message.sender_full_name, message.display_recipient, message.subject, message.content],
    ['Olivia Owner', 'general', 'greetings', 'Hello'],
  )

  const alerted = run(tools, chat, `key=${key}`, alerting)
  assert.ok(alerted.includes(/# → (.*)$/m.exec(alerting)![1]!), alerted)
  const { body: later } = await ask(chatPort!, 'GET', '/events', {
    as: hamlet,
    form: { queue_id: queue.queue_id, last_event_id: String(id) },
  })
  const { message: alert } = later.events.find(({ type }: { type: string }) => type === 'message')
  assert.deepEqual(
    [alert.sender_full_name, alert.display_recipient, alert.subject, alert.content],
    ['Alerts', 'general', 'db-1', ':alert: **Firing**: InstanceDown'],
  )
})
