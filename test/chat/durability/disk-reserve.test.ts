/** A disk that users of the chat fill: each writer is refused in its turn, and what frees room goes on. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type DiskWriter, floorBytes } from '../../../firmware/base/disk-space.ts'
import { DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'
import { addsContent } from '../../../firmware/chat/pipeline/pipeline.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { endpointName } from '../../../firmware/http/endpoint/endpoint.ts'
import { mountSmallDisk, type SmallDisk } from '../../support/small-disk.ts'
import { type Answer, type Client, OWNER_PASSWORD, openTestChat, type TestChat } from '../support/chat.ts'
import { expectConsistent } from './consistency.ts'

const MIB = 1024 * 1024
const DISK_BYTES = 64 * MIB
/** SQLite's log of each of the two databases grows to this until it is moved into the database. */
const LOG_BYTES = 4.5 * MIB
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAACCAYAAACZgbYnAAAAEElEQVR4nGP4z8DwHwSRGQA9XgX7kbn6sAAAAABJRU5ErkJggg==',
  'base64',
)
const FILE = new Uint8Array(2 * MIB)
const LONG = 'x'.repeat(9000)
const DEADLINE_MS = 60_000

const floor = (writer: DiskWriter) => floorBytes(writer, DISK_BYTES)

async function onSmallDisk(t: TestContext): Promise<{ rig: TestChat; disk: SmallDisk; guest: Client } | null> {
  const disk = mountSmallDisk(DISK_BYTES)
  if (disk === null) {
    t.skip('only root can mount a small disk')
    return null
  }
  const rig = await openTestChat({ directory: join(disk.path, 'chat') })
  t.after(() => {
    rig.close()
    disk.unmount()
  })
  return { rig, disk, guest: rig.account('guest', ROLES.guest) }
}

function isFull({ status, body }: Answer): boolean {
  if (status === 200) return false
  assert.deepEqual([status, body.result, body.code], [400, 'error', 'BAD_REQUEST'], JSON.stringify(body))
  assert.match(body.msg, /^The disk is full: nothing can be added until something is deleted$/)
  return true
}

async function until(refused: (answer: Answer) => boolean, max: number, call: (n: number) => Promise<Answer>) {
  const answers: Answer[] = []
  for (;;) {
    const answer = await call(answers.length)
    if (refused(answer)) return answers
    answers.push(answer)
    assert.ok(answers.length < max, 'nothing stops it')
  }
}

/** The log of SQLite is cleared after a second, and deleted pages are given back step by step. */
async function eventually(call: () => Promise<Answer>): Promise<Answer> {
  const deadlineMs = performance.now() + DEADLINE_MS
  for (;;) {
    const answer = await call()
    if (!isFull(answer)) return answer
    assert.ok(performance.now() < deadlineMs, 'no room comes back')
    await wait(100)
  }
}

test('uploads have a quota of a quarter of the disk, unless another one is set', async (t) => {
  const started = await onSmallDisk(t)
  if (started === null) return
  const { rig, guest } = started
  const quotaMib = DISK_BYTES / MIB / 4
  assert.equal((await guest.register()).snapshot.realm_upload_quota_mib, quotaMib)
  const isOver = ({ status, body }: Answer) => status === 400 && body.code === 'REALM_UPLOAD_QUOTA'
  const stored = await until(isOver, 100, () => rig.owner.upload('POST', '/user_uploads', FILE))
  assert.equal(stored.length, quotaMib / 2)
  const { attachments } = await rig.owner.get('/attachments')
  await rig.owner.delete(`/attachments/${attachments[0].id}`)
  assert.equal((await rig.owner.upload('POST', '/user_uploads', FILE)).status, 200)
  await expectConsistent(rig.chat.realm)
})

test('a guest who fills the disk with files is refused; messages go on, and deletion gives room to files', async (t) => {
  const started = await onSmallDisk(t)
  if (started === null) return
  const { rig, disk, guest } = started
  changeOperatorSettings(rig.chat.realm, { uploadQuotaMib: 1000 })
  disk.fill(floor('files') + 2 * LOG_BYTES + 4 * MIB)
  const stored = await until(isFull, 100, () => guest.upload('POST', '/user_uploads', FILE))
  assert.ok(stored.length >= 2, `${stored.length}`)
  const { attachments } = await guest.get('/attachments')
  assert.equal(attachments.length, stored.length, 'each file that was answered is there, and no other')

  // Other files are refused, too, once SQLite's log is cleared, which gives room back.
  await until(isFull, 10, () => {
    disk.fill(floor('files') - MIB)
    return rig.owner.upload('POST', '/users/me/avatar', PNG)
  })
  const { id } = await rig.owner.post('/messages', { type: 'direct', to: [guest.user.id], content: 'still here' })
  await rig.owner.get(`/messages/${id}`)

  // An export is a file as well. A checkpoint may have given bytes back meanwhile.
  disk.fill(floor('files') - MIB)
  const { id: exported } = await rig.owner.post('/export/realm', { export_type: 'public' })
  await rig.chat.makeExports()
  const [view] = (await rig.owner.get('/export/realm')).exports
  assert.deepEqual([view.id, view.failed_timestamp !== null, view.export_url], [exported, true, null])
  assert.deepEqual(
    rig.logged.filter((line) => /export/.test(line)),
    ['error chat: cannot write an export: The disk is full: nothing can be added until something is deleted'],
  )

  for (const { id } of attachments.slice(1)) await guest.delete(`/attachments/${id}`)
  await eventually(() => guest.upload('POST', '/user_uploads', FILE))
  await expectConsistent(rig.chat.realm)
  assert.deepEqual(
    rig.logged.filter((line) => /\bat .*:\d+/.test(line)),
    [],
    'no stack is printed',
  )
})

test('messages, drafts and scheduled texts fill the disk up to a floor; nothing is lost, and deletion goes on', async (t) => {
  const started = await onSmallDisk(t)
  if (started === null) return
  const { rig, disk, guest } = started
  const { owner } = rig
  const channel = rig.channel('Denmark', [owner, guest])
  const first = await owner.post('/messages', { type: 'channel', to: channel.id, topic: 'topic', content: 'first' })
  await guest.upload('POST', '/user_uploads', new Uint8Array(1000))
  const due = Math.floor(rig.now() / 1000) + 600
  const scheduled = { type: 'direct', to: [owner.user.id], content: 'later', scheduled_delivery_timestamp: due }
  await owner.post('/scheduled_messages', scheduled)

  disk.fill(floor('messages') + LOG_BYTES + MIB)
  const message = { type: 'channel', to: channel.id, topic: 'topic', content: LONG }
  const sent = await until(isFull, 5000, () => guest.call('POST', '/messages', message))
  assert.ok(sent.length > 10)

  const ways: [string, string, Record<string, unknown>][] = [
    ['PATCH', `/messages/${first.id}`, { content: LONG }],
    ['POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: LONG, timestamp: 1 }] }],
    ['POST', '/scheduled_messages', { ...scheduled, content: LONG }],
    ['POST', '/reminders', { message_id: first.id, scheduled_delivery_timestamp: due }],
    ['POST', `/messages/${first.id}/reactions`, { emoji_name: 'tada' }],
    ['POST', '/saved_snippets', { title: 'x', content: LONG }],
    ['POST', '/channels/create', { name: 'more', subscribers: [owner.user.id] }],
    ['PUT', '/bot_storage', { storage: { x: LONG } }],
  ]
  for (const [method, path, values] of ways)
    assert.ok(isFull(await owner.call(method, path, values)), `${method} ${path} is let through`)

  rig.advance(700)
  await rig.chat.deliverDue()
  assert.equal((await owner.get('/scheduled_messages')).scheduled_messages.length, 1, 'it stays due')

  // What frees room, or settles something, goes on.
  const signedIn = await rig.anonymous('POST', '/fetch_api_key', {
    username: owner.user.deliveryEmail,
    password: OWNER_PASSWORD,
  })
  assert.equal(signedIn.status, 200)
  await owner.patch('/realm', { message_retention_days: 30 })
  for (const { body } of sent.slice(0, 20)) await owner.delete(`/messages/${body.id}`)
  const [{ id: attachment }] = (await guest.get('/attachments')).attachments
  await guest.delete(`/attachments/${attachment}`)
  await owner.delete(`/users/${guest.user.id}`)
  for (const { body } of sent.slice(20, 40)) await owner.get(`/messages/${body.id}`)

  disk.clear()
  await rig.chat.deliverDue()
  assert.deepEqual((await owner.get('/scheduled_messages')).scheduled_messages, [], 'it is sent once there is room')
  for (const [method, path, values] of ways.slice(1, 2)) await eventually(() => owner.call(method, path, values))
  await expectConsistent(rig.chat.realm)
  assert.deepEqual(
    rig.logged.filter((line) => /\bat .*:\d+/.test(line)),
    [],
    'no stack is printed',
  )
})

test('all exports together take no more than a quarter of the disk', async (t) => {
  const disk = { totalBytes: 4 * MIB, freeBytes: 1e9 }
  const rig = await openTestChat({ readDisk: () => disk })
  t.after(rig.close)
  const exportsNow = async () => {
    await rig.owner.post('/export/realm', { export_type: 'public' })
    await rig.chat.makeExports()
    const { exports } = await rig.owner.get('/export/realm')
    return exports.map(({ failed_timestamp }: { failed_timestamp: number | null }) => failed_timestamp === null)
  }
  assert.deepEqual(await exportsNow(), [true])
  const [made] = [...rig.chat.realm.state.realmExport.all()]
  disk.totalBytes = 6 * made!.archive!.sizeBytes // a quarter has room for one and a half
  assert.deepEqual(await exportsNow(), [true, false])
  assert.match(rig.logged.at(-1)!, /cannot write an export: exports would take more than a quarter of the disk/)
  const { exports } = await rig.owner.get('/export/realm')
  await rig.owner.delete(`/export/realm/${exports[0].id}`)
  assert.deepEqual(await exportsNow(), [true, false, true])
})

/** Endpoints that are no GET or DELETE and may use the reserve. */
const USE_RESERVE = [
  // Signing in, keys, queues.
  'POST /fetch_api_key',
  'POST /jwt/fetch_api_key',
  'POST /users/me/api_key/regenerate',
  'POST /bots/:bot_id/api_key/regenerate',
  'POST /session',
  'POST /password/:key',
  'POST /register',
  // Settings, roles.
  'PATCH /realm',
  'PATCH /realm/user_settings_defaults',
  'PATCH /settings',
  'PATCH /settings/notifications',
  'PATCH /settings/display',
  'PATCH /users/:user_id',
  // Deletion and deactivation that are a POST.
  'POST /streams/:stream_id/delete_topic',
  'POST /user_groups/:user_group_id/deactivate',
  'POST /realm/deactivate',
  'POST /remove_client_device',
  // What stores nothing, or one small record of an account.
  'POST /messages/render',
  'POST /messages/:message_id/typing',
  'POST /message_edit_typing',
  'POST /typing',
  'POST /users/me/presence',
]

test('whatever may use the reserve is known by name; everything else that changes something is refused', async (t) => {
  const disk = { totalBytes: DISK_BYTES, freeBytes: DISK_BYTES }
  const rig = await openTestChat({ readDisk: () => disk })
  t.after(rig.close)
  const changing = DECLARATIONS.filter(({ method }) => method !== 'GET' && method !== 'DELETE')
  const free = changing.filter((declaration) => !addsContent(declaration))
  assert.deepEqual(free.map(endpointName).sort(), USE_RESERVE.toSorted())
  const bot = await rig.owner.post('/bots', { full_name: 'Alerts', short_name: 'alerts', bot_type: 2 })
  disk.freeBytes = 0
  for (const { method, path, who } of changing.filter(addsContent)) {
    const query = who === 'webhook' ? `?api_key=${bot.api_key}` : ''
    const answer = await rig.owner.call(method, path.replace(/:\w+/g, '1') + query)
    if (answer.status !== 403 && answer.status !== 404) assert.ok(isFull(answer), `${method} ${path}`)
  }
})
