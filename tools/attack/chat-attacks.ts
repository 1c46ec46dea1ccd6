/** Attacks that members, guests and strangers of the chat may try. Contract sections 1.2, 1.6, 3.5.1 and 7.8 of the chat. */

import { createHmac } from 'node:crypto'
import { defined } from '../../firmware/base/defined.ts'
import type { ChatTarget, TargetPerson } from './chat-target.ts'
import type { Outcome } from './target.ts'

export interface ChatAttack {
  name: string
  run(target: ChatTarget): Promise<Outcome>
}

const [ADMINISTRATOR, MEMBER, GUEST] = [200, 400, 600]
const HOME = 30 // the last byte of the address of an owner

const demotedByBot: ChatAttack = {
  name: 'chat: a demoted administrator is promoted again by their bot',
  async run(target) {
    const admin = await target.person('promoter', ADMINISTRATOR)
    const bot = await target.bot(admin, 'ladder')
    await target.call('PATCH', `/bots/${bot.id}`, { as: admin, values: { role: ADMINISTRATOR } })
    await setRole(target, admin, MEMBER)
    const promotion = await target.call('PATCH', `/users/${admin.id}`, { as: bot, values: { role: ADMINISTRATOR } })
    const role = await roleOf(target, admin)
    return { held: role === MEMBER, figures: `the call of the bot ${promotion.status}, the role ${role}` }
  },
}

const keptBotKey: ChatAttack = {
  name: 'chat: a deactivated administrator comes back by the key of a bot they gave away',
  async run(target) {
    const [admin, receiver] = [await target.person('giver', ADMINISTRATOR), await target.person('taker', ADMINISTRATOR)]
    const bot = await target.bot(admin, 'parcel')
    await target.call('PATCH', `/bots/${bot.id}`, { as: admin, values: { role: ADMINISTRATOR } })
    await target.call('PATCH', `/bots/${bot.id}`, { as: admin, values: { bot_owner_id: receiver.id } })
    await target.call('DELETE', `/users/${admin.id}`, { as: target.owner })
    const { status } = await target.call('POST', `/users/${admin.id}/reactivate`, { as: bot })
    return { held: status === 401, figures: `the call of the bot ${status}` }
  },
}

const guestsLink: ChatAttack = {
  name: 'chat: the invitation of a member who is a guest now makes a member',
  async run(target) {
    const member = await target.person('inviter', MEMBER)
    await target.call('POST', '/invites', { as: member, values: { invitee_emails: 'new@example.org', stream_ids: [] } })
    const newest = { anchor: 'newest', num_before: 1, num_after: 0, apply_markdown: false }
    const told = (await target.call('GET', '/messages', { as: member, values: newest })).body.messages.at(-1).content
    const [, key] = defined(/join\/#(\w+)/.exec(told))
    await setRole(target, member, GUEST)
    const values = { full_name: 'Newcomer', password: 'password of the newcomer' }
    const { status } = await target.call('POST', `/join/${key}`, { values })
    return { held: status === 404, figures: `joining ${status}` }
  },
}

const squatter: ChatAttack = {
  name: 'chat: a member receives the first sign-in by token of the address they took',
  async run(target) {
    const member = await target.person('squatter', MEMBER)
    const email = 'director@example.org'
    await target.call('PATCH', '/settings', { as: member, values: { email } })
    const claims = { exp: Math.floor(Date.now() / 1000) + 60, email }
    const text = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) => base64url(JSON.stringify(part))).join('.')
    const token = `${text}.${createHmac('sha256', target.tokenKey).update(text).digest('base64url')}`
    const signedIn = await target.call('POST', '/jwt/fetch_api_key', { values: { token } })
    const { status } = await target.call('GET', '/users/me', { as: { ...member, email } })
    return {
      held: signedIn.status === 200 && status === 401,
      figures: `the token ${signedIn.status}, the key ${status}`,
    }
  },
}

const placeholder: ChatAttack = {
  name: 'chat: a member takes the address that stands for an account with a hidden one',
  async run(target) {
    const [hidden, member] = [await target.person('hidden', MEMBER), await target.person('twin', MEMBER)]
    const values = { email: `user${hidden.id}@coffer.invalid` }
    const { status } = await target.call('PATCH', '/settings', { as: member, values })
    return { held: status === 400, figures: `taking it ${status}` }
  },
}

const lockOut: ChatAttack = {
  name: 'chat: wrong passwords of a stranger, while the owner signs in',
  async run(target) {
    const { email, password } = target.owner
    const guess = { username: email, password: 'a wrong password' }
    for (let count = 0; count < 8; count++)
      await target.call('POST', '/fetch_api_key', { from: 2 + count, values: guess })
    const { status } = await target.call('POST', '/fetch_api_key', {
      from: HOME,
      values: { username: email, password },
    })
    return { held: status === 200, figures: `the owner's sign-in ${status}` }
  },
}

const silencedLog: ChatAttack = {
  name: 'chat: bots of a member use up the audit log, while a role is changed',
  async run(target) {
    const member = await target.person('noisy', MEMBER)
    const bots = [await target.bot(member, 'drum'), await target.bot(member, 'horn')]
    let accepted = 0
    for (let count = 0; count < 60; count++)
      for (const bot of bots) {
        const { status, body } = await target.call('POST', '/users/me/api_key/regenerate', { as: bot })
        if (status !== 200) continue
        accepted++
        bot.key = body.api_key
      }
    const before = target.auditLines()
    await setRole(target, member, GUEST)
    const lines = target.auditLines() - before
    return { held: accepted < 100 && lines === 1, figures: `${accepted} of 120 changes, ${lines} line for the role` }
  },
}

export const CHAT_ATTACKS: readonly ChatAttack[] = [
  demotedByBot,
  keptBotKey,
  guestsLink,
  squatter,
  placeholder,
  lockOut,
  silencedLog,
]

const setRole = (target: ChatTarget, { id }: TargetPerson, role: number) =>
  target.call('PATCH', `/users/${id}`, { as: target.owner, values: { role } })

const roleOf = async (target: ChatTarget, { id }: TargetPerson): Promise<number> =>
  (await target.call('GET', `/users/${id}`, { as: target.owner })).body.user.role

const base64url = (text: string): string => Buffer.from(text).toString('base64url')
