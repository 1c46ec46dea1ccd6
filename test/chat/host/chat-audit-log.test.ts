/** Reports of the chat process become lines of the audit log of the appliance, and cannot imitate others. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LINES_MIN } from '../../../firmware/audit/audit-log.ts'
import type { AuditEvent, AuditLineKind } from '../../../firmware/audit/chain.ts'
import { CHANGES, createChatAuditLog } from '../../../firmware/chat/host/chat-audit-log.ts'
import {
  type ChatAuditEvent,
  readChatAuditEvent,
  SHARES,
  STRANGERS,
} from '../../../firmware/chat/link/chat-audit-event.ts'

const ACT: ChatAuditEvent = {
  user: 9,
  address: '192.0.2.7',
  method: 'PATCH',
  path: '/users/{user_id}',
  result: 200,
  facts: { user_id: 11, role: 100 },
  share: { of: 'administrators', account: 9 },
}

function kept() {
  const lines: { event: AuditEvent; kind: AuditLineKind; user: string | null }[] = []
  let nowMs = 0
  const record = async (event: AuditEvent, kind: AuditLineKind, user: string | null = null) =>
    void lines.push({ event, kind, user })
  const acts = createChatAuditLog({
    audit: () => ({ record }),
    time: () => '2026-11-24T12:00:00Z',
    monotonicMs: () => nowMs,
  })
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { acts, lines, advance }
}

test('a line is marked as of the chat by its action and its user, and has the time of the appliance', async () => {
  const { acts, lines } = kept()
  await acts.record(ACT)
  await acts.record({ ...ACT, user: null, result: 401, facts: {}, share: STRANGERS })
  const common = { time: '2026-11-24T12:00:00Z', address: '192.0.2.7', key: '', namespace: '' }
  const action = 'chat PATCH /users/{user_id}'
  assert.deepEqual(lines, [
    {
      event: { ...common, user: 'chat:9', action, result: 200, facts: { user_id: '11', role: '100' } },
      ...{ kind: 'change', user: 'chat:administrators' },
    },
    { event: { ...common, user: 'chat:', action, result: 401 }, kind: 'refusal', user: 'chat:strangers' },
  ])
})

test('beyond its budget changes are counted, and the next line says how many', async () => {
  const { acts, lines, advance } = kept()
  const { ofEach } = CHANGES.administrators
  for (let sent = 0; sent < ofEach + 1000; sent++) await acts.record(ACT)
  assert.equal(lines.length, ofEach)
  advance(10_000)
  await acts.record(ACT)
  await acts.record(ACT)
  assert.equal(lines.length, ofEach + 1)
  assert.equal(lines.at(-1)!.event.skipped, 1000)
})

test('whatever a process says of its accounts, its changes push no change of the appliance out of the smallest log', async () => {
  const { acts, lines } = kept()
  for (const of of SHARES)
    for (let account = 0; account < 1000; account++)
      for (let sent = 0; sent < 3; sent++) await acts.record({ ...ACT, share: { of, account } })
  const { administrators, accounts } = CHANGES
  assert.equal(lines.length, administrators.ofAll + accounts.ofAll)
  assert.ok(lines.length < LINES_MIN)
})

test('an act is numbers and plain names, or it is none', () => {
  assert.deepEqual(readChatAuditEvent(ACT), ACT)
  for (const [member, values] of Object.entries({
    user: ['admin', -1, 1.5, undefined, 2 ** 60],
    address: ['a word', 'x'.repeat(100), 7, '1\n2'],
    method: ['SIGN', '', null],
    path: ['', '/users/Bob', 'POST /keys', `/${'a'.repeat(33)}`, '/a'.repeat(9), '/users\n', '/../x', 7],
    result: [0, 199, 600, '200'],
    share: [null, {}, { of: 'owners', account: 1 }, { of: 'accounts', account: 'admin' }, { of: 'accounts' }],
    facts: [
      null,
      { user: 'admin' },
      { 'a b': 1 },
      { __proto__x: '1' },
      { A: 1 },
      Object.fromEntries([...'abcdefghi'].map((name) => [name, 1])),
    ],
  }))
    for (const value of values)
      assert.equal(readChatAuditEvent({ ...ACT, [member]: value }), null, `${member}: ${value}`)
})
