/** The device key in a TPM, as the boot manager opens it at each start of a machine. */

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type DeviceKeys, openDeviceKeys } from '../../../boot/device/key/device-key.ts'
import { createTpm } from '../../../boot/tpm/command.ts'
import { extendRegister, readRegisters } from '../../../boot/tpm/registers.ts'
import { withSealed } from '../../../boot/tpm/sealed.ts'
import { withStorageKey } from '../../../boot/tpm/storage-key.ts'
import type { Transport } from '../../../boot/tpm/transport.ts'
import { makeRig, onTpm, type Rig } from '../tpm/rig.ts'
import { toolsFor } from '../tpm/tools.ts'

interface Disk {
  directory: string
  store: string
  record: string
  keyFile: string
}

function makeDisk(t: TestContext): Disk {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-device-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const store = join(directory, 'store')
  mkdirSync(store)
  return { directory, store, record: join(directory, 'device.tpm'), keyFile: join(directory, 'device.key') }
}

const openerOf = (rig: Rig | null, wrap: (transport: Transport) => Transport) => ({
  openTpm: () => (rig === null ? null : createTpm(wrap(rig.swtpm.connect()))),
})

const start = ({ directory, store }: Disk, rig: Rig | null, wrap = (transport: Transport) => transport): DeviceKeys =>
  openDeviceKeys(directory, store, openerOf(rig, wrap))

async function restart(disk: Disk, rig: Rig): Promise<DeviceKeys> {
  await rig.swtpm.restart()
  return start(disk, rig)
}

function keyOf(keys: DeviceKeys): Uint8Array {
  const opened = keys.open()
  assert.ok('key' in opened, 'problem' in opened ? opened.problem : '')
  return opened.key
}

function refusedBy(keys: DeviceKeys): { problem: string; withheld?: boolean } {
  const opened = keys.open()
  assert.ok('problem' in opened)
  return opened
}

async function makeDevice(t: TestContext): Promise<{ disk: Disk; rig: Rig; key: Uint8Array }> {
  const [disk, rig] = [makeDisk(t), await makeRig(t)]
  const key = keyOf(start(disk, rig))
  writeFileSync(join(disk.store, 'store.db'), '')
  return { disk, rig, key }
}

const measure = (rig: Rig, register: number) =>
  rig.use((tpm) => extendRegister(tpm, register, createHash('sha256').update('something else').digest()))

test('the first start makes a key that is in the TPM and nowhere on the disk', onTpm(), async (t) => {
  const { disk, key } = await makeDevice(t)
  assert.equal(key.length, 32)
  assert.ok(new Set(key).size > 8, 'looks random')
  assert.deepEqual(readdirSync(disk.directory).sort(), ['device.tpm', 'store'])
  const record = readFileSync(disk.record)
  for (const form of ['hex', 'base64', 'latin1'] as const)
    assert.ok(!record.toString('latin1').includes(Buffer.from(key).toString(form)), form)
})

test('each later start of the machine gives the same key; each device has its own', onTpm(), async (t) => {
  const { disk, rig, key } = await makeDevice(t)
  for (let i = 0; i < 3; i++) assert.deepEqual(keyOf(await restart(disk, rig)), key)
  const other = await makeDevice(t)
  assert.notDeepEqual(other.key, key)
})

test('within one start the key is given again and again, until it is wiped', onTpm(), async (t) => {
  const { disk, rig, key } = await makeDevice(t)
  const keys = await restart(disk, rig)
  keyOf(keys).fill(0) // as its taker does
  assert.deepEqual(keyOf(keys), key)
  keys.wipe()
  assert.deepEqual(keyOf(keys), new Uint8Array(32))
})

test('nobody else opens it once the boot manager has started', onTpm(), async (t) => {
  const { disk, rig } = await makeDevice(t)
  await restart(disk, rig)
  const closed = rig.use((tpm) => readRegisters(tpm, [7, 15]))
  assert.notDeepEqual(closed.get(15), new Uint8Array(32))
  const again = refusedBy(start(disk, rig))
  assert.match(again.problem, /register 15 .* closed/)
  assert.equal(again.withheld, true)
  const { handle } = JSON.parse(readFileSync(disk.record, 'utf8').split('\n')[0]!) as { handle: number }
  const tools = toolsFor(t, rig.swtpm)
  const unseal = (...how: string[]) => tools.run('tpm2_unseal', '-c', `0x${handle.toString(16)}`, '-o', '@key', ...how)
  assert.throws(() => unseal('-p', 'pcr:sha256:7,15'), /policy/)
  assert.throws(() => unseal(), /policy|auth/)
})

test('the register is closed although there is nothing to open', onTpm(), async (t) => {
  const [disk, rig] = [makeDisk(t), await makeRig(t)]
  writeFileSync(join(disk.store, 'store.db'), '')
  assert.match(refusedBy(start(disk, rig)).problem, /device\.key is missing/)
  assert.notDeepEqual(rig.use((tpm) => readRegisters(tpm, [15])).get(15), new Uint8Array(32))
})

test(
  'a start under another Secure Boot, or with parameters from outside, gets no key; the next right one does',
  onTpm(),
  async (t) => {
    const { disk, rig, key } = await makeDevice(t)
    for (const [register, reason] of [
      [7, /Secure Boot has changed since/],
      [15, /register 15 of the TPM is closed/],
    ] as const) {
      await rig.swtpm.restart()
      measure(rig, register)
      const { problem, withheld } = refusedBy(start(disk, rig))
      assert.match(problem, reason)
      assert.equal(withheld, true)
      assert.deepEqual(keyOf(await restart(disk, rig)), key)
    }
  },
)

test(
  'what the boot loader records of the command line makes no difference: an update may change it',
  onTpm(),
  async (t) => {
    const { disk, rig, key } = await makeDevice(t)
    await rig.swtpm.restart()
    for (const register of [4, 9, 11, 12, 13]) measure(rig, register)
    assert.deepEqual(keyOf(start(disk, rig)), key)
  },
)

test('the disk in another machine, with or without a TPM, opens nothing and makes nothing', onTpm(), async (t) => {
  const { disk, rig, key } = await makeDevice(t)
  const other = await makeDevice(t)
  const before = readFileSync(disk.record)
  await other.rig.swtpm.restart()
  for (const [machine, reason] of [
    [await makeRig(t), /does not hold it: it is another machine/],
    [other.rig, /does not hold it/],
    [null, /in the TPM of another machine, and this one has none/],
  ] as const) {
    const { problem, withheld } = refusedBy(start(disk, machine))
    assert.match(problem, reason)
    assert.equal(withheld, true)
  }
  assert.deepEqual(readFileSync(disk.record), before)
  assert.ok(!existsSync(disk.keyFile))
  assert.deepEqual(keyOf(await restart(disk, rig)), key, 'back in its machine')
  assert.deepEqual(keyOf(await restart(other.disk, other.rig)), other.key, 'that machine has lost nothing')
})

test('a TPM that was cleared has lost it', onTpm(), async (t) => {
  const { disk, rig } = await makeDevice(t)
  toolsFor(t, rig.swtpm).run('tpm2_clear', '-c', 'p')
  assert.match(refusedBy(await restart(disk, rig)).problem, /does not hold it: .* or its TPM was cleared/)
})

test('a damaged record is a failure of the disk, not of the machine', onTpm(), async (t) => {
  const { disk, rig, key } = await makeDevice(t)
  const good = readFileSync(disk.record)
  for (let offset = 0; offset < good.length; offset += 29) {
    const damaged = Buffer.from(good)
    damaged[offset]! ^= 1
    writeFileSync(disk.record, damaged)
    const { problem, withheld } = refusedBy(await restart(disk, rig))
    assert.match(problem, /device\.tpm is damaged/, `byte ${offset}`)
    assert.ok(!withheld)
  }
  writeFileSync(disk.record, good.subarray(0, 40))
  assert.match(refusedBy(await restart(disk, rig)).problem, /device\.tpm is damaged/)
  rmSync(disk.record)
  assert.match(refusedBy(await restart(disk, rig)).problem, /device\.key is missing/)
  writeFileSync(disk.record, good)
  assert.deepEqual(keyOf(await restart(disk, rig)), key)
})

test('a key that an older version has sealed, without a counter, opens as it did', onTpm(), async (t) => {
  const [disk, rig] = [makeDisk(t), await makeRig(t)]
  const key = randomBytes(32)
  rig.use((tpm) =>
    withStorageKey(tpm, (storageKey) => {
      const registers = readRegisters(tpm, [7, 15])
      withSealed(tpm, storageKey, key, { registers }, ({ name, keepAs }) => {
        const handle = 0x8143c0f0
        keepAs(handle)
        const members = { handle, name, storageKeyName: storageKey.name, register7: registers.get(7) }
        const text = JSON.stringify(members, (_, value) =>
          value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
        )
        writeFileSync(disk.record, `${text}\n${createHash('sha256').update(text).digest('hex')}\n`)
      })
    }),
  )
  writeFileSync(join(disk.store, 'store.db'), '')
  const keys = await restart(disk, rig)
  assert.deepEqual(Buffer.from(keyOf(keys)), key)
  assert.equal(keys.counter, null)
})

test('its counter goes up, stays over starts, and cannot be denied by the disk', onTpm(), async (t) => {
  const { disk, rig, key } = await makeDevice(t)
  const { counter } = await restart(disk, rig)
  const first = counter!.value
  assert.equal(counter!.raiseTo(first + 2), null)
  assert.equal(counter!.value, first + 2)
  assert.match(counter!.raiseTo(first) ?? '', /does not count/)
  const keys = await restart(disk, rig)
  assert.equal(keys.counter!.value, first + 2)
  assert.deepEqual(keyOf(keys), key)
  const [text = ''] = readFileSync(disk.record, 'utf8').split('\n')
  const denied = JSON.stringify({ ...JSON.parse(text), counter: null })
  writeFileSync(disk.record, `${denied}\n${createHash('sha256').update(denied).digest('hex')}\n`)
  assert.match(refusedBy(await restart(disk, rig)).problem, /refuses Unseal: policyFail/)
})

test('a factory reset destroys it: the disk as it was before opens nothing', onTpm(), async (t) => {
  const { disk, rig, key } = await makeDevice(t)
  const record = readFileSync(disk.record)
  const keys = await restart(disk, rig)
  assert.equal(keys.erase(), null)
  assert.deepEqual(readdirSync(disk.directory), ['store'])
  assert.equal(toolsFor(t, rig.swtpm).run('tpm2_getcap', 'handles-nv-index'), '')
  writeFileSync(disk.record, record) // from a copy of the disk
  assert.match(refusedBy(await restart(disk, rig)).problem, /does not hold it/)
  rmSync(disk.record)
  rmSync(join(disk.store, 'store.db'))
  assert.notDeepEqual(keyOf(await restart(disk, rig)), key)
})

test('a factory reset of a disk that no longer says which key is its own destroys all of them', onTpm(), async (t) => {
  const { disk, rig } = await makeDevice(t)
  const other = makeDisk(t)
  keyOf(await restart(other, rig))
  const damaged = readFileSync(disk.record)
  damaged[3]! ^= 1
  writeFileSync(disk.record, damaged)
  const keys = await restart(disk, rig)
  assert.match(refusedBy(keys).problem, /damaged/)
  assert.equal(keys.erase(), null)
  for (const kind of ['handles-persistent', 'handles-nv-index'])
    assert.equal(toolsFor(t, rig.swtpm).run('tpm2_getcap', kind), '')
})

test('without a usable data partition no key is made, and the register is closed', onTpm(), async (t) => {
  const [disk, rig] = [makeDisk(t), await makeRig(t)]
  const problem = 'the data partition is damaged'
  for (const machine of [rig, null]) {
    const keys = openDeviceKeys(disk.directory, disk.store, { ...openerOf(machine, (same) => same), problem })
    assert.deepEqual(keys.open(), { problem })
  }
  assert.deepEqual(readdirSync(disk.directory), ['store'])
  assert.equal(toolsFor(t, rig.swtpm).run('tpm2_getcap', 'handles-persistent'), '')
  assert.notDeepEqual(rig.use((tpm) => readRegisters(tpm, [15])).get(15), new Uint8Array(32))
})

test('new disks in one machine do not destroy the keys of earlier ones, until the TPM is full', onTpm(), async (t) => {
  const rig = await makeRig(t)
  const disks: { disk: Disk; key: Uint8Array }[] = []
  for (;;) {
    const disk = makeDisk(t)
    const opened = (await restart(disk, rig)).open()
    if ('problem' in opened) {
      assert.match(opened.problem, /the TPM (is full of keys|has no room)/)
      assert.ok(!opened.withheld)
      break
    }
    writeFileSync(join(disk.store, 'store.db'), '')
    disks.push({ disk, key: opened.key })
  }
  assert.ok(disks.length >= 3, `${disks.length} keys fit`)
  for (const { disk, key } of disks) assert.deepEqual(keyOf(await restart(disk, rig)), key)
  assert.equal((await restart(disks[1]!.disk, rig)).erase(), null)
  keyOf(await restart(makeDisk(t), rig))
})

test(
  'a first start cut off anywhere is followed by one that works, and leaves nothing in the TPM',
  onTpm(),
  async (t) => {
    const rig = await makeRig(t)
    const disk = makeDisk(t)
    const cutAfter =
      (commands: number) =>
      (transport: Transport): Transport => {
        let sent = 0
        return {
          ...transport,
          transmit: (command) => {
            if (sent++ >= commands) throw Object.assign(new Error('off'), { code: 'EIO', syscall: 'write' })
            return transport.transmit(command)
          },
        }
      }
    let commands = 0
    for (; ; commands++) {
      await rig.swtpm.restart()
      const opened = start(disk, rig, cutAfter(commands)).open()
      if ('key' in opened) break
      assert.match(opened.problem, /the TPM cannot be used: EIO/)
    }
    assert.ok(commands > 10, `${commands} commands`)
    for (const kind of ['handles-persistent', 'handles-nv-index']) {
      const kept = toolsFor(t, rig.swtpm).run('tpm2_getcap', kind).trim().split('\n')
      assert.equal(kept.length, 1, kept.join())
    }
  },
)

test('without a TPM the key is in a file, and stays there when one comes', onTpm(), async (t) => {
  const disk = makeDisk(t)
  const key = keyOf(start(disk, null))
  writeFileSync(join(disk.store, 'store.db'), '')
  assert.deepEqual(readdirSync(disk.directory).sort(), ['device.key', 'store'])
  assert.deepEqual(new Uint8Array(readFileSync(disk.keyFile)), key)
  const rig = await makeRig(t)
  assert.deepEqual(keyOf(start(disk, rig)), key)
  assert.notDeepEqual(rig.use((tpm) => readRegisters(tpm, [15])).get(15), new Uint8Array(32))
  const keys = start(disk, null)
  assert.equal(keys.erase(), null)
  assert.ok(!existsSync(disk.keyFile))
})

test('a TPM that belongs to somebody keeps nothing of ours, and says so', onTpm(), async (t) => {
  const [disk, rig] = [makeDisk(t), await makeRig(t)]
  toolsFor(t, rig.swtpm).run('tpm2_changeauth', '-c', 'owner', 'owned')
  const { problem, withheld } = refusedBy(start(disk, rig))
  assert.match(problem, /the TPM has an owner already; clear it/)
  assert.equal(withheld, false, 'there is no store that it could open')
  assert.ok(!existsSync(disk.keyFile))
})
