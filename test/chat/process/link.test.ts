/** Messages of the chat process to the appliance are untrusted input: the process meets the network. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { openChannel } from '../../../firmware/channel/channel.ts'
import { copyOf } from '../../../firmware/chat/host/backups.ts'
import { openChatConnection } from '../../../firmware/chat/host/chat-connection.ts'
import type { ChatAuditEvent } from '../../../firmware/chat/link/chat-audit-event.ts'
import { type FromChat, readFromChat, readToChat, type ToChat } from '../../../firmware/chat/link/link.ts'
import { connected } from '../../boot/socket-pair.ts'

const ACT: ChatAuditEvent = {
  user: 9,
  address: '::1',
  method: 'POST',
  path: '/bots/{bot_id}',
  result: 200,
  facts: { bot_id: 10 },
  share: { of: 'accounts', account: 9 },
}

test('reads every message of the chat', () => {
  const messages: FromChat[] = [
    { type: 'listening', port: 9443 },
    { type: 'refused', reason: 'port 9443 is in use' },
    { type: 'answer', id: 1, problem: null, value: { users: 1 } },
    { type: 'commits', generation: '0123456789abcdef', sealed: new Uint8Array(60) },
    { type: 'act', id: 3, act: ACT },
    { type: 'answer', id: 2, problem: { code: 'notFound', message: 'There is no such owner' }, value: undefined },
  ]
  for (const message of messages) assert.deepEqual(readFromChat(message), message)
})

test('refuses what is none, bounds texts, and takes no code for granted', () => {
  for (const value of [
    ...[null, undefined, 7, 'answer', [], {}, { type: 'start' }, { type: 'listening', port: '9443' }],
    ...[
      { type: 'commits', generation: '..', sealed: new Uint8Array(60) },
      { type: 'commits', generation: '0123456789abcdef' },
    ],
    { type: 'commits', generation: '0123456789abcdef', sealed: new Uint8Array(1025) },
    ...[
      { type: 'act', id: 3 },
      { type: 'act', id: '3', act: ACT },
      { type: 'act', id: 3, act: { ...ACT, user: 'admin' } },
    ],
    ...[{ type: 'refused' }, { type: 'answer', problem: null }, { type: 'answer', id: '1', problem: null }],
  ])
    assert.equal(readFromChat(value), null, JSON.stringify(value))
  const { problem } = readFromChat({ type: 'answer', id: 1, problem: { code: 'forbidden', message: 7 } }) as Extract<
    FromChat,
    { type: 'answer' }
  >
  assert.deepEqual(problem, { code: 'internal', message: 'The chat gave no reason' })
  assert.equal((readFromChat({ type: 'refused', reason: 'x'.repeat(9999) }) as { reason: string }).reason.length, 500)
})

test('no value at all makes the readers throw', () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      readFromChat(value)
      readToChat(value)
    }),
  )
})

async function chatThat(t: TestContext, answer: (message: Extract<ToChat, { type: 'ask' }>) => FromChat | null) {
  const [near, far] = await connected(t)
  const chat = openChannel<ToChat, FromChat>(far, readToChat)
  chat.on('message', (message) => {
    const reply = message.type === 'ask' ? answer(message) : null
    if (reply !== null) chat.send(reply)
  })
  const connection = openChatConnection(near, { onMessage: () => {}, onRefused: () => {}, onEnd: () => {} })
  return { life: connection, near }
}

test('an answer goes to who asked, whatever else is answered', async (t) => {
  const { life: connection } = await chatThat(t, ({ id, ask }) =>
    ask.do === 'figures'
      ? { type: 'answer', id: id + 100, problem: null } // nobody has asked that
      : { type: 'answer', id, problem: null, value: ask.do },
  )
  void connection.ask({ do: 'figures' }).catch(() => {})
  assert.equal(await connection.ask({ do: 'settings' }), 'settings')
})

test('who waits when the chat ends is told so, and so is who asks later', async (t) => {
  const { life: connection, near } = await chatThat(t, () => null)
  const asked = connection.ask({ do: 'figures' })
  near.destroy()
  await assert.rejects(asked, /ended meanwhile/)
  await assert.rejects(connection.ask({ do: 'figures' }), /ended meanwhile/)
})

test('no more is asked than a chat that answers nothing may hold', async (t) => {
  const { life: connection, near } = await chatThat(t, () => null)
  const asked = Array.from({ length: 64 }, () => connection.ask({ do: 'figures' }).catch(() => {}))
  await assert.rejects(connection.ask({ do: 'figures' }), { code: 'busy' })
  near.destroy()
  await Promise.all(asked)
})

test('a copy whose pieces are no bytes, or end early, is no copy', async (t) => {
  for (const piece of ['text', null, new Uint8Array(0), { length: 7 }]) {
    const { life: connection } = await chatThat(t, ({ id, ask }) => ({
      ...{ type: 'answer', id, problem: null },
      value: ask.do === 'beginCopy' ? [{ name: 'chat.db', bytes: 4096 }] : piece,
    }))
    const copy = await copyOf(connection)
    await assert.rejects(Array.fromAsync(copy.pieces()), { code: 'internal' })
    copy.end()
  }
})
