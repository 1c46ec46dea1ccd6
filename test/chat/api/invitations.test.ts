/** Invitations and accepting them: contract section 3.8, rows E125 to E129 and E143; V13. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { organizationOf } from '../../../firmware/chat/realm/model/state.ts'
import type { Client, RegisteredQueue } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const PASSWORD = 'a password of theirs'
const DAY_S = 86_400

const {
  rig,
  iago: admin,
  hamlet,
  ophelia,
} = await chatSuite({ iago: 'administrator', hamlet: 'member', ophelia: 'member' })

async function notices(client: Client, from = 'notification-bot'): Promise<string[]> {
  const { messages } = await client.get('/messages', {
    anchor: 'newest',
    num_before: 50,
    num_after: 0,
    narrow: [{ operator: 'sender', operand: `${from}@coffer.invalid` }],
    apply_markdown: false,
  })
  return messages.map(({ content }: { content: string }) => content)
}

const KEY = /https:\/\/chat\.example\/join\/#([A-Za-z0-9]{32})\//
const keyIn = (text: string): string => KEY.exec(text)![1]!

async function invited(email: string, values: Record<string, unknown> = {}, by = hamlet): Promise<string> {
  const { invite_links: links } = await by.post('/invites', { invitee_emails: email, stream_ids: [], ...values })
  const key = keyIn((await notices(by)).at(-1)!)
  assert.equal(keyIn(links.at(-1).invite_link), key, 'the answer and the bot tell the same link')
  return key
}
const linked = async (values: Record<string, unknown> = {}, by = admin): Promise<string> =>
  keyIn((await by.post('/invites/multiuse', values)).invite_link)

const join = (key: string, name: string, values: Record<string, unknown> = {}) =>
  rig.anonymous('POST', `/join/${key}`, { full_name: name, password: PASSWORD, ...values })
async function joined(key: string, name: string, values: Record<string, unknown> = {}): Promise<Client> {
  const { status, body } = await join(key, name, values)
  assert.equal(status, 200, JSON.stringify(body))
  return rig.clientOf(rig.chat.realm.state.user.get(body.user_id)!)
}
const isOpen = async (key: string) => (await rig.anonymous('GET', `/join/${key}`)).status === 200
const heard = async (queue: RegisteredQueue) => (await queue.events()).map(({ id: _, ...event }) => event)
const listOf = async (client: Client) => (await client.get('/invites')).invites

describe('POST /invites: inviting addresses', () => {
  it('the inviter gets a link that creates one account with its channels', async () => {
    const channel = rig.channel('castle', [hamlet])
    rig.channel('for all', [], { isDefault: true })
    const queues = await Promise.all(
      [hamlet, ophelia, admin].map((client) => client.register({ event_types: ['invites_changed'] })),
    )
    const key = await invited('Laertes <laertes@example.com>', { stream_ids: [channel.id] })
    const changed = { type: 'invites_changed' }
    assert.deepEqual(await Promise.all(queues.map(heard)), [[changed], [], [changed]])
    const [invitation, ...others] = await listOf(hamlet)
    assert.deepEqual(others, [])
    const now = Math.floor(rig.now() / 1000)
    assert.deepEqual(invitation, {
      id: invitation.id,
      invited_by_user_id: hamlet.user.id,
      invited: now,
      expiry_date: now + 14_400 * 60,
      invited_as: ROLES.member,
      is_multiuse: false,
      email: 'laertes@example.com',
      notify_referrer_on_join: true,
    })
    assert.deepEqual((await rig.anonymous('GET', `/join/${key}`)).body, {
      result: 'success',
      msg: '',
      realm_name: 'Testing',
      email: 'laertes@example.com',
      invited_as: ROLES.member,
    })
    rig.reopen()

    const queue = await ophelia.register({ event_types: ['realm_user'] })
    const { body } = await join(key, 'Laertes')
    const authorization = `Basic ${Buffer.from(`laertes@example.com:${body.api_key}`).toString('base64')}`
    const me = await rig.owner.call('GET', '/users/me', {}, { authorization })
    assert.deepEqual([me.body.user_id, me.body.full_name, me.body.role], [body.user_id, 'Laertes', ROLES.member])
    assert.equal((await queue.events())[0].person.email, 'laertes@example.com')
    const laertes = rig.clientOf(rig.chat.realm.state.user.get(body.user_id)!)
    const { subscriptions } = await laertes.get('/users/me/subscriptions')
    assert.deepEqual(
      subscriptions.map(({ name }: { name: string }) => name),
      ['castle'],
    )
    const signedIn = await rig.anonymous('POST', '/fetch_api_key', {
      username: 'laertes@example.com',
      password: PASSWORD,
    })
    assert.equal(signedIn.status, 200)
    assert.equal((await notices(hamlet)).at(-1), `@_**Laertes|${body.user_id}** accepted your invitation to join.`)
    assert.deepEqual(await listOf(hamlet), [])
    assert.equal((await join(key, 'Somebody Else')).status, 404)
  })

  it('several at once, each with a link of its own; those that have an account are said', async () => {
    const queue = await hamlet.register({ event_types: ['invites_changed'] })
    const input = 'one@example.com, two@example.com\nOPHELIA@example.com,\n One Again <one@example.com>'
    const { body } = await hamlet.refused('INVITATION_FAILED', 'POST', '/invites', {
      invitee_emails: input,
      stream_ids: [],
    })
    const { errors, sent_invitations, license_limit_reached, daily_limit_reached } = body
    assert.deepEqual(errors, [['OPHELIA@example.com', 'Already has an account.', false]])
    assert.deepEqual([sent_invitations, license_limit_reached, daily_limit_reached], [true, false, false])
    const said = (await notices(hamlet)).at(-1)!
    const lines = said.split('\n').filter((line) => line.startsWith('* '))
    assert.deepEqual(
      lines.map((line) => line.replace(/: .*/, '')),
      ['* one@example.com', '* two@example.com'],
    )
    assert.equal(new Set(lines.map(keyIn)).size, 2)
    assert.equal((await heard(queue)).length, 1)
    for (const { id } of await listOf(hamlet)) await hamlet.delete(`/invites/${id}`)
  })

  it('nobody is invited when something of it is no address, or everybody has an account', async () => {
    const gone = rig.account('yorick')
    await admin.delete(`/users/${gone.user.id}`)
    const refuse = async (invitee_emails: string) =>
      (await hamlet.refused('INVITATION_FAILED', 'POST', '/invites', { invitee_emails, stream_ids: [] })).body
    const bad = await refuse('fine@example.com, not an address')
    assert.deepEqual([bad.errors, bad.sent_invitations], [[['not an address', 'Invalid address.', false]], false])
    const known = await refuse('ophelia@example.com, yorick@example.com')
    assert.equal(known.sent_invitations, false)
    assert.deepEqual(known.errors, [
      ['ophelia@example.com', 'Already has an account.', false],
      ['yorick@example.com', 'Account has been deactivated.', true],
    ])
    await hamlet.refused('BAD_REQUEST', 'POST', '/invites', { invitee_emails: ' , \n', stream_ids: [] })
    await hamlet.refused('REQUEST_VARIABLE_MISSING', 'POST', '/invites', { invitee_emails: 'fine@example.com' })
    assert.deepEqual(await listOf(hamlet), [])
  })

  it('only addresses of the organization’s domains are invited and join, where it wants that', async () => {
    const link = await linked()
    await rig.owner.post('/realm/domains', { domain: 'example.com', allow_subdomains: false })
    await rig.owner.patch('/realm', { emails_restricted_to_domains: true })
    const { body } = await hamlet.refused('INVITATION_FAILED', 'POST', '/invites', {
      invitee_emails: 'in@example.com,out@example.org',
      stream_ids: [],
    })
    assert.deepEqual(
      [body.errors, body.sent_invitations],
      [[['out@example.org', 'Outside your domain.', false]], false],
    )
    assert.equal((await join(link, 'Outsider', { email: 'out@example.org' })).status, 400)
    await joined(link, 'Insider', { email: 'in@example.com' })
    await rig.owner.patch('/realm', { emails_restricted_to_domains: false })
    for (const { id } of await listOf(rig.owner)) await rig.owner.delete(`/invites/multiuse/${id}`)
  })

  it('nobody is invited to a disposable address, or joins with one, unless the organization takes them', async () => {
    const link = await linked()
    const { body } = await hamlet.refused('INVITATION_FAILED', 'POST', '/invites', {
      invitee_emails: 'in@example.com,Out <out@mailinator.com>',
      stream_ids: [],
    })
    assert.deepEqual(
      [body.errors, body.sent_invitations],
      [[['Out <out@mailinator.com>', 'Please use your real email address.', false]], false],
    )
    assert.equal((await join(link, 'For an hour', { email: 'out@mailinator.com' })).status, 400)
    await rig.owner.patch('/realm', { disallow_disposable_email_addresses: false })
    await joined(link, 'For an hour', { email: 'out@mailinator.com' })
    await rig.owner.patch('/realm', { disallow_disposable_email_addresses: true })
    for (const { id } of await listOf(rig.owner)) await rig.owner.delete(`/invites/multiuse/${id}`)
  })

  it('many links are several messages', async () => {
    const many = Array.from({ length: 60 }, (_, index) => `person${index}@example.com`)
    await admin.post('/invites', { invitee_emails: many.join(','), stream_ids: [] })
    const said = (await notices(admin)).slice(-3).join('\n')
    for (const email of many) assert.ok(said.includes(`* ${email}: https://chat.example/join/#`), email)
    for (const { id } of await listOf(admin)) await admin.delete(`/invites/${id}`)
  })

  it('is for members of can_invite_users_group, and to no role above theirs', async () => {
    const moderator = rig.account('moderator', ROLES.moderator)
    const may: [Client, number, boolean][] = [
      [hamlet, ROLES.guest, true],
      [hamlet, ROLES.moderator, false],
      [moderator, ROLES.moderator, true],
      [moderator, ROLES.administrator, false],
      [admin, ROLES.administrator, true],
      [admin, ROLES.owner, false],
      [rig.owner, ROLES.owner, true],
    ]
    for (const [client, invite_as, isAllowed] of may) {
      for (const [path, values] of [
        ['/invites', { invitee_emails: 'somebody@example.com', stream_ids: [] }],
        ['/invites/multiuse', {}],
      ] as const) {
        if (client !== admin && client !== rig.owner && path !== '/invites') continue
        const { status, body } = await client.call('POST', path, { ...values, invite_as })
        assert.equal(status, isAllowed ? 200 : 403, `${client.user.fullName} ${path} ${invite_as}: ${body.msg}`)
      }
    }
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/invites', {
      invitee_emails: 'somebody@example.com',
      stream_ids: [],
      invite_as: 500,
    })
    const guest = rig.account('polonius', ROLES.guest)
    const values = { invitee_emails: 'somebody@example.com', stream_ids: [] }
    await guest.refused('BAD_REQUEST', 'POST', '/invites', values)
    const { realm } = rig.chat
    const organization = organizationOf(realm.state)
    const administrators = realm.state.groupByName.get('role:administrators')!.id
    realm.transaction((turn) =>
      turn.put('organization', { ...organization, groupSettings: { can_invite_users_group: administrators } }),
    )
    await hamlet.refused('BAD_REQUEST', 'POST', '/invites', values)
    await admin.post('/invites', values)
    realm.transaction((turn) => turn.put('organization', organization))
    for (const { id, is_multiuse } of await listOf(rig.owner))
      await rig.owner.delete(`/invites/${is_multiuse ? 'multiuse/' : ''}${id}`)
  })

  it('to channels and groups to which the caller may add others', async () => {
    const secret = rig.channel('secret', [ophelia], { isPrivate: true })
    const archived = rig.channel('archived', [hamlet], { isArchived: true })
    const public_ = rig.channel('public', [])
    const { realm } = rig.chat
    const everyone = realm.state.groupByName.get('role:everyone')!.id
    const group = realm.transaction((turn) => {
      const made = {
        id: turn.nextId('group'),
        name: 'players',
        description: '',
        dateCreated: 0,
        creatorId: hamlet.user.id,
        members: [],
        subgroups: [],
        isSystem: false,
        isDeactivated: false,
        groupSettings: {},
      }
      turn.put('group', made)
      return made
    })
    const refuse = (values: object, by = hamlet) =>
      by.refused('BAD_REQUEST', 'POST', '/invites', { invitee_emails: 'x@example.com', stream_ids: [], ...values })
    for (const id of [secret.id, archived.id, 9999]) await refuse({ stream_ids: [id] })
    for (const id of [everyone, 9999]) await refuse({ group_ids: [id] })
    await refuse({ group_ids: [group.id] }, ophelia)
    const key = await invited('player@example.com', {
      stream_ids: [public_.id, public_.id],
      group_ids: [group.id],
      include_realm_default_subscriptions: true,
    })
    const later = await invited('late@example.com', { stream_ids: [public_.id], group_ids: [group.id] })
    const queue = await ophelia.register({ event_types: ['user_group'] })
    const player = await joined(key, 'First Player')
    const { subscriptions } = await player.get('/users/me/subscriptions')
    assert.deepEqual(subscriptions.map(({ name }: { name: string }) => name).sort(), ['for all', 'public'])
    const entered = (await heard(queue)).filter(({ group_id }) => group_id === group.id)
    assert.deepEqual(entered, [
      { type: 'user_group', op: 'add_members', group_id: group.id, user_ids: [player.user.id] },
    ])
    assert.deepEqual(realm.state.group.get(group.id)!.members, [player.user.id])
    realm.transaction((turn) => {
      turn.put('group', { ...realm.state.group.get(group.id)!, isDeactivated: true })
      turn.put('channel', { ...realm.state.channel.get(public_.id)!, isArchived: true })
    })
    const late = await joined(later, 'Second Player')
    assert.deepEqual((await late.get('/users/me/subscriptions')).subscriptions, [])
    assert.deepEqual(realm.state.group.get(group.id)!.members, [player.user.id])
  })

  it('416: an own welcome by administrators, else that of the organization', async () => {
    const welcome_message_custom_text = 'Hello **there**'
    await hamlet.refused('BAD_REQUEST', 'POST', '/invites', {
      invitee_emails: 'x@example.com',
      stream_ids: [],
      welcome_message_custom_text,
    })
    const welcomes = async (key: string, name: string) => notices(await joined(key, name), 'welcome-bot')
    const own = await invited('own@example.com', { welcome_message_custom_text }, admin)
    assert.deepEqual(await welcomes(own, 'Own Welcome'), [welcome_message_custom_text])
    assert.deepEqual(await welcomes(await invited('none@example.com'), 'No Welcome'), [])
    const { realm } = rig.chat
    const organization = organizationOf(realm.state)
    const settings = { ...organization.settings, welcome_message_custom_text: 'Welcome to all' }
    realm.transaction((turn) => turn.put('organization', { ...organization, settings }))
    assert.deepEqual(await welcomes(await invited('usual@example.com'), 'Usual Welcome'), ['Welcome to all'])
    const empty = await invited('empty@example.com', { welcome_message_custom_text: '' }, admin)
    assert.deepEqual(await welcomes(empty, 'Empty Welcome'), [])
    realm.transaction((turn) => turn.put('organization', organization))
    await admin.refused('REQUEST_VARIABLE_INVALID', 'POST', '/invites', {
      invitee_emails: 'x@example.com',
      stream_ids: [],
      welcome_message_custom_text: 'x'.repeat(8001),
    })
  })
})

describe('POST /invites/multiuse: links for several people', () => {
  it('create one account for each address', async () => {
    const key = await linked({ invite_as: ROLES.guest, invite_expires_in_minutes: null })
    const [shown] = await listOf(rig.owner)
    assert.deepEqual(shown, {
      id: shown.id,
      invited_by_user_id: admin.user.id,
      invited: Math.floor(rig.now() / 1000),
      expiry_date: null,
      invited_as: ROLES.guest,
      is_multiuse: true,
      link_url: `https://chat.example/join/#${key}/`,
    })
    rig.advance(10_000 * DAY_S)
    assert.equal((await join(key, 'Nobody')).body.msg, "Missing 'email' argument")
    for (const name of ['rosencrantz', 'guildenstern']) {
      const client = await joined(key, name, { email: `${name}@example.com` })
      assert.equal(client.user.role, ROLES.guest)
    }
    assert.equal((await join(key, 'Twice', { email: 'ROSENCRANTZ@example.com' })).status, 400)
    assert.equal((await join(key, 'Bad', { email: 'no address' })).body.code, 'REQUEST_VARIABLE_INVALID')
    assert.equal((await join(key, 'x', { email: 'short@example.com' })).body.code, 'REQUEST_VARIABLE_INVALID')
    const short = await join(key, 'Short', { email: 'short@example.com', password: 'short' })
    assert.equal(short.body.code, 'REQUEST_VARIABLE_INVALID')
    assert.equal(await isOpen(key), true)
    await admin.delete(`/invites/multiuse/${shown.id}`)
    assert.equal(await isOpen(key), false)
  })

  it('are for members of create_multiuse_invite_group', async () => {
    await hamlet.refused('BAD_REQUEST', 'POST', '/invites/multiuse')
  })
})

describe('/invites: what is open', () => {
  it('ends in its time, and not before', async () => {
    const key = await invited('slow@example.com', { invite_expires_in_minutes: 5 })
    for (const invite_expires_in_minutes of [0, -1, 1e12, '1.5'])
      await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/invites', {
        invitee_emails: 'x@example.com',
        stream_ids: [],
        invite_expires_in_minutes,
      })
    rig.advance(299)
    assert.equal(await isOpen(key), true)
    rig.advance(1)
    assert.equal(await isOpen(key), false)
    assert.equal((await join(key, 'Too Late')).status, 404)
    assert.deepEqual(await listOf(hamlet), [])
    await invited('next@example.com')
    assert.equal(rig.chat.realm.state.invitation.size, 1, 'those that are over make room')
    for (const { id } of await listOf(hamlet)) await hamlet.delete(`/invites/${id}`)
  })

  it('resent: the same link, open as long again', async () => {
    const key = await invited('again@example.com', { invite_expires_in_minutes: 10 })
    const [{ id }] = await listOf(hamlet)
    rig.advance(500)
    const queue = await hamlet.register({ event_types: ['invites_changed'] })
    await hamlet.post(`/invites/${id}/resend`)
    assert.equal(keyIn((await notices(hamlet)).at(-1)!), key)
    assert.equal((await heard(queue)).length, 1)
    rig.advance(599)
    assert.equal(await isOpen(key), true)
    const never = await invited('never@example.com', { invite_expires_in_minutes: null })
    const last = (await listOf(hamlet)).at(-1)
    await hamlet.post(`/invites/${last.id}/resend`)
    rig.advance(10_000 * DAY_S)
    assert.deepEqual([await isOpen(key), await isOpen(never)], [false, true])
    await hamlet.delete(`/invites/${last.id}`)
  })

  it('is its creator’s and the administrators’; of owners the owners’', async () => {
    const callers = [hamlet, ophelia, admin, rig.owner]
    const cases: [by: Client, role: number, may: boolean[]][] = [
      [hamlet, ROLES.member, [true, false, true, true]],
      [rig.owner, ROLES.owner, [false, false, false, true]],
    ]
    for (const [by, invite_as, may] of cases)
      for (const [index, caller] of callers.entries()) {
        const key = await invited('managed@example.com', { invite_as }, by)
        const { id } = (await listOf(by)).at(-1)
        const isListed = (await listOf(caller)).some((one: { id: number }) => one.id === id)
        assert.equal(isListed, caller === by || caller === admin || caller === rig.owner)
        await caller.refused('BAD_REQUEST', 'DELETE', `/invites/multiuse/${id}`)
        const resent = await caller.call('POST', `/invites/${id}/resend`)
        const revoked = await caller.call('DELETE', `/invites/${id}`)
        assert.deepEqual([resent.status === 200, revoked.status === 200], [may[index], may[index]])
        assert.equal(await isOpen(key), !may[index])
        if (!may[index]) await rig.owner.delete(`/invites/${id}`)
      }
    for (const path of ['/invites/9999', '/invites/multiuse/9999'])
      await rig.owner.refused('BAD_REQUEST', 'DELETE', path)
    await rig.owner.refused('BAD_REQUEST', 'POST', '/invites/9999/resend')
  })

  it('is over when its creator is deactivated, or a wrong key is shown', async () => {
    const leaver = rig.account('leaver')
    const key = await invited('orphan@example.com', {}, leaver)
    const queue = await admin.register({ event_types: ['invites_changed'] })
    await admin.delete(`/users/${leaver.user.id}`)
    assert.equal((await heard(queue)).length, 1)
    assert.equal(await isOpen(key), false)
    await admin.post(`/users/${leaver.user.id}/reactivate`)
    assert.equal(await isOpen(key), false)
    for (const wrong of ['x', 'a'.repeat(32), key.toLowerCase()]) {
      const { status, body } = await join(wrong, 'Guesser')
      assert.deepEqual([status, body.msg], [404, 'Invitation does not exist'])
    }
  })

  it('of one link, who comes second finds it used, also at the same moment', async () => {
    const key = await invited('race@example.com')
    const answers = await Promise.all(['One', 'Two'].map((name) => join(key, `Number ${name}`)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404])
  })

  it('at most 3000', async () => {
    const { realm } = rig.chat
    const key = await linked()
    const { id, ...model } = [...realm.state.invitation.all()].at(-1)!
    realm.transaction((turn) => {
      for (let count = 1; count < 3000; count++)
        turn.put('invitation', { ...model, id: turn.nextId('invitation'), hash: `x${count}` })
    })
    const { body } = await hamlet.refused('INVITATION_FAILED', 'POST', '/invites', {
      invitee_emails: 'one.more@example.com',
      stream_ids: [],
    })
    assert.deepEqual([body.sent_invitations, body.daily_limit_reached], [false, true])
    const many = { invitee_emails: 'x,'.repeat(3001), stream_ids: [] }
    assert.deepEqual((await hamlet.refused('INVITATION_FAILED', 'POST', '/invites', many)).body.errors, [])
    await admin.delete(`/invites/multiuse/${id}`)
    assert.equal(await isOpen(key), false)
    await invited('one.more@example.com')
  })
})
