/** Crowds of expensive calls leave room for everybody else. Contract section 1.8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { deactivate } from '../../../firmware/chat/realm/organization/users/activity.ts'
import type { Answer, Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, hamlet, iago } = chatForEachTest({ hamlet: 'member', iago: 'member' })

const REGISTERS = 20
const LARGE = 201 // messages

/** Records the name of each register and sent message when it happens, and each turn of the event loop as `-`. */
function recordTurns(onRegister = (_userId: number): void => {}) {
  const { events, store } = rig.chat.realm
  const happened: string[] = []
  const [register, add] = [events.register, store.messages.add]
  events.register = (draft) => {
    happened.push(`register ${draft.userId}`)
    onRegister(draft.userId)
    return register(draft)
  }
  store.messages.add = (row) => {
    happened.push('send')
    return add(row)
  }
  let isOver = false
  const count = (): void => {
    happened.push('-')
    if (!isOver) setImmediate(count).unref()
  }
  setImmediate(count).unref()
  return {
    happened,
    end: (): string[] => {
      isOver = true
      return happened
    },
  }
}

const registers = (client: Client, count = REGISTERS): Promise<Answer>[] =>
  Array.from({ length: count }, () => client.call('POST', '/register'))

function fill(count: number): void {
  const { realm } = rig.chat
  const { messages } = realm.store
  const { recipientId: recipient } = rig.channel('town', [hamlet, iago])
  const text = { client: 'test', content: 'x', html: '<p>x</p>', extra: '{}' }
  const row = { ...text, sender: iago.user.id, recipient, birth: recipient, topic: 0, time: 1, bits: 0 }
  realm.transaction(() => {
    for (let n = 0; n < count; n++) messages.add({ ...row, ordinal: messages.nextOrdinal(recipient) })
  })
}

test('other work that is ready runs between two registers', async () => {
  const { end } = recordTurns()
  await Promise.all([...registers(hamlet), ...registers(iago)])
  const happened = end()
  const at = happened.flatMap((name, index) => (name.startsWith('register') ? [index] : []))
  assert.equal(at.length, 2 * REGISTERS)
  for (const [n, index] of at.entries()) assert.ok(n === 0 || happened.slice(at[n - 1], index).includes('-'))
})

test('a message sent during a storm of registers does not wait for its end', async () => {
  const { end } = recordTurns()
  const waiting = registers(hamlet, 5 * REGISTERS)
  await iago.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'I am in' })
  const before = end().filter((name) => name.startsWith('register')).length
  await Promise.all(waiting)
  assert.ok(before < (5 * REGISTERS) / 2, `${before} registers came first`)
})

test('a hundred registers of one account do not delay that of another', async () => {
  const { happened, end } = recordTurns()
  const many = registers(hamlet, 100)
  await nextTurn()
  const [one] = registers(iago, 1)
  assert.equal((await one!).status, 200)
  const before = happened.filter((name) => name === `register ${hamlet.user.id}`).length
  await Promise.all(many)
  assert.equal(end().filter((name) => name.startsWith('register')).length, 101)
  assert.ok(before < 50, `${before} of another account came first`)
})

test('who loses the account while waiting registers no queue', async () => {
  const { realm } = rig.chat
  let isFirst = true
  const { end } = recordTurns(() => {
    if (isFirst) queueMicrotask(() => realm.transaction((tx) => deactivate(realm, tx, hamlet.user)))
    isFirst = false
  })
  const answers = await Promise.all(registers(hamlet, 5))
  assert.deepEqual(
    answers.map(({ body }) => body.code ?? body.result),
    ['success', ...Array(4).fill('USER_DEACTIVATED')],
  )
  assert.equal(end().filter((name) => name.startsWith('register')).length, 1)
})

test('each message sent meanwhile is in the snapshot or comes as an event, never both', async () => {
  const queues = Array.from({ length: REGISTERS }, () => hamlet.register())
  const sent = Array.from({ length: REGISTERS }, (_, n) =>
    iago.post('/messages', { type: 'direct', to: [hamlet.user.id], content: `message ${n}` }),
  )
  const ids = (await Promise.all(sent)).map(({ id }) => id)
  for (const { snapshot, events } of await Promise.all(queues)) {
    const came = (await events()).filter(({ type }) => type === 'message').map(({ message }) => message.id)
    const unread = snapshot.unread_msgs.pms.flatMap((pm: { unread_message_ids: number[] }) => pm.unread_message_ids)
    assert.deepEqual(
      [...unread, ...came],
      ids.toSorted((a, b) => a - b),
    )
  }
})

test('a client that has closed the connection gets no queue', async () => {
  const { end } = recordTurns()
  const gone = new AbortController()
  const authorization = `Basic ${Buffer.from(`${hamlet.user.email}:${hamlet.key}`).toString('base64')}`
  const request = { method: 'POST', headers: { authorization }, signal: gone.signal }
  const waiting = registers(hamlet, 3)
  const left = rig.chat.api.request('http://chat.example/api/v1/register', request)
  gone.abort()
  await Promise.allSettled([left, ...waiting])
  assert.equal(end().filter((name) => name.startsWith('register')).length, 3)
})

test('a fetch of many messages waits for its turn, one of few does not', async () => {
  fill(LARGE)
  const fetched = async (count: number): Promise<number> => {
    const { happened, end } = recordTurns()
    const waiting = registers(hamlet)
    while (!happened.some((name) => name.startsWith('register'))) await nextTurn()
    const { messages } = await hamlet.get('/messages', { anchor: 'newest', num_before: count, num_after: 0 })
    assert.equal(messages.length, count)
    const before = happened.filter((name) => name.startsWith('register')).length
    await Promise.all(waiting)
    end()
    return before
  }
  assert.ok((await fetched(LARGE - 1)) < REGISTERS)
  assert.equal(await fetched(LARGE), REGISTERS)
})
