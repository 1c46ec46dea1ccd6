/** A full disk under the running appliance: what fails says so, nothing is lost, and it goes on once there is room. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { archive, type Entry, head, member } from '../release/archives.ts'
import { expect } from '../support/appliance.ts'
import type { Call, Reply } from '../support/client.ts'
import { ADMIN, type Appliance, addUser, provision, startAppliance, UNLOCK } from '../support/suite.ts'

const DISK_BYTES = 12 * 1024 * 1024
const PAYLOAD_BYTES = 2 * 1024 * 1024 // fits on the empty disk, not on the full one
const BACKUP = 'words that open a backup'
const REFUSED_KEYS = 10
const KEYS_MAX = 500 // the room that is left holds far fewer
const LEFT_BYTES = 64 * 1024

const version: string = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')).version

function makeImage(): { image: Uint8Array; releaseKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const payload: Entry[] = [
    { name: 'firmware.js', bytes: new Uint8Array(randomBytes(PAYLOAD_BYTES)) },
    { name: `linux-${process.arch}.node`, bytes: new Uint8Array(1000) },
  ]
  const release = { product: 'Coffer', version, minimumVersion: version, releaseNotes: 'A test.' }
  const image = archive([...head({ ...release, members: payload.map(member) }, privateKey), ...payload])
  return { image, releaseKey: publicKey.export({ type: 'spki', format: 'pem' }) as string }
}

test('a full disk: clear errors, nothing lost, and all goes on when there is room again', async (t) => {
  const disk = mkdtempSync(join(tmpdir(), 'coffer-full-'))
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=700`, 'coffer-test', disk])
  let appliance: Appliance | undefined
  t.after(async () => {
    await appliance?.stop()
    if (mount.status === 0) assert.equal(spawnSync('umount', [disk]).status, 0)
    rmSync(disk, { recursive: true, force: true })
  })
  if (mount.status !== 0) return t.skip('only root can mount a small disk')

  const dataDirectory = join(disk, 'data')
  mkdirSync(dataDirectory)
  const { image, releaseKey } = makeImage()
  writeFileSync(join(dataDirectory, 'release.pub'), releaseKey)
  appliance = await startAppliance({ dataDirectory })
  await provision(appliance)
  const call = (method: string, path: string, more: Call = {}) => appliance!.call(method, path, { as: ADMIN, ...more })
  const operator = await addUser(appliance, 'operator', 'Operator')
  const keeper = await addUser(appliance, 'keeper', 'Backup')
  await expect(204, call('PUT', '/config/backup-passphrase', { json: { passphrase: BACKUP } }))
  const key = {
    type: 'Curve25519',
    mechanisms: ['EdDSA_Signature'],
    private: { data: randomBytes(32).toString('base64') },
  }
  const put = (id: string) => call('PUT', `/keys/${id}`, { json: key })
  const sign = (id: string) =>
    call('POST', `/keys/${id}/sign`, { as: operator, json: { mode: 'EdDSA', message: 'AAAA' } })
  const upload = () => call('POST', '/system/update', { body: image, type: 'application/octet-stream' })
  const backup = () => call('POST', '/system/backup', { as: keeper })
  const restore = (bytes: Uint8Array) =>
    call('POST', `/system/restore?backupPassphrase=${encodeURIComponent(BACKUP)}`, {
      body: bytes,
      type: 'application/octet-stream',
    })
  await expect(204, put('before'))
  const signature = (await expect(200, sign('before'))).json<{ signature: string }>().signature
  const large = await expect(200, backup())

  const ballast = join(disk, 'ballast')
  const fill = () => {
    const { bavail, bsize } = statfsSync(disk)
    writeFileSync(ballast, new Uint8Array(Number(bavail) * Number(bsize) - LEFT_BYTES))
  }
  const slots = () => {
    const path = join(dataDirectory, 'slots')
    return existsSync(path) ? readdirSync(path, { recursive: true }).map(String).sort() : []
  }
  const saysFull = (reply: Reply, ...statuses: number[]) => {
    assert(statuses.includes(reply.status), `${reply.request}: ${reply.status} ${reply.text()}`)
    assert.match(reply.json<{ message: string }>().message, /disk is full/i)
  }
  const slotsBefore = slots()
  fill()

  // New keys: each is refused, or answered and then there.
  const made = new Set<string>()
  let refused = 0
  let tried = 0
  const putUntilRefused = async (times: number) => {
    for (refused = 0; refused < times; tried++) {
      assert(tried < KEYS_MAX, 'the disk is not full')
      const reply = await put(`key${tried}`)
      if (reply.status === 204) made.add(`key${tried}`)
      else {
        saysFull(reply, 507)
        refused++
      }
    }
  }
  await putUntilRefused(REFUSED_KEYS)
  t.diagnostic(`${made.size} keys made before ${refused} were refused`)

  // What is there can be read and used.
  assert.equal(await appliance.state(), 'Operational')
  const ids = (await expect(200, call('GET', '/keys'))).json<{ id: string }[]>().map(({ id }) => id)
  for (const id of [...made, 'before']) assert(ids.includes(id), id)
  assert.equal((await expect(200, sign('before'))).json<{ signature: string }>().signature, signature)

  // An upload leaves nothing, pending or on disk.
  saysFull(await upload(), 400, 500)
  assert.deepEqual(slots(), slotsBefore)
  assert.equal((await call('POST', '/system/cancel-update')).status, 412)

  // A backup is whole, or says no; a restore as well.
  const whileFull = await backup()
  if (whileFull.status !== 200) saysFull(whileFull, 500)
  const backedUp = [...made]
  await putUntilRefused(1) // the log of the store may have been cleared meanwhile
  const restored = await restore(large.bytes)
  if (restored.status === 204) made.clear()
  else saysFull(restored, 413, 500)
  assert.equal(await appliance.state(), 'Operational')

  // Changes that clear the log of the store.
  for (const status of ['on', 'off']) {
    const reply = await call('PUT', '/config/unattended-boot', { json: { status } })
    if (reply.status !== 204) saysFull(reply, 500)
  }
  const change = await call('PUT', '/config/unlock-passphrase', {
    json: { currentPassphrase: UNLOCK, newPassphrase: UNLOCK },
  })
  if (change.status !== 204) saysFull(change, 500)

  // Stopped and started again on the full disk.
  await appliance.restart()
  if ((await appliance.state()) === 'Locked') {
    await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } })) // its line waits for room
  }
  assert.equal(await appliance.state(), 'Operational')
  const still = (await expect(200, call('GET', '/keys'))).json<{ id: string }[]>().map(({ id }) => id)
  for (const id of [...made, 'before']) assert(still.includes(id), `${id} is lost`)

  rmSync(ballast)
  await expect(204, put('after'))
  assert.equal((await expect(200, sign('before'))).json<{ signature: string }>().signature, signature)
  for (const id of made) await expect(200, sign(id))
  await expect(200, upload())
  await expect(204, call('POST', '/system/cancel-update'))
  await expect(204, call('PUT', '/config/unattended-boot', { json: { status: 'off' } }))
  await appliance.restart()
  await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  for (const id of ['before', 'after', ...made]) await expect(200, call('GET', `/keys/${id}`))

  // What was handed out on the full disk can be restored, whole.
  if (whileFull.status === 200) {
    await expect(204, restore(whileFull.bytes))
    // The unlock passphrase was set again since that backup, which locks: contract section 2.
    if ((await appliance.state()) === 'Locked')
      await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
    for (const id of ['before', ...backedUp]) await expect(200, sign(id))
    await expect(404, call('GET', '/keys/after'))
  }
})
