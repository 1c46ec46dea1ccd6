/** Older data that are put back onto the disk of a device: what boot manager and firmware make of it, over whole starts. */

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDeviceKeys } from '../../../boot/device/key/device-key.ts'
import { createMinimumVersion, type MinimumVersion } from '../../../boot/device/minimum-version.ts'
import { createTpm } from '../../../boot/tpm/command.ts'
import type { Transport } from '../../../boot/tpm/transport.ts'
import { createStoreCopy } from '../../../boot/versions/store-copy.ts'
import type { Appliance } from '../../../firmware/appliance/appliance.ts'
import { createRig, type Notes, PROVISIONING } from '../../appliance/rig.ts'
import { makeRig, onTpm, type Rig } from '../tpm/rig.ts'

const OLD = '1.0'
const NEW = '2.0' // and the oldest that may run, once it is good
const PUT_BACK = /older data have been put back/
const NV_INCREMENT = 0x134

interface Device {
  data: string
  record: string
  store: string
  start(version: string): Promise<Started>
  /** The same, then it is good and is counted, `work` is done, and power is switched off. */
  run(version: string, work?: (appliance: Appliance<Notes>) => void): Promise<void>
  failAtCounting(): void
}

interface Started {
  appliance: Appliance<Notes>
  minimum: MinimumVersion
  problem?: string
}

async function makeDevice(t: TestContext, rig: Rig | null): Promise<Device> {
  const device = newDevice(t, rig)
  await provision(device, OLD)
  return device
}

function newDevice(t: TestContext, rig: Rig | null): Device {
  const data = mkdtempSync(join(tmpdir(), 'coffer-put-back-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const [store, record] = [join(data, 'store'), join(data, 'minimum-version')]
  mkdirSync(store)
  const firmware = createRig(t, store)
  let failing = false
  const failsOnce = (transport: Transport): Transport => ({
    ...transport,
    transmit: (command) => {
      if (!failing || Buffer.from(command).readUInt32BE(6) !== NV_INCREMENT) return transport.transmit(command)
      failing = false
      throw Object.assign(new Error('off'), { code: 'EIO', syscall: 'write' })
    },
  })
  return {
    data,
    record,
    store,
    start: async (version) => {
      await rig?.swtpm.restart()
      const openTpm = () => (rig === null ? null : createTpm(failsOnce(rig.swtpm.connect())))
      const keys = openDeviceKeys(data, store, { openTpm })
      const rollbackFloor = version === NEW ? NEW : '0.0'
      const { counter } = keys
      const minimum = createMinimumVersion({ path: record, storeDirectory: store, version, rollbackFloor, counter })
      const opened = minimum.guard(keys.open())
      const count = minimum.last
      const appliance =
        'key' in opened
          ? await firmware.open({ deviceKey: opened.key, count, version })
          : await firmware.open({ deviceKey: null, withheld: opened.problem })
      return { appliance, minimum, ...('problem' in opened && { problem: opened.problem }) }
    },
    async run(version, work = () => {}) {
      const { appliance, minimum } = await this.start(version)
      assert.equal(appliance.state, 'Operational', appliance.failure)
      assert.equal(isGood(appliance, minimum), null)
      work(appliance)
      appliance.close()
    },
    failAtCounting: () => {
      failing = true
    },
  }
}

async function provision(device: Device, version: string): Promise<void> {
  const { appliance, minimum } = await device.start(version)
  assert.equal(appliance.state, 'Unprovisioned', appliance.failure)
  assert.equal(isGood(appliance, minimum), null)
  await appliance.provision(PROVISIONING)
  appliance.setUnattendedBoot(true)
  await appliance.open().write('mallory', 'may do everything')
  appliance.close()
}

/** As the boot manager does when what it has started is good. Gives what stood against counting it. */
function isGood(appliance: Appliance<Notes>, minimum: MinimumVersion): string | null {
  minimum.raise()
  const kept = appliance.keepStart(minimum.current!)
  return typeof kept === 'number' ? minimum.count(kept) : null
}

async function assertFails({ start }: Device, version: string, reason: RegExp): Promise<void> {
  const { appliance, problem } = await start(version)
  assert.equal(problem, undefined)
  assert.equal(appliance.state, 'Failed')
  assert.match(appliance.failure!, reason)
  appliance.close()
}

function emptyStore({ store }: Device): void {
  for (const name of readdirSync(store)) rmSync(join(store, name), { recursive: true })
}

async function assertWithheld({ start }: Device, version: string, reason: RegExp): Promise<void> {
  const { appliance, problem } = await start(version)
  assert.match(problem ?? '', reason)
  assert.equal(appliance.state, 'Locked')
  appliance.close()
}

function copyOf(t: TestContext, path: string): () => void {
  const copy = join(mkdtempSync(join(tmpdir(), 'coffer-copy-')), 'copy')
  t.after(() => rmSync(join(copy, '..'), { recursive: true }))
  cpSync(path, copy, { recursive: true })
  return () => {
    rmSync(path, { recursive: true })
    cpSync(copy, path, { recursive: true })
  }
}

test('the record of an earlier start, put back, brings no old version back, nor anything else', onTpm(), async (t) => {
  const device = await makeDevice(t, await makeRig(t))
  const putBack = copyOf(t, device.record)
  const putAllBack = copyOf(t, device.data)
  await device.run(NEW)
  await assertWithheld(device, OLD, /version 1\.0 is older than 2\.0/)
  const today = copyOf(t, device.data)
  putBack()
  await assertWithheld(device, OLD, PUT_BACK)
  await assertWithheld(device, NEW, PUT_BACK)
  putAllBack()
  await assertWithheld(device, OLD, PUT_BACK)
  today()
  await device.run(NEW)
})

test('a store of an earlier start, put back, is not opened; the one that belongs there is', onTpm(), async (t) => {
  const device = await makeDevice(t, await makeRig(t))
  await device.run(OLD)
  const putBack = copyOf(t, device.store)
  await device.run(OLD, (appliance) => appliance.open().remove('mallory'))
  const today = copyOf(t, device.store)
  putBack()
  await assertFails(device, OLD, PUT_BACK)
  await assertFails(device, OLD, PUT_BACK)
  today()
  await device.run(OLD, (appliance) => assert.ok(!appliance.open().names.has('mallory')))
})

test('a power cut on the way to the next count loses nothing, and what was before it stays out', onTpm(), async (t) => {
  const device = await makeDevice(t, await makeRig(t))
  const cuts: Record<string, (started: Started) => void> = {
    'before the store has it': () => {},
    'before the record has it': ({ appliance, minimum }) => {
      assert.equal(typeof appliance.keepStart(minimum.current!), 'number')
    },
    'before the counter has it': ({ appliance, minimum }) => {
      const before = readFileSync(device.record)
      device.failAtCounting()
      assert.match(isGood(appliance, minimum) ?? '', /the TPM cannot be used: EIO/)
      assert.notDeepEqual(readFileSync(device.record), before)
    },
  }
  for (const [when, cut] of Object.entries(cuts)) {
    const putBack = copyOf(t, device.data)
    const putStoreBack = copyOf(t, device.store)
    for (let time = 0; time < 3; time++) {
      const started = await device.start(OLD)
      assert.equal(started.appliance.state, 'Operational', `${when}: ${started.appliance.failure}`)
      cut(started)
      started.appliance.close()
    }
    await device.run(OLD)
    const today = copyOf(t, device.data)
    putStoreBack()
    await assertFails(device, OLD, PUT_BACK)
    putBack()
    await assertWithheld(device, OLD, PUT_BACK)
    today()
    await device.run(OLD)
  }
})

test('within one start it is counted once, however often the firmware begins anew', onTpm(), async (t) => {
  const device = await makeDevice(t, await makeRig(t))
  const { appliance, minimum } = await device.start(OLD)
  const before = minimum.last!
  assert.match(minimum.count(before + 1000) ?? '', /the store holds/, 'whatever a firmware says')
  assert.match(minimum.count(before) ?? '', /the store holds/)
  for (let time = 0; time < 3; time++) {
    assert.equal(isGood(appliance, minimum), null)
    assert.equal(minimum.last, before + 1)
    assert.equal(minimum.count(before + 2), null)
  }
  assert.equal(minimum.last, before + 1)
})

test('a trial counts nothing: the store as it was before is put back, and opens', onTpm(), async (t) => {
  const device = await makeDevice(t, await makeRig(t))
  const copy = createStoreCopy(device.store)
  copy.make()
  for (let tries = 0; tries < 3; tries++) {
    const { appliance } = await device.start(NEW)
    assert.equal(appliance.state, 'Operational', appliance.failure)
    appliance.close()
  }
  copy.restore()
  await device.run(OLD)
  await device.run(NEW)
})

test('a first start that a power cut ends before there is a store is made again', onTpm(), async (t) => {
  const device = newDevice(t, await makeRig(t))
  for (let starts = 0; starts < 3; starts++) {
    const { appliance, problem } = await device.start(NEW)
    assert.deepEqual([appliance.state, problem], ['Unprovisioned', undefined])
    appliance.close()
    emptyStore(device) // nothing of it was on the disk yet
  }
  await provision(device, NEW)
  await device.run(NEW)
  await assertWithheld(device, OLD, /version 1\.0 is older than 2\.0/)
})

test('an emptied store gets no old version the key of the one that was there', onTpm(), async (t) => {
  const device = await makeDevice(t, await makeRig(t))
  await device.run(NEW)
  const today = copyOf(t, device.data)
  const [store, sealed] = [copyOf(t, device.store), copyOf(t, join(device.data, 'device.tpm'))]
  emptyStore(device)
  rmSync(join(device.data, 'device.tpm')) // so that the key stays in the TPM
  const { appliance, problem } = await device.start(OLD)
  assert.deepEqual([appliance.state, problem], ['Unprovisioned', undefined])
  appliance.close()
  const record = copyOf(t, device.record)
  store()
  await assertFails(device, OLD, /^The store belongs to another device/)
  sealed()
  await assertWithheld(device, OLD, /has been changed/)
  today()
  await assertWithheld(device, OLD, /version 1\.0 is older than 2\.0/)
  record()
  await assertWithheld(device, OLD, /has been changed/)
  today()
  await device.run(NEW)
})

test('without a TPM the record can be put back; the store itself then refuses an old version', async (t) => {
  const device = await makeDevice(t, null)
  const putBack = copyOf(t, device.record)
  await device.run(NEW)
  await assertWithheld(device, OLD, /version 1\.0 is older than 2\.0/)
  putBack()
  await assertFails(device, OLD, /^The store is for version 2\.0 and later ones: version 1\.0 does not open it$/)
  await device.run(NEW)
})

test('after a factory reset the device counts anew, and nothing from before opens', onTpm(), async (t) => {
  const rig = await makeRig(t)
  const device = await makeDevice(t, rig)
  const putAllBack = copyOf(t, device.data)
  const openTpm = () => createTpm(rig.swtpm.connect())
  assert.equal(openDeviceKeys(device.data, device.store, { openTpm }).erase(), null)
  rmSync(device.store, { recursive: true })
  mkdirSync(device.store)
  rmSync(device.record)
  const { appliance, minimum } = await device.start(NEW)
  assert.equal(appliance.state, 'Unprovisioned')
  assert.equal(isGood(appliance, minimum), null)
  await appliance.provision(PROVISIONING)
  appliance.close()
  putAllBack()
  await assertWithheld(device, OLD, /the TPM of this machine does not hold it/)
})
