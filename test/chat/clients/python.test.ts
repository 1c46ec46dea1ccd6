/** Zulip's Python package and its bots, unmodified from PyPI, against a whole Coffer with a certificate that they verify. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { buildForTests } from '../../support/build.ts'
import { needsPython, PYTHON } from '../../support/tools.ts'
import { ask, OWNER } from '../support/process.ts'
import { furnished, makeBot } from './furnished.ts'
import { ENVIRONMENT, repeatUntil, start, TIME_MS_MAX } from './python.ts'

let program: string
before(async () => {
  if (needsPython().skip === false) program = await buildForTests()
})

/** As its users run them, in this order; each prints what shows that it has done its work. */
const EXAMPLES: readonly [name: string, parameters: readonly string[], printed: RegExp][] = [
  ['subscribe', ['--streams=general verona'], /'subscribed': \{'\d+': \['general', 'verona'\]\}/],
  [
    'send-message',
    ['--type=stream', 'general', '--subject=greetings', '--message=Hello'],
    /'result': 'success'.*'id': 1/,
  ],
  ['send-message', [OWNER, '--message', 'a note'], /'result': 'success'.*'id': 2/],
  [
    'create-user',
    [
      ...['--new-email=hamlet@example.org', '--new-password=random1776'],
      ...['--new-full-name=Hamlet Prince', '--new-short-name=hamlet'],
    ],
    /'user_id': \d+/,
  ],
  ['list-users', [], /Hamlet Prince hamlet@example\.org/],
  ['get-subscriptions', [], /'name': 'verona'/],
  ['get-public-streams', [], /'name': 'general'/],
  ['get-messages', ['--anchor=1', '--num-before=3', '--num-after=14'], /'content': 'Hello'.*'content': 'a note'/],
  [
    'get-messages',
    ['--use-first-unread-anchor', '--num-before=5', '--num-after=0', '--apply-markdown', '--client-gravatar'],
    /(?=.*'anchor': 1,).*'content': '<p>Hello<\/p>'/, // what a program sends stays unread
  ],
  ['get-history', ['--stream=general'], /Writing 1 messages/],
  ['get-user-presence', [`--email=${OWNER}`], /'presence': \{.*'aggregated': \{'status': 'active'/],
  ['get-raw-message', ['1'], /'raw_content': 'Hello'/],
  ['edit-message', ['--message-id=1', '--subject=farewells', '--content=Goodbye'], /'result': 'success'/],
  ['message-history', ['1'], /'content': 'Hello'.*'content': 'Goodbye'/],
  ['update-message-flags', ['add', 'starred', '1'], /'messages': \[1\]/],
  ['get-stream-topics', ['--stream-id=1'], /'name': 'farewells'/],
  ['mute-topic', ['mute', 'general', 'farewells'], /'result': 'success'/],
  ['mute-topic', ['unmute', 'general', 'farewells'], /'result': 'success'/],
  ['alert-words', ['add', 'foo', 'bar'], /'alert_words': \['foo', 'bar'\]/],
  ['alert-words', ['remove', 'bar'], /'alert_words': \['foo'\]/],
  ['alert-words', ['get'], /'alert_words': \['foo'\]/],
  ['realm-emoji', [], /'emoji': \{/],
  ['upload-file', ['--file-path=ca.pem'], /\/user_uploads\//],
  ['delete-message', ['2'], /'result': 'success'/],
  ['unsubscribe', ['--streams=verona'], /'removed': \['verona'\]/],
  ['delete-stream', ['2'], /'result': 'success'/],
]

test('the programs among the examples of the Python package do their work', needsPython(), async (t) => {
  const { port, owner, configure, directory } = await furnished(t, program)
  const config = configure(owner)
  const active = await ask(port, 'POST', '/users/me/presence', { as: owner, form: { status: 'active' } })
  assert.equal(active.status, 200, JSON.stringify(active.body))
  const run = (name: string, parameters: readonly string[]) => {
    const { stdout, stderr, status } = spawnSync(
      PYTHON,
      [join(examples(), name), '--config-file', config, ...parameters],
      { encoding: 'utf8', env: ENVIRONMENT, timeout: TIME_MS_MAX, cwd: directory },
    )
    assert.equal(status, 0, `${name}: ${stdout}${stderr}`)
    return stdout
  }
  for (const [name, parameters, printed] of EXAMPLES)
    assert.match(run(name, parameters).replaceAll('\n', ' '), printed, `${name} ${parameters.join(' ')}`)
})

for (const [bot, said, answered] of [
  ['helloworld', 'hi there', /^beep boop$/],
  ['followup', 'remember the milk', /remember the milk/], // posts to a channel of that name
  ['incrementor', 'hi', /^1$/], // keeps its number in the storage of bots
] as const)
  test(`zulip-run-bot ${bot} answers a mention`, needsPython(), async (t) => {
    const { port, owner, configure, directory } = await furnished(t, program)
    const robot = await makeBot(port, owner)
    const config = configure(robot)
    const channels = '[{"name": "general"}, {"name": "followup"}]'
    await ask(port, 'POST', '/users/me/subscriptions', { as: owner, form: { subscriptions: channels } })
    writeFileSync(join(directory, 'bot.conf'), `[${bot}]\nstream = followup\n`)
    const parameters = [bot, '--config-file', config, '--bot-config-file', 'bot.conf']
    const { printed, isRunning } = start(t, directory, join(dirname(PYTHON), 'zulip-run-bot'), parameters)

    const answer = async (): Promise<string | undefined> => {
      const narrow = JSON.stringify([{ operator: 'sender', operand: robot.email }])
      const query = { anchor: 'newest', num_before: '5', num_after: '0', narrow, apply_markdown: 'false' }
      const { body } = await ask(port, 'GET', '/messages', { as: owner, form: query })
      return body.messages.at(-1)?.content
    }
    let content: string | undefined
    await repeatUntil(
      async () => {
        content = await answer()
        assert.ok(isRunning(), printed())
        return content !== undefined
      },
      async () => {
        const form = { type: 'stream', to: 'general', topic: 'robots', content: `@**A bot** ${said}` }
        await ask(port, 'POST', '/messages', { as: owner, form })
      },
      () => `no answer: ${printed()}`,
    )
    assert.match(content!, answered)
  })

test('the examples of the Python package that listen hear what is sent', needsPython(), async (t) => {
  const { port, owner, configure, directory } = await furnished(t, program)
  const config = configure(owner)
  const listen = (name: string) => start(t, directory, PYTHON, [join(examples(), name), '--config-file', config])
  const channels = '[{"name": "Denmark"}, {"name": "general"}]'
  await ask(port, 'POST', '/users/me/subscriptions', { as: owner, form: { subscriptions: channels } })
  const [messages, events] = [listen('print-messages'), listen('print-events')] // the latter those of Denmark alone
  const robot = await makeBot(port, owner)
  const welcome = start(t, directory, PYTHON, [join(examples(), 'welcome-message')], {
    ZULIP_CONFIG: configure(robot),
  })
  const said = () => `${messages.printed()}${events.printed()}${welcome.printed()}`
  await repeatUntil(
    async () => {
      assert.ok(messages.isRunning() && events.isRunning(), said())
      return /'content': 'elsewhere'/.test(messages.printed()) && /'content': 'in Denmark'/.test(events.printed())
    },
    async () => {
      for (const [to, content] of [
        ['general', 'elsewhere'],
        ['Denmark', 'in Denmark'],
      ] as const) {
        const form = { type: 'stream', to, topic: 'state', content }
        assert.equal((await ask(port, 'POST', '/messages', { as: owner, form })).status, 200)
      }
    },
    said,
  )
  assert.match(messages.printed(), /'content': 'in Denmark'/)
  assert.doesNotMatch(events.printed(), /elsewhere/)
  // It keeps newcomers in its storage until they speak. What it then sends names `sender_short_name`, which no server has any more.
  let newcomers = 0
  await repeatUntil(
    async () => {
      assert.ok(welcome.isRunning(), said())
      const { body } = await ask(port, 'GET', '/bot_storage', { as: robot })
      return Object.values(body.storage).some((email) => /^user\d+@example\.org$/.test(String(email)))
    },
    async () => {
      newcomers += 1
      const form = { email: `user${newcomers}@example.org`, password: 'long enough text', full_name: 'A newcomer' }
      assert.equal((await ask(port, 'POST', '/users', { as: owner, form })).status, 200)
    },
    said,
  )
})

function examples(): string {
  const library = join(dirname(PYTHON), '../lib')
  const [python] = readdirSync(library).filter((name) => name.startsWith('python'))
  return join(library, python!, 'site-packages/zulip/examples')
}
