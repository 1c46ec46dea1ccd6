// @test long 30
/** A disk that administrators of namespaces fill, and one that another program fills: what is refused, and what goes on. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { floorBytes } from '../../../firmware/base/disk-space.ts'
import { expect } from '../../support/appliance.ts'
import { ADMIN, makeOperationalRig, makeRig, type Rig, UNLOCK } from '../../support/in-process.ts'
import { mountSmallDisk, type SmallDisk } from '../../support/small-disk.ts'

const DISK_BYTES = 24 * 1024 * 1024
const RESERVE = floorBytes('records', DISK_BYTES)
const OF_NAMESPACES = floorBytes('namespaces', DISK_BYTES)
const LOG_BYTES = 4.2 * 1024 * 1024 // of SQLite, until it is moved into the database
const KEYS_MAX = 5000 // the room that the test leaves holds far fewer
const BACKUP = 'words that open a backup'

async function onSmallDisk(t: TestContext): Promise<{ rig: Rig; disk: SmallDisk } | null> {
  const disk = mountSmallDisk(DISK_BYTES)
  if (disk === null) {
    t.skip('only root can mount a small disk')
    return null
  }
  const rig = await makeOperationalRig({}, { dataDirectory: join(disk.path, 'data') })
  t.after(async () => {
    await rig.close()
    disk.unmount()
  })
  return { rig, disk }
}

const key = (id: string) => ({ id, type: 'Curve25519', mechanisms: ['EdDSA_Signature'] })
const userJson = { realName: 'x', role: 'Operator', passphrase: 'a passphrase for it' }

/** By the administrator of a namespace, until that is refused. Returns what was answered 201. */
async function fillWithKeys(rig: Rig, disk: SmallDisk): Promise<string[]> {
  disk.fill(OF_NAMESPACES + LOG_BYTES + 512 * 1024)
  const made: string[] = []
  for (;;) {
    const id = `key${made.length}`
    const reply = await rig.call('POST', '/keys/generate', { as: 'team~chief', json: key(id) })
    if (reply.status === 507) return made
    assert.equal(reply.status, 201, reply.text())
    made.push(id)
    assert.ok(made.length < KEYS_MAX, 'nothing stops the administrator of a namespace')
  }
}

const sign = (rig: Rig, id: string, as = 'operator') =>
  rig.call('POST', `/keys/${id}/sign`, { as, json: { mode: 'EdDSA', message: 'AAAA' } })

test('a namespace that fills the disk with keys is refused, and everything that must go on goes on', async (t) => {
  const started = await onSmallDisk(t)
  if (started === null) return
  const { rig, disk } = started
  await rig.key('mine')
  await rig.user('team~chief', 'Administrator')
  await expect(204, rig.call('PUT', '/namespaces/team', { as: 'admin' }))
  await rig.user('team~worker', 'Operator', 'team~chief')
  await expect(204, rig.call('PUT', '/config/backup-passphrase', { as: 'admin', json: { passphrase: BACKUP } }))

  const made = await fillWithKeys(rig, disk)
  t.diagnostic(`${made.length} keys were made before the first refusal`)
  await rig.key('more than a namespace may'.replaceAll(' ', '-'))
  disk.fill(RESERVE - 4096)
  const adding: [string, string, object | undefined, string][] = [
    ['POST', '/keys/generate', key('more'), 'admin'],
    [
      'POST',
      '/keys',
      { ...key('more'), id: undefined, private: { data: Buffer.alloc(32, 1).toString('base64') } },
      'admin',
    ],
    [
      'PUT',
      '/keys/more',
      { ...key('more'), id: undefined, private: { data: Buffer.alloc(32, 1).toString('base64') } },
      'admin',
    ],
    ['PUT', '/keys/mine/label', { label: 'x' }, 'admin'],
    ['PUT', '/keys/mine/restrictions/tags/more', undefined, 'admin'],
    ['POST', '/users', userJson, 'team~chief'],
    ['PUT', '/users/team~more', userJson, 'team~chief'],
    ['PUT', '/users/operator/tags/more', undefined, 'admin'],
    ['PUT', '/namespaces/more', undefined, 'admin'],
  ]
  for (const [method, path, json, as] of adding) {
    const reply = await rig.call(method, path, { as, ...(json && { json }) })
    assert.equal(reply.status, 507, `${method} ${path}: ${reply.status} ${reply.text()}`)
    assert.match(reply.json<{ message: string }>().message, /^The disk is full/)
  }
  assert.equal(
    await rig.status('POST', '/keys/generate', { as: 'operator', json: key('more') }),
    403,
    'rights come first',
  )

  const ready = await expect(200, rig.call('GET', '/health/ready'))
  assert.equal(ready.headers['coffer-disk'], 'low')
  assert.match(
    (await rig.call('GET', '/health/diagnose', { as: 'admin' })).text(),
    /the disk is low: \d+ of 24 MiB are free/,
  )
  const figures = await rig.call('GET', '/metrics', { as: 'metrics', headers: { accept: 'text/plain' } })
  assert.match(figures.text(), new RegExp(`^coffer_disk_bytes ${DISK_BYTES}$`, 'm'))
  assert.match(figures.text(), new RegExp(`^coffer_disk_reserve_bytes ${RESERVE}$`, 'm'))

  for (let n = 0; n < 500; n++) await expect(200, sign(rig, 'mine'))
  await expect(200, sign(rig, made[0]!, 'team~worker'))
  await expect(204, rig.call('PUT', '/config/unattended-boot', { as: 'admin', json: { status: 'off' } }))
  await expect(200, rig.call('POST', '/system/backup', { as: 'backup' }))
  for (const path of ['/system/reboot', '/lock']) await expect(204, rig.call('POST', path, { as: 'admin' }))
  await expect(204, rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  for (const id of made) await expect(200, rig.call('GET', `/keys/${id}`, { as: 'team~chief' }))

  for (const id of made.slice(0, 100)) await expect(204, rig.call('DELETE', `/keys/${id}`, { as: 'team~chief' }))
  await expect(204, rig.call('DELETE', '/users/team~worker', { as: 'team~chief' }))
  const deadlineMs = performance.now() + 60_000
  // The space of the log comes back within a second or two.
  let again: number
  do {
    await wait(100)
    again = await rig.status('POST', '/keys/generate', { as: 'team~chief', json: key('again') })
  } while (again === 507 && performance.now() < deadlineMs)
  assert.equal(again, 201, 'deleted keys leave no room')
  await expect(204, rig.call('DELETE', '/namespaces/team', { as: 'admin' }))
  await rig.key('another')
})

test('where another program takes the reserve as well, lock, unlock, reboot and factory reset are answered as done', async (t) => {
  const started = await onSmallDisk(t)
  if (started === null) return
  const { rig, disk } = started
  await rig.key('mine')
  // The log of the database has some room of its own, which is used up first, and again when the log was cleared.
  const fill = async () => {
    for (let n = 0; n < 3000; n++) {
      disk.fill(0)
      await rig.status('PUT', '/config/vocabulary', { as: 'admin', json: { members: 'both' } })
      try {
        rig.appliance.audit!.flush()
      } catch {
        return
      }
    }
    assert.fail('the disk is not full')
  }
  /** How often a line still waited for the disk after the answer. */
  let waiting = 0
  const count = () => {
    try {
      rig.appliance.audit!.flush()
    } catch {
      waiting++
    }
  }

  await fill()
  const ready = await rig.call('GET', '/health/ready')
  assert.equal(ready.status, 507)
  assert.match(ready.json<{ message: string }>().message, /The disk is full/)
  await expect(200, sign(rig, 'mine'))
  for (const path of ['/system/reboot', '/system/shutdown', '/system/factory-reset', '/lock']) {
    await fill()
    await expect(204, rig.call('POST', path, { as: 'admin' }))
    count()
  }
  assert.equal(rig.appliance.state, 'Locked')
  await expect(204, rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  count()
  assert.ok(waiting > 0, 'no line had to wait')
  await expect(200, sign(rig, 'mine'))

  disk.clear()
  assert.equal((await expect(200, rig.call('GET', '/health/ready'))).headers['coffer-disk'], 'ok')
  const { lines } = (await expect(200, rig.call('GET', '/audit?limit=1000', { as: 'admin' }))).json<{
    lines: { action: string; result: number }[]
  }>()
  for (const action of ['POST /lock', 'POST /unlock', 'POST /system/reboot', 'POST /system/factory-reset'])
    assert.ok(
      lines.some((line) => line.action === action && line.result === 204),
      `${action} is not in the audit log`,
    )
})

test('an uploaded backup leaves the reserve', async (t) => {
  const disk = { totalBytes: 1e9, freeBytes: 0 }
  const rig = await makeRig(undefined, {}, { readDisk: () => disk })
  t.after(rig.close)
  await expect(
    204,
    rig.call('POST', '/provision', {
      json: { unlockPassphrase: UNLOCK, adminPassphrase: ADMIN, systemTime: '2030-01-02T03:04:05Z' },
    }),
  )
  const restore = () =>
    rig.call('POST', '/system/restore?backupPassphrase=words', {
      as: 'admin',
      body: Buffer.concat([Buffer.from('_NETHSM_BACKUP_\x01', 'latin1'), Buffer.alloc(10_000)]),
      type: 'application/octet-stream',
    })
  disk.freeBytes = floorBytes('records', disk.totalBytes) + 10_000
  const refused = await restore()
  assert.equal(refused.status, 413, refused.text())
  disk.freeBytes += 100_000
  assert.equal((await restore()).status, 400, 'it is no backup')
})
