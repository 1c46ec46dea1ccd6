/** Zulip's Python package and its bots, unmodified from PyPI, against a whole Coffer with a certificate that they verify. */

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect, provision } from '../../support/appliance.ts'
import { buildForTests, type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { needsPython, PYTHON } from '../../support/tools.ts'
import { type Account, ask, keyOf, makeOrganization, OWNER, statusOf } from '../support/process.ts'

const TIME_MS_MAX = 60_000

let program: string
before(async () => {
  if (needsPython().skip === false) program = await buildForTests()
})

interface Scene {
  port: number
  owner: Account
  /** Where files of this test go. */
  directory: string
  /** Writes a configuration for an account and gives its path. */
  configure(account: Account): string
}

/** A chat whose certificate is issued by an authority of the test, for the address that clients connect to. */
async function furnished(t: TestContext): Promise<Scene> {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_CHAT_PORT: '0' } })
  await provision(coffer)
  await makeOrganization(coffer)
  const directory = makeDataDirectory(t)
  await certify(coffer, directory)
  const { port } = await statusOf(coffer)
  const configure = ({ email, key }: Account) => {
    const path = join(directory, `zuliprc-${email}`)
    const lines = [`email=${email}`, `key=${key}`, `site=https://127.0.0.1:${port}`, `cert_bundle=${directory}/ca.pem`]
    writeFileSync(path, `[api]\n${lines.join('\n')}\n`, { mode: 0o600 })
    return path
  }
  return { port: port!, owner: await keyOf(port!), directory, configure }
}

async function certify(coffer: Coffer, directory: string): Promise<void> {
  const at = (name: string) => join(directory, name)
  const openssl = (...parameters: string[]) => execFileSync('openssl', parameters, { stdio: 'pipe' })
  const json = { commonName: 'chat' }
  const csr = await expect(200, coffer.call('POST', '/chat/tls/csr.pem', { as: ADMIN, json }))
  writeFileSync(at('request.pem'), csr.text())
  writeFileSync(at('names'), 'subjectAltName=IP:127.0.0.1')
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...ec, '-keyout', at('ca.key'), '-out', at('ca.pem'), '-subj', '/CN=Test CA')
  const issuer = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial']
  openssl('x509', '-req', '-in', at('request.pem'), ...issuer, '-extfile', at('names'), '-out', at('chat.pem'))
  const chain = execFileSync('cat', [at('chat.pem'), at('ca.pem')])
  const put = { as: ADMIN, body: chain, type: 'application/x-pem-file' }
  await expect(201, coffer.call('PUT', '/chat/tls/cert.pem', put))
}

/** In no environment but its own: those of companies often name authorities. */
const ENVIRONMENT = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', PYTHONWARNINGS: 'ignore' }

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
    /'content': '<p>Hello<\/p>'.*'anchor': 1,/, // what a program sends stays unread
  ],
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
  const { owner, configure, directory } = await furnished(t)
  const config = configure(owner)
  const examples = join(sitePackages(), 'zulip/examples')
  const run = (name: string, parameters: readonly string[]) => {
    const { stdout, stderr, status } = spawnSync(
      PYTHON,
      [join(examples, name), '--config-file', config, ...parameters],
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
    const { port, owner, configure, directory } = await furnished(t)
    const form = { full_name: 'A bot', short_name: 'robot', bot_type: '1' }
    const made = await ask(port, 'POST', '/bots', { as: owner, form })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    const profile = await ask(port, 'GET', `/users/${made.body.user_id}`, { as: owner })
    const { email } = profile.body.user
    const config = configure({ email, key: made.body.api_key })
    const channels = '[{"name": "general"}, {"name": "followup"}]'
    await ask(port, 'POST', '/users/me/subscriptions', { as: owner, form: { subscriptions: channels } })
    writeFileSync(join(directory, 'bot.conf'), `[${bot}]\nstream = followup\n`)
    const child = spawn(
      join(dirname(PYTHON), 'zulip-run-bot'),
      [bot, '--config-file', config, '--bot-config-file', 'bot.conf'],
      {
        env: ENVIRONMENT,
        cwd: directory,
      },
    )
    t.after(() => child.kill())
    let printed = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (printed += text))

    const answer = async (): Promise<string | undefined> => {
      const narrow = JSON.stringify([{ operator: 'sender', operand: email }])
      const query = { anchor: 'newest', num_before: '5', num_after: '0', narrow, apply_markdown: 'false' }
      const { body } = await ask(port, 'GET', '/messages', { as: owner, form: query })
      return body.messages.at(-1)?.content
    }
    const deadline = Date.now() + TIME_MS_MAX
    // It hears only of what is sent once it has registered, which it does not tell anybody.
    for (let content: string | undefined; ; content = await answer()) {
      if (content !== undefined) {
        assert.match(content, answered)
        return
      }
      assert.ok(child.exitCode === null && Date.now() < deadline, `no answer: ${printed}`)
      const form = { type: 'stream', to: 'general', topic: 'robots', content: `@**A bot** ${said}` }
      await ask(port, 'POST', '/messages', { as: owner, form })
      await wait(1000)
    }
  })

/** Of the virtual environment. */
function sitePackages(): string {
  const library = join(dirname(PYTHON), '../lib')
  const [python] = readdirSync(library).filter((name) => name.startsWith('python'))
  return join(library, python!, 'site-packages')
}
