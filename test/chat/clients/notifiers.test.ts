/**
 * Programs that tell people through the chat, unmodified from PyPI: apprise, which notifies, and zulipchat-mcp, which programs that
 * write text use over its standard input and output (Model Context Protocol, 2025-06-18).
 */

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { before, type TestContext, test } from 'node:test'
import { buildForTests } from '../../support/build.ts'
import { needsClient, PYTHON } from '../../support/tools.ts'
import { ask, OWNER } from '../support/process.ts'
import { furnished, makeBot } from './furnished.ts'
import { ENVIRONMENT, TIME_MS_MAX } from './python.ts'

const PROGRAMS = dirname(PYTHON)
const MCP = join(PROGRAMS, 'zulipchat-mcp')

let program: string
before(async () => {
  if (needsClient('apprise').skip === false || needsClient('zulipchat-mcp').skip === false)
    program = await buildForTests()
})

test(
  'apprise notifies a channel and a person as a bot, whose address it makes up',
  needsClient('apprise'),
  async (t) => {
    const { port, owner, directory } = await furnished(t, program)
    const channels = { subscriptions: '[{"name": "general"}]' }
    await ask(port, 'POST', '/users/me/subscriptions', { as: owner, form: channels })
    const robot = await makeBot(port, owner)
    const targets = `general/${encodeURIComponent(OWNER)}`
    const { stdout, stderr, status } = spawnSync(
      join(PROGRAMS, 'apprise'),
      [
        '-vv',
        '--title',
        'Backup',
        '--body',
        'It **ended**',
        `zulip://robot@127.0.0.1%3A${port}/${robot.key}/${targets}`,
      ],
      {
        encoding: 'utf8',
        timeout: TIME_MS_MAX,
        cwd: directory,
        env: { ...ENVIRONMENT, HOME: directory, REQUESTS_CA_BUNDLE: join(directory, 'ca.pem') },
      },
    )
    assert.equal(status, 0, stdout + stderr)
    const narrow = JSON.stringify([{ operator: 'sender', operand: robot.email }])
    const query = { anchor: 'newest', num_before: '5', num_after: '0', narrow, apply_markdown: 'false' }
    const { body } = await ask(port, 'GET', '/messages', { as: owner, form: query })
    assert.deepEqual(
      body.messages.map((one: Record<string, unknown>) => [one.type, one.subject, one.content]),
      [
        ['stream', 'Backup', 'It **ended**'],
        ['private', '', 'It **ended**'],
      ],
    )
  },
)

/** The server with its input and output; `call` gives what a tool answers, which is a text of JSON. */
async function mcp(t: TestContext, directory: string, config: string) {
  const child = spawn(MCP, ['--zulip-config-file', config, '--extended-tools'], {
    cwd: directory,
    env: { ...ENVIRONMENT, HOME: directory },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text))
  const lines = createInterface({ input: child.stdout })
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any answer
  const answers = new Map<number, (answer: any) => void>()
  lines.on('line', (line) => {
    const message = JSON.parse(line)
    answers.get(message.id)?.(message)
  })
  let id = 0
  const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  async function request(method: string, params: object) {
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const { promise, resolve, reject } = Promise.withResolvers<any>()
    const own = ++id
    answers.set(own, resolve)
    const timer = setTimeout(() => reject(new Error(`${method}: no answer\n${errors}`)), TIME_MS_MAX)
    write({ id: own, method, params })
    const answer = await promise
    clearTimeout(timer)
    assert.equal(answer.error, undefined, `${method}: ${JSON.stringify(answer.error)}\n${errors}`)
    return answer.result
  }
  await request('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  })
  write({ method: 'notifications/initialized' })
  return {
    async call(name: string, values: object = {}) {
      const result = await request('tools/call', { name, arguments: values })
      const answer = JSON.parse(result.content[0].text)
      assert.notEqual(answer.status, 'error', `${name}: ${JSON.stringify(answer)}\n${errors}`)
      return answer
    },
    async end() {
      child.stdin.end()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

test('zulipchat-mcp reads, writes, searches and reacts', needsClient('zulipchat-mcp'), async (t) => {
  const { port, owner, configure, directory } = await furnished(t, program)
  const channels = { subscriptions: '[{"name": "general"}]' }
  await ask(port, 'POST', '/users/me/subscriptions', { as: owner, form: channels })
  const { call, end } = await mcp(t, directory, configure(owner))

  assert.equal((await call('get_own_user')).user.delivery_email, OWNER)
  await call('server_info')
  const streams = JSON.stringify(await call('get_streams'))
  assert.match(streams, /"general"/)
  await call('get_users')
  const sent = await call('send_message', {
    type: 'stream',
    to: 'general',
    topic: 'plays',
    content: 'Words of *Hamlet*',
  })
  const { message_id: id } = sent
  assert.equal(typeof id, 'number', JSON.stringify(sent))
  const { message } = await call('get_message', { message_id: id })
  assert.match(JSON.stringify(message), /Hamlet/)
  await call('add_reaction', { message_id: id, emoji_name: 'thumbs_up' })
  await call('edit_message', { message_id: id, content: 'Words of *Yorick*', topic: 'graves' })
  const { body } = await ask(port, 'GET', `/messages/${id}`, { as: owner, form: { apply_markdown: 'false' } })
  assert.deepEqual([body.message.subject, body.message.content], ['graves', 'Words of *Yorick*'])
  assert.deepEqual(
    body.message.reactions.map((one: Record<string, unknown>) => [one.emoji_name, one.emoji_code]),
    [['thumbs_up', '1f44d']],
  )
  assert.match(JSON.stringify(await call('search_messages', { query: 'yorick', fresh: true })), /Yorick/)
  assert.match(JSON.stringify(await call('get_stream_topics', { stream_id: body.message.stream_id })), /graves/)
  await end()
})
