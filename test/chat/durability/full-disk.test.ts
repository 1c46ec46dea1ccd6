// @test long 30
/** A disk without room for a write that was let through: it is refused whole, in memory too, and all goes on when there is room again. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openTestChat } from '../support/chat.ts'
import { expectConsistent } from './consistency.ts'

const DISK_BYTES = 4 * 1024 * 1024
const UPLOAD_BYTES = 200_000

test('a full disk answers 500, loses nothing, and all goes on when there is room', async (t) => {
  const disk = mkdtempSync(join(tmpdir(), 'coffer-disk-'))
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'coffer-test', disk])
  const isTaken = () => ({ totalBytes: 2 ** 40, freeBytes: 2 ** 40 }) // by others, between the check and the write
  const rig = await openTestChat({ directory: join(disk, 'chat'), readDisk: isTaken })
  t.after(() => {
    rig.close()
    if (mount.status === 0) assert.equal(spawnSync('umount', [disk]).status, 0)
    rmSync(disk, { recursive: true, force: true })
  })
  if (mount.status !== 0) return t.skip('only root can mount a small disk')

  const channel = rig.channel('Denmark', [rig.owner])
  const message = { type: 'channel', to: channel.id, topic: 'topic', content: 'before' }
  const { id } = await rig.owner.post('/messages', message)
  const queue = await rig.owner.register()
  const ballast = join(disk, 'ballast')
  const { bavail, bsize } = statfsSync(disk)
  writeFileSync(ballast, new Uint8Array(Number(bavail) * Number(bsize)))

  const { conversation } = rig.chat.realm.state
  const before = conversation.size
  let refused = await rig.owner.call('POST', '/messages', { ...message, content: 'x'.repeat(9000) })
  for (let attempt = 0; attempt < 50 && refused.status === 200; attempt++)
    refused = await rig.owner.call('POST', '/messages', { ...message, content: 'x'.repeat(9000) })
  assert.equal(refused.status, 500)
  assert.equal(refused.body.result, 'error')
  assert.ok(!JSON.stringify(refused.body).includes('disk'), 'a client learns nothing of the disk')
  assert.ok(rig.logged.some((line) => /The disk is full/.test(line)))
  assert.equal(
    (await rig.owner.call('POST', '/messages', { type: 'direct', to: [rig.owner.user.id], content: 'x' })).status,
    500,
  )
  assert.equal(conversation.size, before, 'memory is as the disk')
  assert.equal((await rig.owner.get(`/messages/${id}`)).message.content, '<p>before</p>')
  const marking = { messages: [id], op: 'add', flag: 'starred' }
  const ways = [
    () => rig.owner.upload('POST', '/user_uploads', new Uint8Array(UPLOAD_BYTES)),
    () => rig.owner.call('PATCH', `/messages/${id}`, { content: 'x'.repeat(9000) }),
    () => rig.owner.call('POST', '/messages/flags', marking),
  ]
  for (const way of ways) assert.equal((await way()).status, 500)
  assert.deepEqual((await rig.owner.get('/attachments')).attachments, [])
  assert.deepEqual((await rig.owner.get(`/messages/${id}`)).message.flags, [])
  const told = (await queue.events()).filter(({ type }) => type === 'message').length

  rmSync(ballast)
  const next = await rig.owner.post('/messages', { ...message, content: 'after' })
  assert.ok(next.id > id)
  const [event, ...others] = (await queue.events()).filter(({ type }) => type === 'message')
  assert.deepEqual(others, [])
  assert.equal(event.message.id, next.id)
  assert.ok(told < 50)
  for (const way of ways) assert.equal((await way()).status, 200)
  assert.equal((await rig.owner.get('/attachments')).attachments.length, 1)
  await expectConsistent(rig.chat.realm)
})
