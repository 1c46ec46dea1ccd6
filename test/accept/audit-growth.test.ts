// @test long 30
/** Users of the chat leave the room that a larger audit log was promised, in the whole Coffer with all its processes. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { LINES_DEFAULT } from '../../firmware/audit/audit-log.ts'
import { floorBytes, readDiskUsage } from '../../firmware/base/disk-space.ts'
import { ask, type ChatAnswer, keyOf, makeOrganization, reach } from '../chat/support/process.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, startCoffer } from '../support/process.ts'
import { mountSmallDisk } from '../support/small-disk.ts'

const MIB = 1024 * 1024
const DISK_BYTES = 64 * MIB
const FILE = { name: 'file.txt', content: 'x'.repeat(MIB) }
const EXTRA_LINES = 30_000
const GROWTH_BYTES = EXTRA_LINES * 512
const SLACK_BYTES = 5 * MIB // of the databases' logs, beside the last file
const DEADLINE_MS = 60_000

test('files of the chat stop before the room of the audit log, also after a lock, and go on when it is given back', async (t) => {
  const disk = mountSmallDisk(DISK_BYTES)
  if (disk === null) return t.skip('only root can mount a small disk')
  let coffer: Coffer | undefined
  t.after(async () => {
    if (coffer?.running()) await coffer.kill(true)
    disk.unmount()
  })
  const program = await buildForTests()
  coffer = startCoffer(t, { program, data: join(disk.path, 'data'), settings: { COFFER_CHAT_PORT: '0' } })
  await provision(coffer)
  const { call } = coffer
  const configure = (json: object) => call('PUT', '/config/audit', { as: ADMIN, json })
  await expect(507, configure({ uses: 1_000_000 }))
  await makeOrganization(coffer)
  const { port } = await reach(coffer, 'running')
  await expect(204, call('PUT', '/chat/settings', { as: ADMIN, json: { uploadQuotaMib: 1_000_000 } }))
  await expect(204, configure({ uses: LINES_DEFAULT + EXTRA_LINES }))
  const owner = await keyOf(port!)
  const upload = () => ask(port!, 'POST', '/user_uploads', { as: owner, file: FILE })
  const isRefused = ({ status, body }: ChatAnswer) => status === 400 && /^The disk is full/.test(body.msg)
  const free = () => readDiskUsage(disk.path).freeBytes
  const floor = floorBytes('files', DISK_BYTES)

  const fill = async () => {
    let answer: ChatAnswer
    do answer = await upload()
    while (answer.status === 200)
    assert.ok(isRefused(answer), JSON.stringify(answer.body))
    assert.ok(free() > floor + GROWTH_BYTES - SLACK_BYTES, `${free()} bytes are free`)
    assert.ok(free() < floor + GROWTH_BYTES + SLACK_BYTES, `${free()} bytes are free`)
  }
  await fill()

  await expect(204, call('POST', '/lock', { as: ADMIN }))
  await expect(204, call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await reach(coffer, 'running')
  await fill() // another process of the chat knows it from its start

  await expect(204, configure({ uses: LINES_DEFAULT }))
  const deadlineMs = performance.now() + DEADLINE_MS
  let answer: ChatAnswer
  do {
    await wait(200)
    answer = await upload()
  } while (isRefused(answer) && performance.now() < deadlineMs)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.equal(await coffer.stop(), 0)
})
