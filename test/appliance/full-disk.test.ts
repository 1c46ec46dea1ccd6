import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { createRig, hasCode, PROVISIONING, type Rig, UNLOCK } from './rig.ts'

const DISK_BYTES = 1024 * 1024

/** A rig on a small file system of its own, or null where this user cannot mount one. */
function createSmallDisk(t: TestContext): Rig | null {
  const mountPoint = mkdtempSync(join(tmpdir(), 'coffer-disk-'))
  const rig = createRig(t, join(mountPoint, 'data')) // closed before the file system goes
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=700`, 'coffer-test', mountPoint])
  t.after(() => {
    if (mount.status === 0) assert.equal(spawnSync('umount', [mountPoint]).status, 0)
    rmSync(mountPoint, { recursive: true, force: true })
  })
  return mount.status === 0 ? rig : null
}

function fillDisk(rig: Rig): string {
  const disk = join(rig.directory, '..')
  const path = join(disk, 'ballast')
  const { bavail, bsize } = statfsSync(disk)
  writeFileSync(path, new Uint8Array(Number(bavail) * Number(bsize)))
  return path
}

test('a full disk refuses changes, keeps everything else, and is forgotten once there is room', async (t) => {
  const rig = createSmallDisk(t)
  if (rig === null) return t.skip('only root can mount a small disk; a limited store is among the tests of the store')
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  const notes = appliance.open()
  await notes.write('before', 'content')

  const ballast = fillDisk(rig)
  const full = hasCode('storage', /^The disk is full$/)
  let refused = 0
  for (let n = 0; n < 50; n++) {
    // The log may have some room left of its own.
    try {
      await notes.write(`note ${n}`, 'x'.repeat(3000))
    } catch (error) {
      assert.ok(full(error), String(error))
      refused++
      assert.equal(notes.read(`note ${n}`), null)
    }
  }
  assert.ok(refused > 30)
  await assert.rejects(notes.write('large', 'x'.repeat(200_000)), full)
  assert.equal(appliance.state, 'Operational')
  assert.equal(notes.read('before'), 'content')
  assert.throws(() => {
    for (let n = 0; n < 50; n++) appliance.setTime(n)
  }, full)
  await assert.rejects(async () => {
    for (let n = 0; n < 50; n++) await appliance.changeUnlockPassphrase(UNLOCK, UNLOCK)
  }, full)

  rmSync(ballast)
  await notes.write('after', 'content')
  const written = new Set(notes.names)
  appliance.close()
  const second = await rig.open()
  await second.unlock(UNLOCK)
  assert.deepEqual(second.open().names, written)
  for (const name of written) assert.notEqual(second.open().read(name), null)
})

test('on a full disk a start is a start: what is stored can be used', async (t) => {
  const rig = createSmallDisk(t)
  if (rig === null) return t.skip('only root can mount a small disk')
  const first = await rig.open()
  await first.provision(PROVISIONING)
  first.close()
  const ballast = fillDisk(rig)
  const second = await rig.open()
  assert.equal(second.state, 'Locked')
  await second.unlock(UNLOCK)
  assert.equal(second.open().read('admin'), 'first')
  second.close()
  rmSync(ballast)
  const third = await rig.open()
  await third.unlock(UNLOCK)
  assert.equal(third.open().read('admin'), 'first')
})

test('a first start on a full disk is Failed, and the next one, with room, is not', async (t) => {
  const rig = createSmallDisk(t)
  if (rig === null) return t.skip('only root can mount a small disk')
  const ballast = fillDisk(rig)
  const failed = await rig.open()
  assert.equal(failed.state, 'Failed')
  assert.match(failed.failure!, /disk is full/)
  rmSync(ballast)
  assert.equal(existsSync(join(rig.directory, 'store.db')), false)
  const appliance = await rig.open()
  assert.equal(appliance.state, 'Unprovisioned')
})
