/** Which addresses are reserved, and which are trusted for sign-in by token. Contract sections 1.2 and 2.2. */

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import type { Client } from '../support/chat.ts'
import { START_MS } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, iago, hamlet, mallory } = chatForEachTest({ iago: 'administrator', hamlet: 'member', mallory: 'member' })

const JWT = { algorithm: 'HS256', key: Buffer.from('a secret of thirty-two bytes, or more') } as const
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
function signIn(email: string) {
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ exp: START_MS / 1000 + 3600, email })}`
  const token = `${text}.${createHmac('sha256', JWT.key).update(text).digest('base64url')}`
  return rig.anonymous('POST', '/jwt/fetch_api_key', { token })
}
const takeTokens = () => changeOperatorSettings(rig.chat.realm, { jwt: JWT })
const works = async (client: Client) => (await client.call('GET', '/users/me')).status === 200
const again = ({ user }: Client) => rig.clientOf(rig.chat.realm.state.user.get(user.id)!)
const PASSWORD = 'a password of theirs'
const passwordWorks = async (username: string) =>
  (await rig.anonymous('POST', '/fetch_api_key', { username, password: PASSWORD })).status === 200

describe('an address like a placeholder', () => {
  const placeholderOf = (client: Client, host = 'coffer.invalid') => `user${client.user.id}@${host}`

  it('is taken by nobody: changed, made, invited or joined with', async () => {
    const taken = placeholderOf(hamlet).toUpperCase()
    await mallory.refused('BAD_REQUEST', 'PATCH', '/settings', { email: taken })
    await iago.refused('BAD_REQUEST', 'PATCH', `/users/${mallory.user.id}`, { new_email: placeholderOf(hamlet) })
    const newcomer = { password: PASSWORD, full_name: 'Newcomer' }
    for (const email of [placeholderOf(hamlet), 'user9999@coffer.invalid', 'deleted-user7@coffer.invalid'])
      await iago.refused('BAD_REQUEST', 'POST', '/users', { ...newcomer, email })
    await iago.refused('INVITATION_FAILED', 'POST', '/invites', { invitee_emails: taken, stream_ids: [] })
    const { invite_link } = await iago.post('/invites/multiuse')
    const key = /#(\w+)/.exec(invite_link)![1]!
    const { status } = await rig.anonymous('POST', `/join/${key}`, { ...newcomer, email: 'user9999@coffer.invalid' })
    assert.equal(status, 400)
  })

  it('is reserved at the host of the organization and at the one without a name, and elsewhere free', async () => {
    changeOperatorSettings(rig.chat.realm, { url: 'https://chat.example.org' })
    for (const host of ['chat.example.org', 'coffer.invalid'])
      await mallory.refused('BAD_REQUEST', 'PATCH', '/settings', { email: placeholderOf(hamlet, host) })
    await mallory.patch('/settings', { email: placeholderOf(hamlet, 'example.org') })
  })

  it('that was taken before does not get what is for the hidden account', async () => {
    const { realm } = rig.chat
    const stolen = placeholderOf(hamlet)
    realm.transaction((turn) => {
      const user = realm.state.user.get(mallory.user.id)!
      turn.put('user', { ...user, email: stolen, deliveryEmail: stolen })
    })
    await hamlet.patch('/settings', { email_address_visibility: 4 })
    rig.reopen()
    assert.equal((await iago.get(`/users/${hamlet.user.id}`)).user.email, stolen)
    await iago.post('/messages', { type: 'direct', to: [stolen], content: 'for Hamlet' })
    const newest = { anchor: 'newest', num_before: 5, num_after: 0, narrow: [{ operator: 'dm', operand: [stolen] }] }
    const { messages } = await iago.get('/messages', newest)
    const [{ display_recipient: people }] = messages
    assert.deepEqual(
      people.map(({ id }: { id: number }) => id),
      [iago.user.id, hamlet.user.id].sort((a, b) => a - b),
    )
    assert.equal((await iago.get(`/users/${stolen}`)).user.user_id, hamlet.user.id)
  })
})

describe('the first sign-in by token', () => {
  it('to an address that its account chose by itself ends every other way into the account', async () => {
    takeTokens()
    const key = 'director@example.org'
    await mallory.patch('/settings', { email: key })
    const attacker = again(mallory)
    const { user_id } = await attacker.post('/bots', { full_name: 'A Bot', short_name: 'a' })
    const bot = rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
    const digest = await iago.post('/users', { email: 'x@example.com', password: PASSWORD, full_name: 'Xavier' })
    const { realm } = rig.chat
    realm.transaction((turn) =>
      turn.put('password', { ...realm.state.password.get(digest.user_id)!, userId: mallory.user.id }),
    )
    assert.ok(await passwordWorks(key))
    const channel = rig.channel('castle', [mallory])
    const at = START_MS / 1000 + 60
    const later = { type: 'channel', to: channel.id, topic: 'x', content: 'I resign', scheduled_delivery_timestamp: at }
    await attacker.post('/scheduled_messages', later)
    const { queue_id } = (await attacker.register()).snapshot
    assert.deepEqual([await works(attacker), await works(bot)], [true, true])

    const { status, body } = await signIn(key)
    assert.equal(status, 200)
    assert.deepEqual([await works(attacker), await works(bot), await passwordWorks(key)], [false, false, false])
    const director = rig.clientOf(realm.state.user.get(mallory.user.id)!)
    await director.refused('BAD_EVENT_QUEUE_ID', 'GET', '/events', { queue_id, last_event_id: -1, dont_block: true })
    rig.advance(61)
    await rig.chat.deliverDue()
    const [kept] = (await director.get('/scheduled_messages')).scheduled_messages
    assert.deepEqual([kept.content, kept.failed], ['I resign', true], 'it is kept, and not sent in the name of another')

    assert.equal((await signIn(key)).status, 200)
    const authorization = `Basic ${Buffer.from(`${key}:${body.api_key}`).toString('base64')}`
    assert.equal((await mallory.call('GET', '/users/me', {}, { authorization })).status, 200, 'it is trusted now')
  })

  it('leaves an account alone whose address an administrator or the operator has set', async () => {
    takeTokens()
    const { user_id } = await iago.post('/users', { email: 'made@example.com', password: PASSWORD, full_name: 'Made' })
    await iago.patch(`/users/${hamlet.user.id}`, { new_email: 'prince@example.com' })
    const made = rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
    const prince = again(hamlet)
    for (const email of ['made@example.com', 'prince@example.com', 'olivia@example.com'])
      assert.equal((await signIn(email)).status, 200)
    assert.deepEqual([await works(made), await works(prince), await works(rig.owner)], [true, true, true])
    assert.ok(await passwordWorks('made@example.com'))
    rig.reopen()
    await made.patch('/settings', { email: 'chosen@example.com' })
    const changed = again(made)
    assert.ok(await works(changed))
    await signIn('chosen@example.com')
    assert.equal(await works(changed), false, 'it is trusted no longer once the account has changed it')
  })

  it('does not trust what administrators set for themselves, by a bot of theirs, or who joins by a link', async () => {
    takeTokens()
    const { user_id, api_key } = await iago.post('/bots', { full_name: 'A Bot', short_name: 'a' })
    await iago.patch(`/bots/${user_id}`, { role: 200 })
    const authorization = `Basic ${Buffer.from(`a-bot@coffer.invalid:${api_key}`).toString('base64')}`
    const path = `/users/${iago.user.id}`
    const byBot = await iago.call('PATCH', path, { new_email: 'director@example.org' }, { authorization })
    assert.equal(byBot.status, 200)
    const attacker = again(iago)
    assert.ok(await works(attacker))
    await signIn('director@example.org')
    assert.equal(await works(attacker), false)

    const { invite_link } = await rig.owner.post('/invites/multiuse')
    const values = { full_name: 'Joining', password: PASSWORD, email: 'king@example.org' }
    await rig.anonymous('POST', `/join/${/#(\w+)/.exec(invite_link)![1]}`, values)
    await signIn('king@example.org')
    assert.equal(await passwordWorks('king@example.org'), false)
  })

  it('trusts the address that an administrator has invited, not the one that a member has', async () => {
    takeTokens()
    for (const [inviter, isTrusted] of [
      [rig.owner, true],
      [hamlet, false],
    ] as const) {
      const email = `by-${inviter.user.id}@example.org`
      await inviter.post('/invites', { invitee_emails: email, stream_ids: [] })
      const newest = { anchor: 'newest', num_before: 5, num_after: 0, apply_markdown: false }
      const { content } = (await inviter.get('/messages', newest)).messages.at(-1)
      const key = /join\/#(\w+)/.exec(content)![1]
      await rig.anonymous('POST', `/join/${key}`, { full_name: `By ${inviter.user.id}`, password: PASSWORD })
      await signIn(email)
      assert.equal(await passwordWorks(email), isTrusted, email)
    }
  })
})
