/** Sends with `Idempotency-Key`: contract sections 3.2.1 and 9.1. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { SENDS_OF_ACCOUNT_MAX } from '../../../../firmware/chat/store/idempotent-sends.ts'
import type { Client } from '../../support/chat.ts'
import { chatSuite } from '../../support/suite.ts'

const DAY_S = 86_400
const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })
const channel = rig.channel('general', [hamlet, ophelia])

const newKey = () => randomBytes(16).toString('base64url')
const MESSAGE = { type: 'stream', to: channel.id, topic: 'plans', content: 'Hello' }

const send = (key: string, values: Record<string, unknown> = {}, as: Client = hamlet) =>
  as.call('POST', '/messages', { ...MESSAGE, ...values }, { 'idempotency-key': key })
const count = () => rig.chat.realm.store.messages.count()

test('the same key gives the first answer, and one message, also after a restart and from another queue', async () => {
  const queue = await hamlet.register()
  const key = newKey()
  const before = count()
  const first = await send(key, { queue_id: queue.snapshot.queue_id, local_id: '1.5' })
  assert.equal(first.status, 200, JSON.stringify(first.body))
  assert.equal(first.body.automatic_new_visibility_policy, 3)
  for (let again = 0; again < 2; again++) {
    assert.deepEqual((await send(key)).body, first.body)
    assert.deepEqual((await send(key, { queue_id: 'x', local_id: '7' })).body, first.body)
    rig.reopen()
  }
  assert.equal(count(), before + 1)
  const events = (await queue.events()).filter(({ type }) => type === 'message')
  assert.deepEqual(
    events.map(({ message, local_message_id: local }) => [message.id, local]),
    [[first.body.id, '1.5']],
  )
})

test('another message with the same key is refused, and nothing is sent', async () => {
  const key = newKey()
  await send(key)
  const before = count()
  for (const other of [
    { content: 'Hello!' },
    { topic: 'Plans' },
    { topic: undefined },
    { read_by_sender: false },
    { type: 'direct', to: [ophelia.user.id] },
    { to: 'general' },
  ]) {
    const { status, body } = await send(key, other)
    assert.deepEqual([status, body.msg], [400, 'Idempotency-Key was used for another message'])
  }
  assert.equal(count(), before)
})

test('keys are of one account: another one sends its own message', async () => {
  const key = newKey()
  const ids = [(await send(key)).body.id, (await send(key, {}, ophelia)).body.id]
  assert.notEqual(ids[0], ids[1])
})

test('a refused send does not use its key up', async () => {
  const key = newKey()
  const refused = await send(key, { to: 'no such channel' })
  assert.equal(refused.body.code, 'STREAM_DOES_NOT_EXIST')
  const sent = await send(key)
  assert.equal(sent.status, 200)
  assert.deepEqual((await send(key)).body, sent.body)
})

test('a key has 22 to 64 characters of base64url', async () => {
  const before = count()
  for (const key of ['', 'x'.repeat(21), 'x'.repeat(65), `${'x'.repeat(22)} `.padEnd(30, '.'), 'é'.repeat(22)])
    assert.equal((await send(key)).status, 400, key)
  assert.equal(count(), before)
  for (const length of [22, 64]) assert.equal((await send('x'.repeat(length))).status, 200)
})

test('a key is kept for 7 days', async () => {
  const key = newKey()
  const { body } = await send(key)
  rig.advance(7 * DAY_S)
  assert.equal((await send(key)).body.id, body.id)
  rig.advance(1)
  const later = (await send(key)).body.id
  assert.notEqual(later, body.id)
  assert.equal((await send(key)).body.id, later)
})

test('the text of a message is in no table of keys', async () => {
  const text = 'a secret that goes'
  const key = newKey()
  const { body } = await send(key, { content: text })
  await hamlet.delete(`/messages/${body.id}`)
  const rows = rig.chat.realm.store.select<Record<string, unknown>>('SELECT * FROM sends', [])
  const said = rows.flatMap((row) => Object.values(row).map((one) => Buffer.from(String(one)).toString('latin1')))
  assert.ok(said.length > 0 && !said.some((one) => one.includes(text) || one.includes(key)))
  assert.equal((await send(key, { content: text })).body.id, body.id, 'a deleted message is sent again')
})

test('9.1: an account keeps so many keys, the newest, and those that are over go', () => {
  const { store } = rig.chat.realm
  const hash = (of: string) => Buffer.from(of.padEnd(32, '.'))
  const user = 1_000_000
  const row = (number: number, time = 1000) => ({
    ...{ user, key: hash(`${user} ${number}`), parameters: hash('p'), message: number, policy: 0, time },
  })
  const total = () => store.select<{ n: number }>('SELECT count(*) AS n FROM sends WHERE user = ?', [user])[0]!.n
  store.transaction(() => {
    for (let number = 1; number <= SENDS_OF_ACCOUNT_MAX; number++) store.sends.add(row(number), 0)
  })
  assert.equal(store.sends.find(row(1).key)?.message, 1)
  store.transaction(() => store.sends.add(row(SENDS_OF_ACCOUNT_MAX + 1), 0))
  assert.equal(total(), SENDS_OF_ACCOUNT_MAX)
  assert.equal(store.sends.find(row(1).key), undefined)
  assert.equal(store.sends.find(row(2).key)?.message, 2)
  store.transaction(() => {
    for (let more = 2; more <= SENDS_OF_ACCOUNT_MAX; more++)
      store.sends.add(row(SENDS_OF_ACCOUNT_MAX + more, 2000), 2000)
  })
  assert.equal(store.select<{ n: number }>('SELECT count(*) AS n FROM sends WHERE time < 2000', [])[0]!.n, 0)
})
