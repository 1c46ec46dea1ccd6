/** Members and values of single levels after 460: 464, 465, 472, 476, 485, 487, 493, 497 and 499. Contract sections 2 to 4. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatForEachTest } from '../support/suite.ts'

const { rig, hamlet } = chatForEachTest({ hamlet: 'member' })

test('464: another description is told with its HTML', async () => {
  const { events } = await hamlet.register({ event_types: ['realm'] })
  await rig.owner.patch('/realm', { description: 'We are *many*', name: 'Elsinore' })
  assert.deepEqual(await events(), [
    { type: 'realm', op: 'update', property: 'name', value: 'Elsinore', id: 0 },
    {
      ...{ type: 'realm', op: 'update_dict', property: 'default', id: 1 },
      data: { description: 'We are *many*', rendered_description: '<p>We are <em>many</em></p>' },
    },
  ])
})

test('465, 493: providers of calls are set, and their calls are not configured', async () => {
  for (const [provider, name] of [
    [7, 'nextcloud_talk'],
    [8, 'webex'],
  ] as const) {
    await rig.owner.patch('/realm', { video_chat_provider: provider })
    const { body } = await hamlet.refused('BAD_REQUEST', 'POST', `/calls/${name}/create`)
    assert.match(body.msg, /not been configured/)
  }
  const { snapshot } = await hamlet.register({ fetch_event_types: ['realm', 'video_calls'] })
  assert.deepEqual([snapshot.realm_video_chat_provider, snapshot.has_webex_token], [8, false])
  assert.equal((await rig.owner.call('PATCH', '/realm', { video_chat_provider: 9 })).status, 400)
})

test('472: an attachment has the ids of its messages, in answers, events and edits', async () => {
  const channel = rig.channel('files', [hamlet])
  const { events } = await hamlet.register({ event_types: ['attachment'] })
  const { body } = await hamlet.upload('POST', '/user_uploads', Buffer.from('bytes'), {}, 'a.txt')
  const say = async () => {
    const sent = { type: 'channel', to: channel.id, topic: 't', content: `[a](${body.url})` }
    return (await hamlet.post('/messages', sent)).id
  }
  const ids = [await say(), await say()]
  const [attachment] = (await hamlet.get('/attachments')).attachments
  assert.deepEqual(attachment.message_ids, ids)
  assert.deepEqual(
    attachment.messages.map(({ id }: { id: number }) => id),
    ids,
  )
  assert.deepEqual(
    (await events()).map(({ attachment }) => attachment.message_ids),
    [[], [ids[0]], ids],
  )
  for (const id of ids) {
    const { detached_uploads } = await hamlet.patch(`/messages/${id}`, { content: 'none' })
    assert.deepEqual(
      detached_uploads.map((one: { message_ids: number[] }) => one.message_ids),
      id === ids[1] ? [[]] : [],
    )
  }
})

test('476: a field of long text may be in the summary, one of people may not', async () => {
  const add = (field_type: number) =>
    rig.owner.call('POST', '/realm/profile_fields', {
      ...{ name: `field ${field_type}`, field_type, display_in_profile_summary: true },
    })
  assert.equal((await add(2)).status, 200)
  assert.equal((await add(6)).body.code, 'BAD_REQUEST')
  const { custom_fields } = await hamlet.get('/realm/profile_fields')
  assert.deepEqual(
    custom_fields.map((field: Record<string, unknown>) => [field.type, field.display_in_profile_summary]),
    [[2, true]],
  )
})

test('485: what an incoming webhook can be told has its type under both names', async () => {
  const { snapshot } = await hamlet.register({ fetch_event_types: ['realm_incoming_webhook_bots'] })
  const options = snapshot.realm_incoming_webhook_bots.flatMap(({ url_options = [] }) => url_options)
  assert.ok(options.length > 0)
  for (const { validator, input_type } of options) assert.equal(input_type, validator)
})

test('487, 497: the presence of one account has its times and that of the server', async () => {
  await hamlet.post('/users/me/presence', { status: 'active' })
  const active = Math.floor(rig.now() / 1000)
  rig.advance(120)
  await hamlet.post('/users/me/presence', { status: 'idle' })
  rig.advance(30)
  const { presence, server_timestamp } = await rig.owner.get(`/users/${hamlet.user.id}/presence`)
  assert.deepEqual(
    [presence.active_timestamp, presence.idle_timestamp, server_timestamp],
    [active, active + 120, active + 150],
  )
  assert.deepEqual(Object.keys(presence.website), ['status', 'timestamp'])
})

test('499: an export says that it is of this server', async () => {
  await rig.owner.post('/export/realm')
  const { exports } = await rig.owner.get('/export/realm')
  assert.equal(exports[0].export_from_prior_server, false)
})
