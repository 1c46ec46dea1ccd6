/** Incoming webhooks: places, filters, errors to the letter, rights, logs. Contract section 3.5.2, row E160. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import type { ChatAuditEvent } from '../../../firmware/chat/link/chat-audit-event.ts'
import { RECORDED } from '../external/payloads.ts'
import { NO_LIMITS } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const audited: ChatAuditEvent[] = []
const ALLOWED = { calls: 200, withinMs: 60_000 }
const FEW = { calls: 5, withinMs: 60_000 }
const record = (event: ChatAuditEvent): undefined => void audited.push(event)
const { rig, hamlet } = chatForEachTest({ hamlet: 'member' }, { record })

interface Sent {
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: string | Uint8Array
}

async function post(integration: string, { query = {}, headers = {}, body = '{}' }: Sent) {
  const url = `http://chat.example/api/v1/external/${integration}?${new URLSearchParams(query)}`
  const response = await rig.chat.api.request(url, {
    method: 'POST',
    headers: { host: 'chat.example', 'user-agent': 'Hooks/1.0', 'content-type': 'application/json', ...headers },
    body: body as string,
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  }
}

async function makeBot(type: 1 | 2 | 3 = 2): Promise<{ id: number; key: string }> {
  const payload = type === 3 ? { payload_url: '"https://hooks.example/"' } : {}
  const bot = await hamlet.post('/bots', {
    full_name: `Alerts ${type}`,
    short_name: `alerts${type}`,
    bot_type: type,
    ...payload,
  })
  return { id: bot.user_id, key: bot.api_key }
}

const payloadOf = (integration: string, name: string): string =>
  readFileSync(join(import.meta.dirname, `../external/payloads/${integration}/${name}.json`), 'utf8')
const PUSH = { headers: { 'x-github-event': 'push' }, body: payloadOf('github', 'push') }

/** The newest messages that the account can read, the newest first. */
// biome-ignore lint/suspicious/noExplicitAny: tests look at members of any answer
async function messages(narrow: unknown[] = []): Promise<any[]> {
  const query = {
    anchor: 'newest',
    num_before: 100,
    num_after: 0,
    narrow,
    apply_markdown: false,
    allow_empty_topic_name: true,
  }
  return (await hamlet.get('/messages', query)).messages.toReversed()
}
const notices = () => messages([{ operator: 'sender', operand: 'notification-bot@coffer.invalid' }])

describe('where a webhook goes', () => {
  it('to the channel named by name or by number, under the topic of the integration or the one of the address', async () => {
    const channel = rig.channel('alerts', [hamlet])
    const { id, key } = await makeBot()
    for (const [stream, topic] of [
      ['alerts', undefined],
      [String(channel.id), 'chosen'],
    ] as const) {
      const answer = await post('github', { ...PUSH, query: { api_key: key, stream, ...(topic && { topic }) } })
      assert.deepEqual([answer.status, answer.body], [200, { result: 'success', msg: '' }])
      const [message] = await messages()
      assert.deepEqual([message.sender_id, message.stream_id, message.client], [id, channel.id, 'Hooks'])
      assert.equal(message.subject, topic ?? 'harbor / main')
      assert.match(message.content, /^\*\*mira-k\*\* pushed \[2 commits\]/)
      assert.ok(!message.flags.includes('mentioned'))
    }
  })

  it('to its owner in a direct message where the address names none', async () => {
    const { id, key } = await makeBot()
    assert.equal((await post('github', { ...PUSH, query: { api_key: key } })).status, 200)
    const [message] = await messages()
    assert.deepEqual([message.type, message.sender_id], ['private', id])
  })

  it('nowhere if the channel is not there or not to be known: success, and the owner is told once an hour', async () => {
    rig.channel('secret', [rig.owner], { isPrivate: true })
    const { key } = await makeBot()
    for (const stream of ['nowhere', 'secret', '9999', '`@**all**`'])
      assert.equal((await post('github', { ...PUSH, query: { api_key: key, stream } })).body.result, 'success')
    const told = await notices()
    assert.equal(told.length, 1)
    assert.match(told[0].content, /names a channel that is not there, or that the bot may not know of: `nowhere`\.$/)
    rig.advance(3599)
    await post('github', { ...PUSH, query: { api_key: key, stream: 'nowhere' } })
    assert.equal((await notices()).length, 1)
    rig.advance(1)
    await post('github', { ...PUSH, query: { api_key: key, stream: '`@**all**`' } })
    assert.equal((await notices()).length, 2)
  })

  it('refused where the bot may not send', async () => {
    rig.channel('closed', [hamlet], { groupSettings: { can_send_message_group: 1 } })
    const { key } = await makeBot()
    const answer = await post('github', { ...PUSH, query: { api_key: key, stream: 'closed' } })
    assert.deepEqual([answer.status, answer.body.code], [400, 'BAD_REQUEST'])
  })
})

describe('the body', () => {
  it('may be a form with the field `payload`, and has no parameters', async () => {
    const channel = rig.channel('alerts', [hamlet])
    const { key } = await makeBot()
    const body = new URLSearchParams({ payload: PUSH.body, stream: 'nowhere', topic: 'other', api_key: 'x' }).toString()
    const headers = { ...PUSH.headers, 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal((await post('github', { query: { api_key: key, stream: 'alerts' }, headers, body })).status, 200)
    const [message] = await messages()
    assert.deepEqual([message.stream_id, message.subject], [channel.id, 'harbor / main'])
  })

  it('has at most 1 MiB', async () => {
    const { key } = await makeBot()
    const body = JSON.stringify({ text: 'x'.repeat(1024 * 1024) })
    assert.equal((await post('json', { query: { api_key: key }, body })).status, 413)
  })

  it('that is no JSON, is nested deeply, is not UTF-8 or is empty: INVALID_JSON, and the owner is told once an hour', async () => {
    const { key } = await makeBot()
    const deep = `{"a":${'['.repeat(60)}${']'.repeat(60)}}`
    for (const body of ['{', 'x', '', deep, Uint8Array.of(0x22, 0xff, 0x22), `[${'0,'.repeat(20_000)}0]`]) {
      const answer = await post('json', { query: { api_key: key }, body })
      assert.deepEqual(
        [answer.status, answer.body],
        [400, { result: 'error', msg: 'Malformed JSON', code: 'INVALID_JSON' }],
      )
    }
    const told = await notices()
    assert.equal(told.length, 1)
    assert.match(
      told[0].content,
      /^A webhook of JSON to your bot @_\*\*Alerts 2\|\d+\*\* was refused: its body is not valid JSON\.$/,
    )
    rig.advance(3600)
    await post('json', { query: { api_key: key }, body: '{' })
    assert.equal((await notices()).length, 2)
  })
})

test('only_events and exclude_events are patterns of events; what is not wanted is a success', async () => {
  rig.channel('alerts', [hamlet])
  const { key } = await makeBot()
  const sends = async (query: Record<string, string>, sent: Sent = PUSH): Promise<boolean> => {
    const before = (await messages()).length
    const { status, body } = await post('github', { ...sent, query: { api_key: key, stream: 'alerts', ...query } })
    assert.deepEqual([status, body], [200, { result: 'success', msg: '' }])
    return (await messages()).length > before
  }
  assert.equal(await sends({ only_events: '["push"]' }), true)
  assert.equal(await sends({ only_events: '["issue*", "p?sh"]' }), true)
  assert.equal(await sends({ only_events: '["issue*"]' }), false)
  assert.equal(await sends({ only_events: '[]' }), false)
  assert.equal(await sends({ exclude_events: '["[pq]ush"]' }), false)
  assert.equal(await sends({ only_events: '["*"]', exclude_events: '["issues"]' }), true)
  assert.equal(await sends({ branches: 'release,main' }), true)
  assert.equal(await sends({ branches: 'release' }), false)
  // Also one that is not supported.
  assert.equal(await sends({ exclude_events: '["star"]' }, { headers: { 'x-github-event': 'star' } }), false)
  const many = JSON.stringify(Array.from({ length: 101 }, () => '*'))
  const answer = await post('github', { ...PUSH, query: { api_key: key, only_events: many } })
  assert.equal(answer.body.code, 'REQUEST_VARIABLE_INVALID')
})

describe('errors, to the letter', () => {
  const INVALID = { result: 'error', msg: 'Invalid API key', code: 'INVALID_API_KEY' }

  it('key of a person, of a bot of another type, of nobody, missing, of a deactivated bot', async () => {
    const outgoing = await makeBot(3)
    for (const key of [hamlet.key, rig.owner.key, outgoing.key, 'x'.repeat(32), '']) {
      const answer = await post('github', { ...PUSH, query: { api_key: key } })
      assert.deepEqual([answer.status, answer.body], [401, INVALID])
    }
    const none = await post('github', PUSH)
    assert.deepEqual(
      [none.status, none.body],
      [
        400,
        { result: 'error', msg: "Missing 'api_key' argument", code: 'REQUEST_VARIABLE_MISSING', var_name: 'api_key' },
      ],
    )
    const bot = await makeBot()
    const header = `Basic ${Buffer.from(`${hamlet.user.email}:${hamlet.key}`).toString('base64')}`
    const byHeader = await post('github', { ...PUSH, headers: { ...PUSH.headers, authorization: header } })
    assert.equal(byHeader.body.code, 'REQUEST_VARIABLE_MISSING')
    await hamlet.delete(`/bots/${bot.id}`)
    const gone = await post('github', { ...PUSH, query: { api_key: bot.key } })
    assert.deepEqual(
      [gone.status, gone.body],
      [401, { result: 'error', msg: 'Account is deactivated', code: 'USER_DEACTIVATED' }],
    )
  })

  it('generic bots may as well', async () => {
    const { key } = await makeBot(1)
    assert.equal((await post('github', { ...PUSH, query: { api_key: key } })).status, 200)
  })

  it('unknown integration, missing header, anomalous payload, unsupported event', async () => {
    const { key } = await makeBot()
    const query = { api_key: key }
    const unknown = await post('gitbucket', { query })
    assert.deepEqual([unknown.status, unknown.body.code], [404, 'NOT_FOUND'])
    const missing = await post('gitlab', { query })
    assert.deepEqual(
      [missing.status, missing.body],
      [
        400,
        {
          result: 'error',
          msg: "Missing the HTTP event header 'X-Gitlab-Event'",
          code: 'MISSING_HTTP_EVENT_HEADER',
          header: 'X-Gitlab-Event',
        },
      ],
    )
    const anomalous = await post('github', { query, headers: PUSH.headers, body: '{"ref": 1}' })
    assert.deepEqual(
      [anomalous.status, anomalous.body],
      [
        400,
        {
          result: 'error',
          msg: 'The payload is not one that GitHub sends',
          code: 'ANOMALOUS_WEBHOOK_PAYLOAD',
          webhook_name: 'GitHub',
        },
      ],
    )
    const unsupported = await post('github', { query, headers: { 'x-github-event': 'star' } })
    assert.deepEqual(
      [unsupported.status, unsupported.body],
      [
        200,
        {
          result: 'error',
          msg: "The event 'star' of GitHub is not supported: nothing is sent",
          code: 'UNSUPPORTED_WEBHOOK_EVENT_TYPE',
          webhook_name: 'GitHub',
          event_type: 'star',
        },
      ],
    )
    const wrongMethod = await rig.chat.api.request(`http://chat.example/api/v1/external/github?api_key=${key}`)
    assert.equal(wrongMethod.status, 405)
  })

  it('of slack_incoming in the form of Slack besides, and the status stays', async () => {
    const { key } = await makeBot()
    const good = await post('slack_incoming', { query: { api_key: key }, body: '{"text": "*Hi*"}' })
    assert.deepEqual([good.status, good.body], [200, { result: 'success', msg: '', ok: true }])
    const cases: [Sent, number, string][] = [
      [{ query: { api_key: 'x' }, body: '{}' }, 401, 'Invalid API key'],
      [{ query: { api_key: key }, body: '{' }, 400, 'Malformed JSON'],
      [{ query: { api_key: key }, body: '{}' }, 400, 'The payload is not one that Slack sends'],
    ]
    for (const [sent, status, error] of cases) {
      const { status: given, body } = await post('slack_incoming', sent)
      assert.deepEqual([given, body.ok, body.error, body.msg, body.result], [status, false, error, error, 'error'])
    }
  })
})

test('strangers mention nobody; the team mentions whom it likes, and silently where the bot may not', async () => {
  const channel = rig.channel('alerts', [hamlet])
  const { key } = await makeBot()
  const query = { api_key: key, stream: 'alerts' }
  const hostile = payloadOf('github', 'issues.hostile-mentions')
  await post('github', { query, headers: { 'x-github-event': 'issues' }, body: hostile })
  const [quiet] = await messages()
  assert.deepEqual(
    quiet.flags.filter((flag: string) => /mention/.test(flag)),
    [],
  )
  assert.deepEqual(quiet.submessages, [])
  assert.equal([...quiet.subject].length <= 60, true)

  const mention = { query, body: JSON.stringify({ text: '<!channel> @**Hamlet Test**' }) }
  await post('slack_incoming', mention)
  const [loud] = await messages()
  assert.deepEqual(loud.flags.filter((flag: string) => /mention/.test(flag)).sort(), [
    'mentioned',
    'stream_wildcard_mentioned',
    'wildcard_mentioned',
  ])

  for (let index = 0; index < 20; index++) {
    const { user } = rig.account(`reader${index}`)
    await rig.clientOf(user).post('/users/me/subscriptions', { subscriptions: [{ name: 'alerts' }] })
  }
  await rig.owner.patch('/realm', { can_mention_many_users_group: { new: 2 } })
  assert.equal((await post('slack_incoming', mention)).status, 200)
  const [silent] = await messages()
  assert.equal(silent.stream_id, channel.id)
  assert.equal(silent.content, '@_**all** @_**Hamlet Test**')
  assert.deepEqual(
    silent.flags.filter((flag: string) => /mention/.test(flag)),
    [],
  )
})

test('messages of one call are sent all or none', async () => {
  rig.channel('alerts', [hamlet], { groupSettings: { can_create_topic_group: 1 } })
  await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name: 'alerts' }] })
  const { key } = await makeBot()
  const alert = (instance: string) => ({ status: 'firing', labels: { alertname: 'Slow', instance } })
  const channel = rig.chat.realm.state.channelByName.get('alerts')!
  rig.chat.realm.transaction((tx) => tx.put('channel', { ...channel, groupSettings: {} }))
  const query = { api_key: key, stream: 'alerts' }
  assert.equal((await post('alertmanager', { query, body: JSON.stringify({ alerts: [alert('a')] }) })).status, 200)
  rig.chat.realm.transaction((tx) => tx.put('channel', channel))
  const both = await post('alertmanager', { query, body: JSON.stringify({ alerts: [alert('a'), alert('b')] }) })
  assert.match(String(both.body.msg), /permission to create new topics/)
  const inChannel = await messages([{ operator: 'channel', operand: 'alerts' }])
  assert.deepEqual(
    inChannel.map(({ subject }) => subject),
    ['a'],
  )
})

test('a poll of an alert is a text', async () => {
  const { key } = await makeBot()
  await post('slack_incoming', { query: { api_key: key }, body: '{"text": "/poll Who?\\nA\\nB"}' })
  const [message] = await messages()
  assert.deepEqual([message.submessages, message.content], [[], ' /poll Who?\nA\nB'])
})

test('every recorded payload is answered, and the text stored as it is recorded', async () => {
  rig.channel('alerts', [hamlet])
  const { key } = await makeBot()
  for (const { integration, name, event, payload, text } of RECORDED) {
    const before = (await messages()).length
    const { eventHeader } = integration
    const answer = await post(integration.name, {
      query: { api_key: key, stream: 'alerts' },
      headers: eventHeader === undefined ? {} : { [eventHeader]: event },
      body: JSON.stringify(payload),
    })
    assert.equal(answer.body.result, 'success', `${integration.name} ${name}: ${JSON.stringify(answer.body)}`)
    const sent = (await messages()).slice(0, text.match(/^# /gm)?.length ?? 0).reverse()
    if (text.startsWith('(')) assert.equal((await messages()).length, before)
    const page = sent.map(({ subject, content }) => `# ${subject || '(no topic)'}\n\n${content}\n`).join('\n')
    if (sent.length > 0) assert.equal(page, text)
    if (before > 60) for (const { id } of await messages()) await rig.owner.delete(`/messages/${id}`)
  }
})

test('the key is in no line of the log and no audit line; a wrong one is audited', async () => {
  audited.length = 0
  const { key } = await makeBot()
  audited.length = 0
  await post('github', { ...PUSH, query: { api_key: key } })
  await post('json', { query: { api_key: key }, body: '{' })
  await post('gitbucket', { query: { api_key: key } })
  assert.deepEqual(audited, [])
  const wrong = `${key.slice(1)}${key[0]}`
  await post('github', { ...PUSH, query: { api_key: wrong } })
  assert.deepEqual(
    audited.map(({ user, method, path, result }) => [user, method, path, result]),
    [[null, 'POST', '/external/{integration}', 401]],
  )
  const texts = [JSON.stringify(audited), ...rig.logged]
  for (const text of texts) assert.ok(!text.includes(key) && !text.includes(wrong), text)
})

describe('limits', () => {
  const limited = chatForEachTest({ olaf: 'member' }, { rateLimits: { ...NO_LIMITS, account: FEW, address: ALLOWED } })

  it('a flood on one address has its own share: its owner goes on, and all bots of the owner share it', async () => {
    const bots = await Promise.all(
      [1, 2].map((index) =>
        limited.olaf.post('/bots', { full_name: `Flood ${index}`, short_name: `flood${index}`, bot_type: 2 }),
      ),
    )
    const call = async (key: string) => {
      const url = `http://chat.example/api/v1/external/json?api_key=${key}`
      const init = { method: 'POST', headers: { host: 'chat.example' }, body: '{}' }
      return limited.rig.chat.api.request(url, init)
    }
    for (let index = 0; index < FEW.calls; index++) {
      const { status, headers } = await call(bots[index % 2]!.api_key)
      assert.deepEqual([status, headers.get('x-ratelimit-remaining')], [200, String(FEW.calls - 1 - index)])
    }
    for (const { api_key: key } of bots) {
      const refused = await call(key)
      assert.equal(refused.status, 429)
      assert.equal(refused.headers.get('x-ratelimit-limit'), String(FEW.calls))
    }
    await limited.olaf.get('/users/me') // the third of its five
  })

  it('wrong keys and missing ones are failures of the address', async () => {
    const call = (query: string) =>
      limited.rig.chat.api.request(`http://chat.example/api/v1/external/json${query}`, {
        method: 'POST',
        headers: { host: 'chat.example' },
        body: '{}',
      })
    for (let index = 0; index < ALLOWED.calls; index++)
      assert.equal((await call(index % 2 === 0 ? '?api_key=x' : '')).status, index % 2 === 0 ? 401 : 400)
    assert.equal((await call('?api_key=x')).status, 429)
    assert.equal((await call('')).status, 429)
  })
})

test('a register lists the integrations with their parameters; before level 403 these are other options', async () => {
  const { snapshot } = await rig.owner.register({ fetch_event_types: ['realm_incoming_webhook_bots'] })
  const kinds = snapshot.realm_incoming_webhook_bots
  assert.equal(kinds.length, 10)
  const github = kinds.find(({ name }: { name: string }) => name === 'github')
  const branches = {
    key: 'branches',
    label: 'Branches whose pushes are sent, with commas between them',
    validator: 'check_string',
  }
  const typed = { ...branches, input_type: 'check_string' } // since level 485
  assert.deepEqual([github.display_name, github.url_options], ['GitHub', [typed]])
  assert.ok(github.all_event_types.includes('pull_request_review'))
  const old = await rig.owner.call(
    'POST',
    '/register',
    { fetch_event_types: ['realm_incoming_webhook_bots'] },
    { 'x-service-feature-level': '402' },
  )
  const oldGithub = old.body.realm_incoming_webhook_bots.find(({ name }: { name: string }) => name === 'github')
  assert.deepEqual([oldGithub.config_options, oldGithub.url_options], [[branches], undefined])
})
