/** Bots whose service answers: contract rows E90, E91 and E140, types 3 and 4. */

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, beforeEach, describe, it } from 'node:test'
import { CALLS_WAITING_MAX } from '../../../firmware/chat/realm/messages/bot-calls.ts'
import { removeMessages } from '../../../firmware/chat/realm/messages/delete.ts'
import { expectDescribed } from '../openapi/described.ts'
import type { Client } from '../support/chat.ts'
import { postTo } from '../support/outgoing.ts'
import { chatSuite } from '../support/suite.ts'

interface Heard {
  path: string
  type: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any request
  body: any
}

let heard: Heard[] = []
let answer: (path: string) => [status: number, body: string] = () => [200, '{}']
let held: Promise<void> | undefined
const server = createServer(async (request, response) => {
  let text = ''
  for await (const piece of request) text += piece
  const type = request.headers['content-type']!
  const body = type === 'application/json' ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
  heard.push({ path: request.url!, type, body })
  const [status, sent] = answer(request.url!)
  await held
  response.writeHead(status).end(sent)
})

/** Answers so once `release` is called. `first` resolves when a request waits. */
function holdAnswers(given: [status: number, body: string]) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { promise: first, resolve: begun } = Promise.withResolvers<void>()
  answer = () => {
    begun()
    return given
  }
  held = promise
  const release = () => {
    resolve()
    held = undefined
  }
  return { first, release }
}

const HOST = 'hooks.example.org'

await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
after(() => {
  server.closeAllConnections()
  server.close()
})
const { port } = server.address() as AddressInfo
let hosts = [HOST]
const { rig, hamlet, ophelia } = await chatSuite(
  { hamlet: 'member', ophelia: 'member' },
  {
    post: postTo(
      port,
      () => hosts,
      async (name) => (name === HOST ? ['203.0.113.9'] : ['127.0.0.1']),
    ),
    botRetryMs: 1,
  },
)
rig.channel('castle', [hamlet, ophelia])
beforeEach(() => {
  heard = []
  answer = () => [200, '{}']
})
let made = 0
const newBot = async (values: Record<string, unknown> = {}) => {
  made++
  const answer = await hamlet.post('/bots', {
    full_name: `Bot ${made}`,
    short_name: `bot${made}`,
    bot_type: 3,
    payload_url: JSON.stringify(`http://${HOST}/bot${made}`),
    ...values,
  })
  return {
    id: answer.user_id as number,
    name: `Bot ${made}`,
    path: `/bot${made}`,
    email: `bot${made}-bot@coffer.invalid`,
  }
}

const toChannel = (content: string, topic = 'walls', from = ophelia) =>
  from.post('/messages', { type: 'channel', to: 'castle', topic, content })
const toPeople = (to: number[], content: string, from = ophelia) =>
  from.post('/messages', { type: 'direct', to, content })

/** Newest last. */
const messages = async (client: Client, narrow: unknown[]) => {
  const { messages } = await client.get('/messages', {
    anchor: 'newest',
    num_before: 10,
    num_after: 0,
    narrow,
    apply_markdown: false,
  })
  return messages.map(({ sender_full_name, content }: Record<string, string>) => `${sender_full_name}: ${content}`)
}
const inTopic = (topic: string) => messages(ophelia, [{ operator: 'topic', operand: topic }])
const notices = () => messages(hamlet, [{ operator: 'sender', operand: 'notification-bot@coffer.invalid' }])

describe('E140: an outgoing webhook', () => {
  it('hears of a mention in a channel, and its reply is sent there as its own', async () => {
    const bot = await newBot()
    const [service] = (await hamlet.register()).snapshot.realm_bots.find(
      ({ user_id }: { user_id: number }) => user_id === bot.id,
    ).services
    assert.match(service.token, /^[a-zA-Z0-9]{32}$/)
    assert.deepEqual(service, { base_url: `http://${HOST}${bot.path}`, token: service.token, interface: 1 })
    answer = () => [200, '{"content": "Who is **there**?"}']
    const content = `@**${bot.name}** look out`
    const { id } = await toChannel(content, 'hears')
    await rig.chat.botsAnswered()

    assert.deepEqual(await inTopic('hears'), [`Ophelia Test: ${content}`, `${bot.name}: Who is **there**?`])
    assert.equal(heard.length, 1)
    const [{ path, type, body }] = heard as [Heard]
    assert.deepEqual([path, type], [bot.path, 'application/json'])
    expectDescribed('POST', '/zulip-outgoing-webhook', body)
    const { message, ...rest } = body
    assert.deepEqual(rest, {
      bot_email: bot.email,
      bot_full_name: bot.name,
      data: content,
      trigger: 'mention',
      token: service.token,
    })
    assert.equal(message.id, id)
    assert.equal(message.content, content)
    assert.equal(message.subject, 'hears')
    assert.equal(message.sender_email, 'ophelia@example.com')
    assert.match(
      message.rendered_content,
      /^<p><span class="user-mention" data-user-id="\d+">@Bot \d+<\/span> look out/,
    )
  })

  it('hears of direct messages, also among several, and answers all of them', async () => {
    const bot = await newBot()
    answer = () => [200, '{"response_string": "indeed"}']
    await toPeople([bot.id], 'you alone')
    await toPeople([bot.id, hamlet.user.id], `both of you, @**${bot.name}**`)
    await rig.chat.botsAnswered()
    assert.deepEqual(
      heard.map(({ body }) => [body.trigger, body.data]),
      [
        ['direct_message', 'you alone'],
        ['mention', `both of you, @**${bot.name}**`],
      ],
    )
    assert.deepEqual(await messages(ophelia, [{ operator: 'dm', operand: [bot.id] }]), [
      'Ophelia Test: you alone',
      `${bot.name}: indeed`,
    ])
    assert.deepEqual(await messages(hamlet, [{ operator: 'dm', operand: [bot.id, ophelia.user.id] }]), [
      `Ophelia Test: both of you, @**${bot.name}**`,
      `${bot.name}: indeed`,
    ])
  })

  it('is not called by what is not said to it, by bots, nor once it is deactivated', async () => {
    const bot = await newBot()
    const other = await newBot({ bot_type: 1 })
    const caller = rig.clientOf(rig.chat.realm.state.user.get(other.id)!)
    await hamlet.post('/users/me/subscriptions', {
      subscriptions: [{ name: 'castle' }],
      principals: [bot.id, other.id],
    })
    await toChannel(`@_**${bot.name}** is silent, \`@**${bot.name}**\` is code, @**all** are many`, 'quiet')
    await toChannel(`@**${bot.name}**`, 'quiet', caller)
    await toPeople([bot.id], 'from a bot', caller)
    await rig.chat.botsAnswered()
    assert.deepEqual(heard, [])
    await hamlet.delete(`/bots/${bot.id}`)
    await toChannel(`@**${bot.name}**`, 'quiet')
    await rig.chat.botsAnswered()
    assert.deepEqual(heard, [])
  })

  it('may say nothing', async () => {
    const bot = await newBot()
    const nothing = ['{}', '{"response_not_required": true, "content": "x"}', '{"content": " "}', '{"content": 1}']
    answer = () => [200, nothing[heard.length - 1]!]
    for (const _ of nothing) await toChannel(`@**${bot.name}**`, 'nothing')
    await rig.chat.botsAnswered()
    assert.equal(heard.length, nothing.length)
    assert.equal((await inTopic('nothing')).length, nothing.length)
  })

  it('a bot hears one message after the other', async () => {
    const bot = await newBot()
    answer = () => [200, `{"content": "${heard.length}"}`]
    for (const _ of [1, 2, 3]) await toChannel(`@**${bot.name}**`, 'order')
    await rig.chat.botsAnswered()
    assert.deepEqual((await inTopic('order')).slice(3), [`${bot.name}: 1`, `${bot.name}: 2`, `${bot.name}: 3`])
  })

  it('in the form of Slack', async () => {
    const bot = await newBot({ interface_type: 2 })
    answer = () => [200, '{"text": "slack"}']
    await toChannel(`@**${bot.name}** hi`, 'form')
    await rig.chat.botsAnswered()
    const [{ type, body }] = heard as [Heard]
    assert.equal(type, 'application/x-www-form-urlencoded')
    const { token, channel_id, timestamp, ...rest } = body
    assert.match(token, /^[a-zA-Z0-9]{32}$/)
    assert.match(channel_id, /^C\d+$/)
    assert.deepEqual(rest, {
      team_id: 'T2',
      team_domain: '',
      channel_name: 'castle',
      thread_ts: timestamp,
      user_id: `U${ophelia.user.id}`,
      user_name: 'Ophelia Test',
      text: `@**${bot.name}** hi`,
      trigger_word: 'mention',
      service_id: String(bot.id),
    })
    assert.equal((await inTopic('form')).at(-1), `${bot.name}: slack`)
    await toPeople([bot.id], 'direct')
    await rig.chat.botsAnswered()
    assert.equal(heard.length, 1)
    assert.match((await notices()).at(-1), /this form of webhook takes no direct messages\.$/)
  })

  const FAILURES: [what: string, status: number, body: string, tries: number, told: RegExp][] = [
    ['a fault of the server is tried three times', 503, '', 3, /it answered with the status 503\.$/],
    ['a refusal once', 404, '', 1, /it answered with the status 404\.$/],
    ['a redirect leads nowhere', 307, '', 1, /it answered with the status 307\.$/],
    ['what is no JSON', 200, 'ok', 1, /its answer is no JSON object\.$/],
    ['a list', 200, '[]', 1, /its answer is no JSON object\.$/],
  ]
  for (const [what, status, body, tries, told] of FAILURES)
    it(`fails: ${what}, and its owner is told`, async () => {
      const bot = await newBot()
      answer = () => [status, body]
      await toChannel(`@**${bot.name}**`, what)
      await rig.chat.botsAnswered()
      assert.equal(heard.length, tries)
      assert.equal((await inTopic(what)).length, 1)
      const notice = (await notices()).at(-1)
      assert.match(notice, told)
      assert.ok(
        notice.startsWith(`Notification Bot: A message to your bot @_**${bot.name}|${bot.id}** was not answered`),
      )
    })

  it('goes on when a try fails and the next does not', async () => {
    const bot = await newBot()
    answer = () => (heard.length < 3 ? [500, ''] : [200, '{"content": "at last"}'])
    await toChannel(`@**${bot.name}**`, 'tries')
    await rig.chat.botsAnswered()
    assert.equal((await inTopic('tries')).at(-1), `${bot.name}: at last`)
  })

  it('reaches no host that is not listed, none at an address of this machine, and none taken from the list', async () => {
    const stray = await newBot({ payload_url: 'http://elsewhere.example.org/' })
    const local = await newBot({ payload_url: 'http://localhost/' })
    const listed = await newBot()
    hosts = ['localhost']
    for (const bot of [stray, local, listed]) {
      await toChannel(`@**${bot.name}**`, 'unlisted')
      await rig.chat.botsAnswered()
    }
    hosts = [HOST]
    assert.deepEqual(heard, [])
    const told = (await notices()).slice(-3)
    assert.match(told[0]!, /the administrator of the server has not listed its host\.$/)
    assert.match(told[1]!, /its name leads to an address that nothing is sent to\.$/)
    assert.match(told[2]!, /has not listed its host\.$/)
  })

  it('where it may not send, its owner is told', async () => {
    const bot = await newBot()
    answer = () => {
      const { channelByName } = rig.chat.realm.state
      rig.chat.realm.transaction((turn) => turn.put('channel', { ...channelByName.get('castle')!, isArchived: true }))
      return [200, '{"content": "too late"}']
    }
    await toChannel(`@**${bot.name}**`, 'archived')
    await rig.chat.botsAnswered()
    rig.chat.realm.transaction((turn) =>
      turn.put('channel', { ...rig.chat.realm.state.channelByName.get('castle')!, isArchived: false }),
    )
    assert.match((await notices()).at(-1), /its answer could not be sent: Not authorized to send to channel/)
  })

  it('hears after a stop of what it had not answered, and not of what was long ago', async () => {
    const bot = await newBot()
    answer = () => [200, '{"content": "awake"}']
    const mention = `@**${bot.name}**`
    const { promise, resolve: release } = Promise.withResolvers<void>()
    held = promise
    await toChannel(mention, 'stop')
    rig.pause()
    held = undefined
    rig.resume()
    await rig.chat.botsAnswered()
    assert.equal((await inTopic('stop')).at(-1), `${bot.name}: awake`)
    held = promise
    await toChannel(mention, 'late')
    rig.pause()
    rig.advance(601)
    rig.resume()
    await rig.chat.botsAnswered()
    release()
    held = undefined
    assert.deepEqual(await inTopic('late'), [`Ophelia Test: ${mention}`])
    assert.match((await notices()).at(-1), /was not answered: Coffer was locked or off\.$/)
  })

  it('answers nothing that is deleted meanwhile', async () => {
    const bot = await newBot()
    let sent = 0
    answer = () => {
      rig.chat.realm.transaction((turn) =>
        removeMessages(rig.chat.realm, turn, [rig.chat.realm.store.messages.get(sent)!]),
      )
      return [200, '{"content": "what?"}']
    }
    const { id } = await toChannel(`@**${bot.name}**`, 'deleted')
    sent = id
    await rig.chat.botsAnswered()
    assert.equal(heard.length, 1)
    assert.deepEqual(await inTopic('deleted'), [])
  })

  it('hears nothing of a message that it may not read any more, and answers nothing to one', async () => {
    const closed = rig.channel('closed', [rig.owner], { isPrivate: true })
    const bot = await newBot()
    const mention = `@**${bot.name}**`
    const { first, release } = holdAnswers([200, '{"content": "heard"}'])
    const told = (await notices()).length
    const ids = [(await toChannel(`${mention} first`, 'moved')).id, (await toChannel(`${mention} second`, 'moved')).id]
    await first
    for (const id of ids) await rig.owner.patch(`/messages/${id}`, { stream_id: closed.id })
    release()
    await rig.chat.botsAnswered()
    assert.deepEqual(
      heard.map(({ body }) => body.data),
      [`${mention} first`],
    )
    assert.equal((await notices()).length, told)
    assert.ok(
      !(await messages(rig.owner, [{ operator: 'channel', operand: closed.id }])).includes(`${bot.name}: heard`),
    )
  })

  it('is not asked again about a message that it may not read any more', async () => {
    const closed = rig.channel('closed again', [rig.owner], { isPrivate: true })
    const bot = await newBot()
    const { first, release } = holdAnswers([503, ''])
    const { id } = await toChannel(`@**${bot.name}**`, 'tried')
    await first
    await rig.owner.patch(`/messages/${id}`, { stream_id: closed.id })
    release()
    await rig.chat.botsAnswered()
    assert.equal(heard.length, 1)
  })

  it('at most a hundred messages wait for one bot', async () => {
    const bot = await newBot()
    const { realm } = rig.chat
    realm.transaction((turn) => {
      for (let count = 0; count < CALLS_WAITING_MAX; count++)
        turn.put('botCall', { id: turn.nextId('botCall'), botId: bot.id, messageId: 1e9, trigger: 'mention', time: 0 })
    })
    await toChannel(`@**${bot.name}**`, 'many')
    assert.equal(realm.state.callsOf.get(bot.id).size, CALLS_WAITING_MAX)
    await toPeople([(await newBot()).id], 'wake')
    await rig.chat.botsAnswered()
    assert.equal(realm.state.callsOf.get(bot.id).size, 0)
    assert.equal(heard.length, 1)
  })
})

describe('/bots: bots with a service', () => {
  it('an address is a URL of http or https', async () => {
    const good = { full_name: 'Good Bot', short_name: 'good', bot_type: 3 }
    const refuse = (values: object) =>
      hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/bots', { ...good, ...values })
    await refuse({})
    for (const payload_url of ['nowhere', 'ftp://hooks.example.org', 'http://a:b@hooks.example.org', 'javascript:0'])
      await refuse({ payload_url })
    await refuse({ payload_url: `http://${HOST}/${'x'.repeat(2000)}` })
    await refuse({ payload_url: `http://${HOST}/`, interface_type: 3 })
    await refuse({ bot_type: 5 })
  })

  it('address and form change, told to those who manage it', async () => {
    const bot = await newBot()
    const queue = await hamlet.register({ event_types: ['realm_bot'] })
    const url = `http://${HOST}/new`
    const changed = await hamlet.patch(`/bots/${bot.id}`, {
      service_payload_url: JSON.stringify(url),
      service_interface: 2,
    })
    assert.deepEqual([changed.service_payload_url, changed.service_interface], [url, 2])
    const [event, ...rest] = await queue.events()
    const [{ token }] = event.bot.services
    assert.deepEqual(event.bot, { user_id: bot.id, services: [{ base_url: url, token, interface: 2 }] })
    assert.deepEqual(rest, [])
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'PATCH', `/bots/${bot.id}`, { service_payload_url: 'x' })
    await hamlet.refused('BAD_REQUEST', 'PATCH', `/bots/${bot.id}`, { config_data: { text: 'x' } })
    await ophelia.refused('BAD_REQUEST', 'PATCH', `/bots/${bot.id}`, { service_interface: 1 })
    const plain = await newBot({ bot_type: 1 })
    await hamlet.refused('BAD_REQUEST', 'PATCH', `/bots/${plain.id}`, { service_payload_url: url })
  })

  it('type 4: programs of the chat itself, which answer at once', async () => {
    const { realm_embedded_bots } = (await hamlet.register()).snapshot
    assert.deepEqual(realm_embedded_bots, [
      { name: 'autoreply', config: { text: '' } },
      { name: 'encrypt', config: {} },
      { name: 'helloworld', config: {} },
    ])
    const embedded = (service_name: string, config_data = {}) => newBot({ bot_type: 4, service_name, config_data })
    const bots = [
      await embedded('autoreply', { text: 'I am away' }),
      await embedded('encrypt'),
      await embedded('helloworld'),
      await embedded('autoreply'),
    ]
    for (const bot of bots) await toChannel(`@**${bot.name}** Hello`, bot.name)
    await rig.chat.botsAnswered()
    const replies = await Promise.all(bots.map(async ({ name }) => (await inTopic(name))[1]))
    assert.deepEqual(replies, [
      `${bots[0]!.name}: I am away`,
      `${bots[1]!.name}: Encrypted/Decrypted text: Uryyb`,
      `${bots[2]!.name}: beep boop`,
      undefined,
    ])
    const queue = await hamlet.register({ event_types: ['realm_bot'] })
    const { config_data } = await hamlet.patch(`/bots/${bots[3]!.id}`, { config_data: { text: 'back soon' } })
    assert.deepEqual(config_data, { text: 'back soon' })
    assert.deepEqual((await queue.events())[0].bot.services, [{ service_name: 'autoreply', config_data }])
    await toPeople([bots[3]!.id], 'there?')
    await rig.chat.botsAnswered()
    assert.equal(
      (await messages(ophelia, [{ operator: 'dm', operand: [bots[3]!.id] }])).at(-1),
      `${bots[3]!.name}: back soon`,
    )
    const refuse = (values: object) =>
      hamlet.refused('BAD_REQUEST', 'POST', '/bots', { full_name: 'New', short_name: 'new', bot_type: 4, ...values })
    await refuse({})
    await refuse({ service_name: 'unknown' })
    await refuse({ service_name: 'encrypt', config_data: { text: 'x' } })
    await refuse({ service_name: 'autoreply', config_data: { text: 'x'.repeat(10_001) } })
    assert.deepEqual(heard, [])
  })
})
