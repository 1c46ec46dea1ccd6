/** Objects and requests of an account give nobody more rights than that account has now. Contract section 7.8. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, iago, hamlet } = chatForEachTest({ iago: 'administrator', hamlet: 'member' })

const setRole = (client: Client, role: number) => rig.owner.patch(`/users/${client.user.id}`, { role })
const groupId = (name: string) => rig.chat.realm.state.groupByName.get(name)!.id

async function notices(client: Client): Promise<string[]> {
  const newest = { anchor: 'newest', num_before: 50, num_after: 0, apply_markdown: false }
  const { messages } = await client.get('/messages', newest)
  return messages.map(({ content }: { content: string }) => content)
}

describe('an invitation', () => {
  const keyIn = (text: string) => /join\/#([A-Za-z0-9]{32})/.exec(text)![1]!
  const linkOf = async (client: Client, values = {}) =>
    keyIn((await client.post('/invites/multiuse', { invite_expires_in_minutes: null, ...values })).invite_link)
  async function inviting(client: Client, email: string): Promise<string> {
    await client.post('/invites', { invitee_emails: email, stream_ids: [] })
    return keyIn((await notices(client)).at(-1)!)
  }
  const isOpen = async (key: string) => (await rig.anonymous('GET', `/join/${key}`)).status === 200
  const join = (key: string, email = 'new@example.com') =>
    rig.anonymous('POST', `/join/${key}`, { full_name: 'Newcomer', password: 'a password of theirs', email })

  it('of a member who is a guest now makes no member, and is good again with the role', async () => {
    const key = await inviting(hamlet, 'new@example.com')
    await setRole(hamlet, ROLES.guest)
    assert.deepEqual([await isOpen(key), (await join(key)).status], [false, 404])
    await setRole(hamlet, ROLES.member)
    assert.equal((await join(key)).status, 200)
  })

  it('is over while its maker may invite nobody', async () => {
    const [mail, link] = [await inviting(hamlet, 'new@example.com'), await linkOf(iago)]
    await rig.owner.patch('/realm', {
      can_invite_users_group: { new: groupId('role:administrators') },
      create_multiuse_invite_group: { new: groupId('role:owners') },
    })
    assert.deepEqual([await isOpen(mail), await isOpen(link)], [false, false])
    assert.equal((await join(link)).status, 404)
  })

  it('of a former administrator tells its acceptors nothing of administrators', async () => {
    await rig.owner.patch('/realm', { create_multiuse_invite_group: { new: groupId('role:members') } })
    const key = await linkOf(iago, { welcome_message_custom_text: 'Send your password to Iago' })
    await setRole(iago, ROLES.member)
    const { status, body } = await join(key)
    assert.equal(status, 200)
    const newcomer = rig.clientOf(rig.chat.realm.state.user.get(body.user_id)!)
    assert.deepEqual(
      (await notices(newcomer)).filter((content) => content.includes('Iago')),
      [],
    )
  })

  it('to a role above an administrator is not theirs to read, and nobody repeats one that they may not give', async () => {
    await linkOf(rig.owner, { invite_as: ROLES.owner })
    const [{ link_url }] = (await iago.get('/invites')).invites
    assert.equal(link_url, '')
    assert.match((await rig.owner.get('/invites')).invites[0].link_url, /join\/#/)

    await iago.post('/invites', { invitee_emails: 'new@example.com', stream_ids: [], invite_as: ROLES.administrator })
    const id = (await iago.get('/invites')).invites.find(({ email }: { email?: string }) => email)!.id
    await setRole(iago, ROLES.member)
    await iago.refused('BAD_REQUEST', 'POST', `/invites/${id}/resend`)
    await iago.delete(`/invites/${id}`)
  })
})

describe('an export', () => {
  const made = async (client: Client) => {
    await rig.chat.makeExports()
    return (await client.get('/export/realm')).exports.at(-1)
  }

  it('is not made for an administrator of before', async () => {
    await iago.post('/export/realm')
    await setRole(iago, ROLES.member)
    const one = await made(rig.owner)
    assert.deepEqual([one.export_url, one.failed_timestamp !== null], [null, true])
  })

  it('of everything is not made once owners may not read everything', async () => {
    changeOperatorSettings(rig.chat.realm, { ownerFullContentAccess: true })
    await rig.owner.post('/export/realm', { export_type: 'full_without_consent' })
    changeOperatorSettings(rig.chat.realm, { ownerFullContentAccess: false })
    assert.notEqual((await made(rig.owner)).failed_timestamp, null)
  })

  it('has an address that is no longer good when the administrator who got it is none', async () => {
    await iago.post('/export/realm')
    const { export_url } = await made(iago)
    const path = export_url.replace(/^https?:\/\/[^/]+/, '')
    assert.equal((await rig.anonymous('GET', path)).status, 200)
    await setRole(iago, ROLES.member)
    assert.equal((await rig.anonymous('GET', path)).status, 404)
  })
})

describe('the signed address of an upload', () => {
  const upload = async (owner: Client) =>
    (await owner.upload('POST', '/user_uploads', Buffer.from('secret'), {}, 'plan.txt')).body.url as string
  async function signed(client: Client, path: string): Promise<string> {
    const authorization = `Basic ${Buffer.from(`${client.user.email}:${client.key}`).toString('base64')}`
    const answer = await rig.chat.api.request(`http://chat.example/api/v1${path}`, { headers: { authorization } })
    return ((await answer.json()) as { url: string }).url
  }
  const fetched = async (path: string) => (await rig.anonymous('GET', path)).status

  it('ends with the account that has asked for it, and with the organization', async () => {
    const url = await signed(hamlet, await upload(hamlet))
    assert.equal(await fetched(url), 200)
    await rig.owner.delete(`/users/${hamlet.user.id}`)
    assert.equal(await fetched(url), 404)
    const own = await signed(rig.owner, await upload(rig.owner))
    assert.equal(await fetched(own), 200)
    await rig.owner.post('/realm/deactivate')
    assert.equal(await fetched(own), 404)
  })

  it('ends when that account may read the upload no longer', async () => {
    const ophelia = rig.account('ophelia')
    const channel = rig.channel('castle', [hamlet, ophelia], { isPrivate: true, historyPublicToSubscribers: true })
    const path = await upload(hamlet)
    await hamlet.post('/messages', { type: 'stream', to: channel.id, topic: 'x', content: `[plan](${path})` })
    const url = await signed(ophelia, path)
    assert.equal(await fetched(url), 200)
    await ophelia.delete('/users/me/subscriptions', { subscriptions: ['castle'] })
    assert.equal(await fetched(url), 404)
  })

  it('is bound to that account: another number in it is refused', async () => {
    const url = await signed(hamlet, await upload(hamlet))
    const other = url.replace(`-${hamlet.user.id}/`, `-${rig.owner.user.id}/`)
    assert.notEqual(other, url)
    assert.equal(await fetched(other), 404)
  })
})

describe('a scheduled message', () => {
  it('is sent by what its author may do at its time', async () => {
    const channel = rig.channel('castle', [hamlet])
    const at = Math.floor(rig.now() / 1000) + 60
    const scheduled = {
      type: 'channel',
      to: channel.id,
      topic: 'x',
      content: 'later',
      scheduled_delivery_timestamp: at,
    }
    await hamlet.post('/scheduled_messages', scheduled)
    await rig.owner.patch(`/streams/${channel.id}`, { can_send_message_group: { new: groupId('role:administrators') } })
    rig.advance(61)
    await rig.chat.deliverDue()
    const [kept] = (await hamlet.get('/scheduled_messages')).scheduled_messages
    assert.equal(kept.failed, true)
  })
})

describe('an event queue', () => {
  it('ends with the account, also for a key that comes back', async () => {
    const { queue_id } = (await hamlet.register()).snapshot
    await rig.owner.delete(`/users/${hamlet.user.id}`)
    await rig.owner.post(`/users/${hamlet.user.id}/reactivate`)
    await hamlet.refused('BAD_EVENT_QUEUE_ID', 'GET', '/events', { queue_id, last_event_id: -1, dont_block: true })
  })

  it('of an administrator of before tells nothing that is for administrators', async () => {
    const queue = await iago.register({ event_types: ['realm_bot', 'invites_changed', 'realm_export'] })
    await setRole(iago, ROLES.member)
    await queue.events()
    await rig.owner.post('/bots', { full_name: 'A Bot', short_name: 'a' })
    await rig.owner.post('/invites/multiuse')
    await rig.owner.post('/export/realm')
    assert.deepEqual(await queue.events(), [])
  })
})
