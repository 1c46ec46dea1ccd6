/** Calls take from the caller's share of the appliance's audit log. Contract section 1.6, and 3.9 of the appliance. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEvent, AuditLineKind } from '../../../firmware/audit/chain.ts'
import { createChatAuditLog } from '../../../firmware/chat/host/chat-audit-log.ts'
import { readChatAuditEvent } from '../../../firmware/chat/link/chat-audit-event.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { type Client, NO_LIMITS } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const lines: { event: AuditEvent; kind: AuditLineKind; budget: string | null }[] = []
const record = async (event: AuditEvent, kind: AuditLineKind, budget: string | null = null) =>
  void lines.push({ event, kind, budget })
const kept = createChatAuditLog({ audit: () => ({ record }), time: () => '2026-11-28T12:00:00Z', monotonicMs: () => 0 })

const { rig, iago, hamlet } = await chatSuite(
  { iago: 'administrator', hamlet: 'member' },
  { record: (act) => kept.record(readChatAuditEvent(structuredClone(act))!) },
)

let made = 0
async function newBot(owner: Client): Promise<Client> {
  const name = `bot${++made}`
  const { user_id } = await owner.post('/bots', { full_name: name, short_name: name })
  return rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
}
const authorizationOf = (user: Client['user'], key: string) => ({
  authorization: `Basic ${Buffer.from(`${user.email}:${key}`).toString('base64')}`,
})
async function renew(bot: Client, times: number): Promise<void> {
  let { key } = bot
  for (let count = 0; count < times; count++) {
    const { status, body } = await bot.call('POST', '/users/me/api_key/regenerate', {}, authorizationOf(bot.user, key))
    assert.equal(status, 200)
    key = body.api_key
  }
}
const actions = () => lines.splice(0).map(({ event: { user, action } }) => `${user} ${action}`)
const roleLine = (by: Client) => `chat:${by.user.id} chat PATCH /users/{user_id}`

test('bots of members silence no change by an administrator', async () => {
  const ophelia = rig.account('ophelia')
  const bots = [...(await Promise.all([1, 2, 3].map(() => newBot(hamlet)))), ...[await newBot(ophelia)]]
  for (const bot of bots) await renew(bot, 130)
  actions()
  await rig.owner.patch(`/users/${ophelia.user.id}`, { role: ROLES.moderator })
  await iago.patch(`/users/${ophelia.user.id}`, { role: ROLES.member })
  await rig.owner.patch('/realm', { name: 'Another name' })
  assert.deepEqual(actions(), [roleLine(rig.owner), roleLine(iago), `chat:${rig.owner.user.id} chat PATCH /realm`])
})

test('one administrator with their bots silences no other one', async () => {
  await renew(await newBot(iago), 260)
  actions()
  await rig.owner.patch(`/users/${hamlet.user.id}`, { role: ROLES.moderator })
  await rig.owner.patch(`/users/${hamlet.user.id}`, { role: ROLES.member })
  assert.deepEqual(actions(), [roleLine(rig.owner), roleLine(rig.owner)])
})

test('refusals of strangers take from another budget than those of accounts and of administrators', async () => {
  lines.length = 0
  const wrong = { username: 'olivia@example.com', password: 'wrong' }
  await rig.anonymous('POST', '/fetch_api_key', wrong)
  await iago.call('GET', '/users/me', {}, authorizationOf(iago.user, 'x'.repeat(32)))
  await hamlet.call('PATCH', `/users/${iago.user.id}`, { role: ROLES.guest })
  await iago.call('PATCH', `/users/${rig.owner.user.id}`, { role: ROLES.guest })
  const budgets = lines.map(({ kind, budget }) => `${kind} ${budget}`)
  assert.deepEqual(budgets, [
    'refusal chat:strangers',
    'refusal chat:strangers',
    'refusal chat:accounts',
    'refusal chat:administrators',
  ])
})

test('a bot spends the changes of its owner', async (t) => {
  const changes = { calls: 4, withinMs: 1e9 }
  const small = await chatSuite({ ophelia: 'member' }, { rateLimits: { ...NO_LIMITS, changes } })
  t.after(() => small.rig.close())
  const bots = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const { user_id } = await small.ophelia.post('/bots', { full_name: name, short_name: name })
      return small.rig.clientOf(small.rig.chat.realm.state.user.get(user_id)!)
    }),
  )
  for (const bot of bots) await bot.post('/users/me/api_key/regenerate')
  await small.ophelia.refused('RATE_LIMIT_HIT', 'POST', '/users/me/api_key/regenerate')
  const third = small.rig.clientOf(bots[0]!.user)
  await third.refused('RATE_LIMIT_HIT', 'POST', '/users/me/api_key/regenerate')
})
