/** Custom emoji of the organization: contract rows E114 to E116, V28. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, iago: admin, hamlet } = chatForEachTest({ iago: 'administrator', hamlet: 'member' })

const PICTURE = png(20, [[200, 0, 0]], () => new Uint8Array(20))
const add = (client: Client, name: string, bytes: Uint8Array = PICTURE) =>
  client.upload('POST', `/realm/emoji/${name}`, bytes)

async function fetched(url: string) {
  const response = await rig.chat.api.request(`http://chat.example${url}`, { headers: { host: 'chat.example' } })
  return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
}

test('/realm/emoji: one is made, told, fetched without credentials, used in messages and reactions, and kept', async () => {
  const queue = await rig.owner.register({ event_types: ['realm_emoji'] })
  assert.equal((await add(hamlet, 'skull')).status, 400, 'a built-in name is for administrators')
  assert.deepEqual((await add(hamlet, 'yorick')).body, { result: 'success', msg: '' })
  const { emoji } = await rig.owner.get('/realm/emoji')
  const [one] = Object.values(emoji) as [Record<string, unknown>]
  const { source_url, ...rest } = one
  assert.deepEqual(rest, { id: '1', name: 'yorick', still_url: null, deactivated: false, author_id: hamlet.user.id })
  assert.deepEqual((await queue.events())[0].realm_emoji, emoji)
  const { status, headers, bytes } = await fetched(String(source_url))
  assert.equal(status, 200)
  assert.deepEqual(bytes, new Uint8Array(PICTURE))
  assert.equal(headers.get('content-type'), 'image/png')
  assert.match(headers.get('content-security-policy')!, /sandbox/)
  assert.equal((await fetched(String(source_url).replace(/[0-9a-f]{4}\.png/, '0000.png'))).status, 404)

  const channel = rig.channel('play', [hamlet])
  const { id } = await hamlet.post('/messages', {
    type: 'stream',
    to: channel.id,
    topic: 'x',
    content: 'alas :yorick:',
  })
  assert.match((await hamlet.get(`/messages/${id}`)).message.content, new RegExp(`src="${source_url}"`))
  await hamlet.post(`/messages/${id}/reactions`, { emoji_name: 'yorick' })
  rig.reopen()
  assert.deepEqual((await hamlet.register()).snapshot.realm_emoji, emoji)
  assert.equal((await fetched(String(source_url))).status, 200)
})

test('POST /realm/emoji/:emoji_name: one that moves has a still as well, its first frame; the type is that of the file', async () => {
  const frame = '2c000000000100010000 02024401 00'
  const gif = (frames: string) => Buffer.from(`474946383961 01000100000000 ${frames} 3b`.replaceAll(' ', ''), 'hex')
  await add(hamlet, 'spins', gif(frame + frame))
  const [{ source_url, still_url }] = Object.values((await hamlet.get('/realm/emoji')).emoji) as [
    Record<string, string>,
  ]
  assert.deepEqual((await fetched(source_url!)).bytes, new Uint8Array(gif(frame + frame)))
  const still = await fetched(still_url!)
  assert.deepEqual([still.status, still.headers.get('content-type')], [200, 'image/gif'])
  assert.deepEqual(still.bytes, new Uint8Array(gif(frame)))
  assert.equal((await fetched(still_url!.replace('still/', ''))).status, 200, 'the moving one')
})

test('DELETE /realm/emoji/:emoji_name: its author and administrators put it out of use; messages go on showing it', async () => {
  await add(hamlet, 'yorick')
  const { source_url } = Object.values((await admin.get('/realm/emoji')).emoji)[0] as { source_url: string }
  const other = rig.account('horatio')
  assert.equal((await other.call('DELETE', '/realm/emoji/yorick')).status, 403)
  assert.equal((await other.call('DELETE', '/realm/emoji/nobody')).status, 404)
  const queue = await other.register({ event_types: ['realm_emoji'] })
  await hamlet.delete('/realm/emoji/yorick')
  assert.equal((await hamlet.call('DELETE', '/realm/emoji/yorick')).status, 404)
  assert.equal((await queue.events())[0].realm_emoji['1'].deactivated, true)
  assert.equal((await fetched(source_url)).status, 200)
  assert.equal((await add(hamlet, 'yorick')).status, 200, 'the name is free again')
  await admin.delete('/realm/emoji/yorick')
})

test('POST /realm/emoji/:emoji_name: names, rights and files that are none are refused', async () => {
  assert.equal((await add(admin, 'skull')).status, 200, 'administrators override a built-in name')
  for (const name of ['Upper', 'a%20b!', 'ümlaut', 'x'.repeat(101)])
    assert.equal((await add(admin, name)).body.code, 'BAD_REQUEST', name)
  assert.equal((await add(admin, 'skull')).body.code, 'BAD_REQUEST')
  assert.equal((await add(hamlet, 'text', Buffer.from('<svg onload="alert(1)">'))).body.code, 'BAD_IMAGE')
  assert.equal((await add(hamlet, 'large', Buffer.alloc(5 * 1024 * 1024 + 1))).status, 413)
  await hamlet.refused('BAD_REQUEST', 'POST', '/realm/emoji/none')
  assert.equal((await add(rig.account('guest', ROLES.guest), 'guest')).status, 403)
  const admins = rig.chat.realm.state.groupByName.get('role:administrators')!.id
  await rig.owner.patch('/realm', { can_add_custom_emoji_group: { new: admins } })
  assert.equal((await add(hamlet, 'late')).status, 403)
  assert.equal(Object.keys((await hamlet.get('/realm/emoji')).emoji).length, 1)
})
