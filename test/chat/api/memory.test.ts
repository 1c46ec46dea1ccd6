/** Bounds of memory for one account: texts whose HTML is a hundred times as long, and many of them. */

import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createPasswords } from '../../../firmware/chat/realm/organization/users/passwords.ts'
import { HTML_CHARACTERS_MAX } from '../../../firmware/chat/render/html.ts'
import { BODY_LIMITS } from '../../../firmware/http/request/body-rate.ts'
import { withoutSecrets } from '../../../firmware/http/server/logged-path.ts'
import { type Client, openTestChat } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const MIB = 1024 * 1024

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

/** A table of 300 columns: some 1,300 characters, nearly a million as HTML. */
const longAsHtml = (rows = 330): string => `${'|'.repeat(301)}\n${'|'.repeat(301)}\n${'|\n'.repeat(rows)}`

const toOphelia = (content: string) => ({ type: 'direct', to: [ophelia.user.id], content })
const seconds = () => Math.floor(rig.now() / 1000)
const NEWEST = { anchor: 'newest', num_before: 1000, num_after: 0 }

test('the longest text of these is just within the bound', async () => {
  const { rendered } = await hamlet.post('/messages/render', { content: longAsHtml() })
  assert.ok(rendered.length > 0.95 * HTML_CHARACTERS_MAX, `${rendered.length}`)
})

describe('scheduled messages and reminders', () => {
  const later = (client: Client, content: string) =>
    client.call('POST', '/scheduled_messages', {
      ...toOphelia(content),
      scheduled_delivery_timestamp: seconds() + 86_400,
    })

  it('of one account have a bound of their HTML together, which small ones never meet', async () => {
    const ids: number[] = []
    for (let i = 0; i < 4; i++) {
      const { status, body } = await later(hamlet, longAsHtml())
      assert.equal(status, 200)
      ids.push(body.scheduled_message_id)
    }
    const refused = await later(hamlet, longAsHtml())
    assert.equal(refused.body.code, 'BAD_REQUEST')
    assert.match(refused.body.msg, /4000000 characters of scheduled messages and reminders/)
    assert.equal((await later(ophelia, longAsHtml())).status, 200, 'another account has its own bound')

    const { id } = await hamlet.post('/messages', toOphelia(longAsHtml(300)))
    const time = seconds() + 60
    const reminder = { message_id: id, scheduled_delivery_timestamp: time }
    await hamlet.refused('BAD_REQUEST', 'POST', '/reminders', reminder)

    const first = `/scheduled_messages/${ids[0]}`
    await hamlet.patch(first, { content: 'short' })
    await hamlet.patch(first, { content: longAsHtml() })
    await hamlet.patch(first, { content: 'short' })
    await hamlet.post('/reminders', reminder)
    await hamlet.refused('BAD_REQUEST', 'PATCH', first, { content: longAsHtml() })
    for (const id of ids) await hamlet.delete(`/scheduled_messages/${id}`)
    for (let i = 0; i < 100; i++) assert.equal((await later(hamlet, 'x'.repeat(1000))).status, 200)
  })
})

describe('a message', () => {
  it('that is edited again and again is refused once what it said before is too long', async () => {
    const { id } = await hamlet.post('/messages', toOphelia('first'))
    const edit = (content: string) => hamlet.call('PATCH', `/messages/${id}`, { content })
    const answers = []
    for (let i = 0; i < 5; i++) answers.push(await edit(`${'x'.repeat(i)}\n\n${longAsHtml(320)}`))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 400, 400],
    )
    assert.match(answers.at(-1)!.body.msg, /edited too often/)
    const { message } = await ophelia.get(`/messages/${id}`)
    assert.match(message.content, /^<p>xx<\/p>/, 'it says what it said before')

    const { id: short } = await hamlet.post('/messages', toOphelia('0'))
    for (let i = 1; i <= 300; i++) await hamlet.patch(`/messages/${short}`, { content: String(i) })
  })
})

describe('GET /messages', () => {
  it('answers those nearest to the anchor that fit, and says that there are more', async () => {
    const channel = rig.channel('long', [hamlet, ophelia])
    const ids: number[] = []
    for (let i = 0; i < 20; i++)
      ids.push(
        (await hamlet.post('/messages', { type: 'stream', to: channel.id, topic: 't', content: longAsHtml(320) })).id,
      )
    const narrow = [{ operator: 'channel', operand: channel.id }]
    const idsOf = ({ messages }: { messages: { id: number }[] }) => messages.map(({ id }) => id)

    const newest = await ophelia.get('/messages', { ...NEWEST, narrow })
    const length = newest.messages.length
    assert.ok(length > 1 && length < 10, `${length}`)
    assert.deepEqual(idsOf(newest), ids.slice(-length))
    assert.deepEqual([newest.found_oldest, newest.found_newest], [false, true])

    const oldest = await ophelia.get('/messages', { anchor: 'oldest', num_before: 0, num_after: 1000, narrow })
    assert.deepEqual(idsOf(oldest), ids.slice(0, oldest.messages.length))
    assert.deepEqual([oldest.found_oldest, oldest.found_newest], [true, false])

    const around = await ophelia.get('/messages', { anchor: ids[10], num_before: 50, num_after: 50, narrow })
    assert.ok(around.found_anchor && !around.found_oldest && !around.found_newest)
    const at = idsOf(around).indexOf(ids[10]!)
    assert.ok(at > 0 && at < around.messages.length - 1, 'on both sides')
    const first = ids.indexOf(around.messages[0].id)
    assert.deepEqual(idsOf(around), ids.slice(first, first + around.messages.length), 'without a gap')

    // A client that goes on from the oldest it has gets them all.
    const got = [...idsOf(newest)]
    for (;;) {
      const page = { anchor: got[0], num_before: 100, num_after: 0, include_anchor: false, narrow }
      const more = await ophelia.get('/messages', page)
      got.unshift(...idsOf(more))
      if (more.found_oldest) break
    }
    assert.deepEqual(got, ids)

    const asked = { message_ids: ids }
    assert.match((await ophelia.refused('BAD_REQUEST', 'GET', '/messages', asked)).body.msg, /ask for fewer/)
    assert.deepEqual(idsOf(await ophelia.get('/messages', { message_ids: ids.slice(0, 5) })), ids.slice(0, 5))
    const matched = { msg_ids: ids, narrow }
    await ophelia.refused('BAD_REQUEST', 'GET', '/messages/matches_narrow', matched)
  })
})

test('bots of one account share a bound of what they keep, deactivated ones included', async () => {
  const bots: Client[] = []
  for (const name of ['rosen', 'crantz', 'guilden']) {
    const { user_id: id } = await hamlet.post('/bots', { full_name: name, short_name: name })
    bots.push(rig.clientOf(rig.chat.realm.state.user.get(id)!))
  }
  const put = (bot: Client, name: string) =>
    bot.call('PUT', '/bot_storage', { storage: { [name]: 'x'.repeat(990_000) } })
  for (const bot of bots.slice(0, 2))
    for (let i = 0; i < 10; i++) assert.equal((await put(bot, `${i}`)).status, 200, `${i}`)
  await hamlet.delete(`/bots/${bots[0]!.user.id}`)
  const answer = await put(bots[2]!, 'one more')
  assert.match(answer.body.msg, /all bots of one account/)
  assert.equal((await put(bots[1]!, '0')).status, 200, 'what replaces something is no more')
  await bots[1]!.delete('/bot_storage', { keys: ['0'] })
  assert.equal((await put(bots[2]!, 'one more')).status, 200)
})

test('names of failed sign-ins take no memory for their length', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const passwords = createPasswords({
    derive: async () => new Uint8Array(32),
    random: (length) => new Uint8Array(length),
  })
  const attempt = (who: string) => passwords.matches({ address: '', who, password: 'wrong', expected: undefined })
  const tryAll = async (): Promise<void> => {
    for (let i = 0; i < 60; i++) assert.equal(await attempt(`${i}${'x'.repeat(1_000_000)}`), false)
  }
  collect()
  const before = process.memoryUsage().heapUsed
  await tryAll()
  collect()
  assert.ok(process.memoryUsage().heapUsed - before < 10_000_000, `${process.memoryUsage().heapUsed - before}`)
  await attempt('hamlet')
  await assert.rejects(attempt('HAMLET'), { code: 'tooManyAttempts' })
})

test('a formula that defines macros is shown as it was typed', async () => {
  const definitions = [
    '\\def\\a{x}\\a',
    '\\gdef\\a{x}\\a',
    '\\edef\\a{x}\\a',
    '\\xdef\\a{x}\\a',
    '\\newcommand{\\a}{x}\\a',
    '\\renewcommand\\a{x}\\a',
    '\\providecommand{\\a}{x}\\a',
    '\\let\\a=x\\a',
    '\\futurelet\\a\\b x',
    '\\global\\def\\a{x}\\a',
    '\\long\\def\\a{x}\\a',
  ]
  for (const formula of definitions) {
    const { rendered } = await hamlet.post('/messages/render', { content: `$$${formula}$$` })
    assert.ok(rendered.startsWith('<p><span class="tex-error">'), rendered)
    const block = await hamlet.post('/messages/render', { content: `\`\`\`math\n${formula}\n\`\`\`` })
    assert.ok(block.rendered.startsWith('<p><span class="tex-error">'), block.rendered)
  }
  for (const formula of ['\\left(\\frac12\\right)', '\\longrightarrow', '\\deg x', '\\implies', 'a\\dots b']) {
    const { rendered } = await hamlet.post('/messages/render', { content: `$$${formula}$$` })
    assert.ok(rendered.startsWith('<p><span class="katex">'), rendered)
  }
})

test('pictures on their way count with all bodies, and give back what they took', async () => {
  const { totalBytesMax } = BODY_LIMITS
  BODY_LIMITS.totalBytesMax = 10 * MIB
  const small = await openTestChat()
  BODY_LIMITS.totalBytesMax = totalBytesMax
  try {
    const [hamlet, iago] = [small.account('hamlet'), small.account('iago')]
    const begin = ({ user, key }: typeof hamlet) => {
      const authorization = `Basic ${Buffer.from(`${user.email}:${key}`).toString('base64')}`
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
      const writer = writable.getWriter()
      const answer = small.chat.api.request('http://chat.example/api/v1/users/me/avatar', {
        method: 'POST',
        headers: { authorization, 'content-type': 'multipart/form-data; boundary=b' },
        body: readable,
        duplex: 'half',
      } as RequestInit)
      const send = (bytes: Uint8Array) => writer.write(bytes).catch(() => {}) // refused meanwhile
      const opened = send(Buffer.from(`--b\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\n`))
      return { opened, send, answer, end: () => writer.close().catch(() => {}) }
    }
    const slow = [begin(hamlet), begin(iago)]
    for (const { opened, send } of slow) {
      await opened
      await send(new Uint8Array(4 * MIB))
    }
    const refused = begin(hamlet)
    await refused.opened
    for (let i = 0; i < 4; i++) void refused.send(new Uint8Array(MIB))
    assert.equal((await refused.answer).status, 429)
    for (const { end, answer } of slow) {
      await end()
      assert.equal((await answer).status, 400) // it ended early
    }
    const next = begin(hamlet)
    await next.opened
    await next.send(new Uint8Array(4.9 * MIB))
    await next.send(Buffer.from('\r\n--b--\r\n'))
    await next.end()
    assert.equal(((await (await next.answer).json()) as { code: string }).code, 'BAD_IMAGE', 'it was read')
  } finally {
    small.close()
  }
})

test('a path is logged without what is secret in it, however long it is', { timeout: 60_000 }, () => {
  const cases = {
    '/user_avatars/2/3-0123456789abcdef0123456789abcdef-medium.png': '/user_avatars/2/....png',
    '/api/v1/invites/multiuse/aB3': '/api/v1/invites/multiuse/aB3',
    '/join/xk3mZqw9rT5yUiOp1234/': '/join/.../',
    '/api/v1/mark_topic_as_read_and_more': '/api/v1/mark_topic_as_read_and_more',
    '/api/v1/abcdefghijklmnop-qrst/ABCDEFGHIJKLMNOP': '/api/v1/abcdefghijklmnop-qrst/...',
  }
  for (const [path, logged] of Object.entries(cases)) assert.equal(withoutSecrets(path), logged)
  const long = `/${'a'.repeat(5_000_000)}` // takes hours where each letter is the beginning of another look
  assert.equal(withoutSecrets(long), long)
})
