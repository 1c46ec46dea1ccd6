/** Versions on the ESP through whole lives: trial, fallback, power cuts; systemd-boot's part is played here. */

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type DeviceSlots, openDeviceSlots } from '../../../boot/device/device-slots.ts'
import { recordGoodVersion } from '../../../boot/device/device-start.ts'
import { type BootEntry, type BootLoader, entryName, parseEntry } from '../../../boot/device/esp/boot-count.ts'
import { createEsp, type Esp } from '../../../boot/device/esp/esp.ts'
import { createMinimumVersion } from '../../../boot/device/minimum-version.ts'
import { SlotConflict, SlotError } from '../../../boot/versions/slot-error.ts'
import type { Running, Slots } from '../../../boot/versions/slots.ts'
import { isNewer } from '../../../firmware/release/version.ts'
import { head, releasePublicKey } from '../../release/archives.ts'
import { kernelImage, onStub, rootImage } from './kernel-images.ts'

const KERNEL = 'coffer-x64.efi'
const ROOT = 'coffer-x64.root'
const PARTITION_BYTES = 1024 * 1024
const ESP_BYTES = 4 * 1024 * 1024
const FIRST = '1.0.0'

interface Device {
  directory: string
  store: string
  versions(): string[]
  holdsRoot(version: string): boolean
  /** A start of the machine, up to the choice of the firmware. `chosen` is picked in the boot loader's menu. */
  start(chosen?: string): { slots: DeviceSlots; running: Running }
  access: string
  /** At the how manyth change of the ESP from now on the power fails. */
  cutAt: number
}

interface Options {
  floors?: Record<string, string>
  loader?: (loader: BootLoader) => BootLoader
}

function makeDevice(t: TestContext, { floors = {}, loader = (said) => said }: Options = {}): Device {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-slots-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [data, store, linux] = [
    join(directory, 'data'),
    join(directory, 'data/store'),
    join(directory, 'esp/EFI/Linux'),
  ]
  for (const path of [store, linux]) mkdirSync(path, { recursive: true })
  writeFileSync(join(linux, entryName(FIRST, null)), kernelImage(FIRST))
  const partitions = ['root-a', 'root-b'].map((name) => join(directory, name))
  for (const path of partitions) writeFileSync(path, Buffer.alloc(PARTITION_BYTES))
  writeFileSync(partitions[0]!, rootImage(FIRST).bytes, { flag: 'r+' })
  const isOn = (path: string, version: string) => readFileSync(path).indexOf(rootImage(version).bytes) === 0
  const device: Device = {
    directory,
    store,
    access: 'ro',
    cutAt: 0,
    versions: () => readdirSync(linux).sort(),
    holdsRoot: (version) => partitions.some((path) => isOn(path, version)),
    start: (chosen) => {
      const { version, said } = bootLoader(linux, chosen)
      const spare = partitions.find((path) => !isOn(path, version))!
      assert.ok(device.holdsRoot(version), `the root of ${version} is gone`)
      const minimum = createMinimumVersion({
        path: join(data, 'minimum-version'),
        storeDirectory: store,
        version,
        rollbackFloor: floors[version] ?? '0.0',
        counter: null,
      })
      const remount = (access: string) => {
        if (access === 'rw,sync' && device.cutAt-- === 1) throw Object.assign(new Error('off'), { code: 'EIO' })
        device.access = access
      }
      const stored = (file: string) => statSync(join(linux, file)).size
      const esp: Esp = {
        ...createEsp({ directory: join(directory, 'esp'), remount }),
        bytesWithout: (entries) =>
          readdirSync(linux)
            .filter((name) => !entries.some(({ file }) => file === name))
            .reduce((left, name) => left - stored(name), ESP_BYTES),
      }
      const slots = openDeviceSlots({
        dataDirectory: data,
        storeDirectory: store,
        own: own(version),
        releaseKey: releasePublicKey,
        boot: { esp, loader: loader(said), spareRoot: { path: spare, bytes: PARTITION_BYTES } },
        architecture: 'x64',
        secureBoot: null,
        minimum,
      })
      const running = slots.choose()
      const key = minimum.guard({ key: new Uint8Array(32).fill(1) })
      assert.equal('problem' in key, false)
      writeFileSync(
        join(store, 'coffer.db'),
        `${existsSync(join(store, 'coffer.db')) ? readFileSync(join(store, 'coffer.db')) : ''}${version};`,
      )
      return { slots, running }
    },
  }
  return device
}

/** Sorts and counts as systemd-boot does: those without tries last, then the newest first. */
function bootLoader(linux: string, chosen?: string): { version: string; said: BootLoader } {
  const exhausted = ({ counter }: BootEntry) => (counter?.left === 0 ? 1 : 0)
  const entries = readdirSync(linux)
    .map(parseEntry)
    .filter((entry) => entry !== null)
  entries.sort((a, b) => exhausted(a) - exhausted(b) || (isNewer(b.version, a.version) ? 1 : -1))
  const { file, version, counter } = entries.find(({ version }) => version === chosen) ?? entries[0]!
  if (counter === null) return { version, said: { selected: file, counted: null } }
  const counted = entryName(version, { left: Math.max(0, counter.left - 1), done: counter.done + 1 })
  renameSync(join(linux, file), join(linux, counted))
  return { version, said: { selected: file, counted } }
}

interface Image {
  version: string
  bytes?: Buffer
  root?: Buffer
  name?: string
  manifest?: object
}

function upload(slots: Slots, image: Image): void {
  const { version, bytes = kernelImage(version), root = rootImage(version).bytes, name = KERNEL, manifest } = image
  const files = [
    { name, bytes },
    { name: ROOT, bytes: root },
  ]
  const [first, second] = head({
    product: 'Coffer',
    version,
    minimumVersion: '1.0',
    releaseNotes: '',
    members: files.map(({ name, bytes }) => ({ name, size: bytes.length, sha512: hashOf(bytes) })),
    ...manifest,
  })
  slots.take({ do: 'begin', manifest: first!.bytes!, signature: second!.bytes! })
  for (const { name, bytes } of files)
    for (let at = 0; at < bytes.length; at += 10_000)
      slots.take({ do: 'write', name, bytes: bytes.subarray(at, at + 10_000) })
  slots.take({ do: 'finish' })
}

const hashOf = (bytes: Buffer) => createHash('sha512').update(bytes).digest('hex')

function install(slots: Slots, version: string): void {
  upload(slots, { version })
  slots.take({ do: 'activate' })
}

function update(device: Device, version: string): void {
  install(device.start().slots, version)
  const { slots, running } = device.start()
  assert.deepEqual([running.version, running.trial], [version, true])
  slots.markGood()
}

const own = (version: string) => ({ version, program: 'own.js', readable: ['own/'] })

const incoming = ({ directory }: Device) => join(directory, 'esp/EFI/coffer/incoming')
const records = ({ store }: Device) => readFileSync(join(store, 'coffer.db'), 'utf8')

test('the version that was flashed is good from the beginning', onStub, (t) => {
  const device = makeDevice(t)
  const { running } = device.start()
  assert.deepEqual(running, { ...own(FIRST), trial: false, counted: false, fallback: null })
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi'])
})

test('an update is tried after the restart, becomes good, and stays', onStub, (t) => {
  const device = makeDevice(t)
  const { slots } = device.start()
  upload(slots, { version: '1.1.0' })
  assert.equal(device.access, 'ro')
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi'])
  slots.take({ do: 'activate' })
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi', 'coffer_1.1.0+3-0.efi'])
  assert.equal(existsSync(incoming(device)), false)
  const next = device.start()
  assert.deepEqual([next.running.version, next.running.trial], ['1.1.0', true])
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi', 'coffer_1.1.0+2-1.efi'])
  next.slots.markGood()
  assert.equal(next.slots.choose().trial, false, 'a firmware that is started again is on trial no more')
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi', 'coffer_1.1.0+3-0.efi'])
  assert.deepEqual(readdirSync(join(device.directory, 'data')).sort(), ['minimum-version', 'slots.json', 'store'])
  const { running } = device.start()
  assert.deepEqual([running.version, running.trial, running.fallback], ['1.1.0', false, null])
  assert.equal(records(device), '1.0.0;1.1.0;1.1.0;')
  assert.equal(device.access, 'ro')
})

test('three tries, then the version before, its store, and the reason; nothing of the bad one stays', onStub, (t) => {
  const device = makeDevice(t)
  install(device.start().slots, '1.1.0')
  for (let n = 1; n <= 3; n++) {
    const { slots, running } = device.start()
    assert.deepEqual([running.version, running.trial], ['1.1.0', true], `try ${n}`)
    slots.noteFailure(`it crashed ${n} times`)
  }
  assert.equal(records(device), '1.0.0;1.1.0;1.1.0;1.1.0;')
  const { running } = device.start()
  assert.deepEqual([running.version, running.trial], ['1.0.0', false])
  assert.equal(running.fallback, 'Version 1.1.0 was rolled back: it crashed 3 times')
  assert.equal(records(device), '1.0.0;1.0.0;')
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi'])
  const later = device.start()
  assert.equal(later.running.fallback, running.fallback)
  install(later.slots, '1.1.0') // the same version may come again
  assert.equal(device.start().running.fallback, null)
})

test('a good version that does not get ready three times gives way to the one that stands by', onStub, (t) => {
  const device = makeDevice(t)
  update(device, '1.1.0')
  device.start()
  const third = device.start()
  assert.deepEqual([third.running.trial, third.running.counted], [false, true])
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi', 'coffer_1.1.0+1-2.efi'])
  third.slots.markGood()
  assert.equal(third.slots.choose().counted, false)
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi', 'coffer_1.1.0+3-0.efi'])
  for (let n = 1; n <= 3; n++) assert.equal(device.start().running.version, '1.1.0')
  const { slots, running } = device.start()
  const fallback = 'Version 1.1.0 was rolled back: it did not become ready'
  assert.deepEqual(running, { ...own('1.0.0'), trial: false, counted: false, fallback })
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi'])
  assert.match(
    records(device),
    /^1\.0\.0;(1\.1\.0;)+1\.0\.0;$/,
    'on the store as it is: nothing is taken back that was promised',
  )
  install(slots, '1.1.0') // and it may come again
  assert.equal(device.start().running.trial, true)
})

test('what a good version says of its failed starts is told by the one that stands by', onStub, (t) => {
  const device = makeDevice(t)
  update(device, '1.1.0')
  for (let n = 1; n <= 3; n++) device.start().slots.noteFailure(`it crashed ${n} times`)
  assert.equal(device.start().running.fallback, 'Version 1.1.0 was rolled back: it crashed 3 times')
})

test('a good version that is counted goes through an update, an older one and back', onStub, (t) => {
  const device = makeDevice(t)
  update(device, '1.1.0')
  device.start().slots.markGood()
  update(device, '1.2.0')
  device.start().slots.markGood()
  assert.deepEqual(device.versions(), ['coffer_1.1.0.efi', 'coffer_1.2.0+3-0.efi'], 'what stands by stays')
  update(device, '1.1.5')
  assert.deepEqual(device.versions(), ['coffer_1.1.5+3-0.efi', 'coffer_1.2.0+0-0.efi'])
  for (let n = 1; n <= 3; n++) assert.equal(device.start().running.version, '1.1.5')
  const { running } = device.start()
  assert.deepEqual([running.version, running.trial], ['1.2.0', false])
  assert.deepEqual(device.versions(), ['coffer_1.2.0.efi'])
})

/** Makes the data directory anew, as a factory reset does in place of its partition. */
function reset(device: Device, slots: DeviceSlots): void {
  const data = join(device.directory, 'data')
  const goodVersion = slots.goodVersion()
  rmSync(data, { recursive: true })
  mkdirSync(device.store, { recursive: true })
  if (goodVersion !== null) recordGoodVersion(data, goodVersion)
}

test('a version that was good is not on trial after a factory reset, and one that was stays so', onStub, (t) => {
  const device = makeDevice(t)
  update(device, '1.1.0')
  const { slots, running } = device.start()
  assert.equal(running.trial, false)
  reset(device, slots)
  const later = device.start()
  assert.deepEqual([later.running.version, later.running.trial, later.running.counted], ['1.1.0', false, true])
  install(later.slots, '1.2.0')
  const tried = device.start()
  assert.deepEqual([tried.running.version, tried.running.trial], ['1.2.0', true])
  reset(device, tried.slots)
  assert.equal(device.start().running.trial, true)
  const { running: back } = device.start('1.1.0')
  assert.deepEqual([back.version, back.trial], ['1.1.0', false], 'the version before is good')
})

test('a version that never came to say why', onStub, (t) => {
  const device = makeDevice(t)
  const linux = join(device.directory, 'esp/EFI/Linux')
  install(device.start().slots, '1.1.0')
  assert.equal(device.start(FIRST).running.fallback, 'Version 1.1.0 was rolled back: the boot loader did not start it')
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi'])
  install(device.start().slots, '1.1.0')
  renameSync(join(linux, 'coffer_1.1.0+3-0.efi'), join(linux, 'coffer_1.1.0+0-3.efi'))
  assert.equal(device.start().running.fallback, 'Version 1.1.0 was rolled back: it did not become ready')
})

test('a power cut during a trial costs a try, not the trial', onStub, (t) => {
  const device = makeDevice(t)
  install(device.start().slots, '1.1.0')
  device.start()
  const second = device.start()
  assert.equal(second.running.trial, true)
  second.slots.markGood()
  assert.equal(device.start().running.version, '1.1.0')
})

test('an older version gets its turn, becomes good, or leaves the newer one as it was', onStub, (t) => {
  const good = makeDevice(t)
  update(good, '1.5.0')
  update(good, '1.4.0')
  const later = good.start()
  assert.deepEqual([later.running.version, later.running.trial], ['1.4.0', false])
  install(later.slots, '1.4.1')
  assert.equal(good.start().running.version, '1.4.1')

  const bad = makeDevice(t)
  update(bad, '1.5.0')
  install(bad.start().slots, '1.4.0')
  for (let n = 0; n < 3; n++) assert.equal(bad.start().running.version, '1.4.0')
  const { running } = bad.start()
  assert.deepEqual([running.version, running.trial], ['1.5.0', false])
  assert.match(running.fallback!, /^Version 1\.4\.0 was rolled back/)
  assert.deepEqual(bad.versions(), ['coffer_1.5.0.efi'])
})

test('at most two versions stay, and never is the running one touched', onStub, (t) => {
  const device = makeDevice(t)
  for (const version of ['1.1.0', '1.2.0', '1.3.0']) {
    update(device, version)
    assert.equal(device.versions().length, 2)
  }
  assert.deepEqual(device.versions(), ['coffer_1.2.0.efi', 'coffer_1.3.0+3-0.efi'])
  const { slots } = device.start()
  assert.throws(() => upload(slots, { version: '1.3.0' }), conflict(/Version 1\.3\.0 is already running/))
})

test('a good mark that a power cut interrupts is finished at the next start', onStub, (t) => {
  const device = makeDevice(t, { floors: { '1.1.0': '1.0.5' } })
  install(device.start().slots, '1.1.0')
  device.start()
  const linux = join(device.directory, 'esp/EFI/Linux')
  renameSync(join(linux, 'coffer_1.1.0+2-1.efi'), join(linux, 'coffer_1.1.0.efi'))
  const { slots, running } = device.start()
  assert.deepEqual([running.version, running.trial, running.fallback], ['1.1.0', false, null])
  assert.equal(records(device), '1.0.0;1.1.0;1.1.0;', 'its store is kept')
  assert.deepEqual(readdirSync(join(device.directory, 'data')).sort(), ['minimum-version', 'slots.json', 'store'])
  assert.throws(() => upload(slots, { version: '1.0.4' }), conflict(/older than 1\.0\.5/))
})

test('when the boot loader names another version, this one is not marked good', onStub, (t) => {
  const device = makeDevice(t, { loader: ({ selected }) => ({ selected, counted: 'coffer_1.9.0+2-1.efi' }) })
  install(device.start().slots, '1.1.0')
  const { slots } = device.start()
  assert.throws(() => slots.markGood(), SlotError)
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi', 'coffer_1.1.0+2-1.efi'])
})

test('a version below the floor of one that was good is refused; on trial a floor means nothing', onStub, (t) => {
  const device = makeDevice(t, { floors: { '1.2.0': '1.1.5' } })
  install(device.start().slots, '1.2.0')
  for (let n = 0; n < 3; n++) device.start()
  update(device, '1.1.0')
  update(device, '1.2.0')
  const { slots } = device.start()
  const before = device.versions()
  assert.throws(() => upload(slots, { version: '1.1.4' }), conflict(/older than 1\.1\.5, the oldest that this device/))
  assert.deepEqual(device.versions(), before)
  install(slots, '1.1.5')
  assert.equal(device.start().running.version, '1.1.5')
})

test('what the floor of a good version rules out stands by no more, also after three unready starts', onStub, (t) => {
  const device = makeDevice(t, { floors: { '1.2.0': '1.1.5' } })
  update(device, '1.2.0')
  assert.deepEqual(device.versions(), ['coffer_1.2.0.efi'])
  for (let n = 1; n <= 4; n++) {
    const { running } = device.start()
    assert.deepEqual([running.version, running.trial, running.counted], ['1.2.0', false, false], `start ${n}`)
  }
  update(device, '1.3.0')
  assert.deepEqual(device.versions(), ['coffer_1.2.0.efi', 'coffer_1.3.0+3-0.efi'])
})

test('a power cut while a floor is raised leaves a version that gets the device key', onStub, (t) => {
  const RUNS = { 1: FIRST, 2: FIRST, 3: '1.2.0' } // once no try is left
  for (const [cutAt, runs] of Object.entries(RUNS)) {
    const device = makeDevice(t, { floors: { '1.2.0': '1.1.5' } })
    const linux = join(device.directory, 'esp/EFI/Linux')
    install(device.start().slots, '1.2.0')
    const { slots } = device.start()
    device.cutAt = Number(cutAt)
    assert.throws(() => slots.markGood(), /off/)
    const file = device.versions().find((name) => name.startsWith('coffer_1.2.0'))!
    renameSync(join(linux, file), join(linux, 'coffer_1.2.0+0-3.efi'))
    assert.equal(device.start().running.version, runs, `cut ${cutAt}`)
    assert.deepEqual(device.versions(), [`coffer_${runs}.efi`])
  }
})

test('what a power cut has left of a version that is ruled out goes at the next start', onStub, (t) => {
  const device = makeDevice(t, { floors: { '1.2.0': '1.1.5' } })
  install(device.start().slots, '1.2.0')
  const { slots } = device.start()
  device.cutAt = 2
  assert.throws(() => slots.markGood(), /off/)
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi', 'coffer_1.2.0+3-0.efi'])
  assert.deepEqual([device.start().running.counted, device.versions()], [false, ['coffer_1.2.0.efi']])
})

test('on trial a version removes nothing, whatever its floor', onStub, (t) => {
  const device = makeDevice(t, { floors: { '1.2.0': '1.1.5' } })
  install(device.start().slots, '1.2.0')
  for (let n = 1; n <= 3; n++) assert.equal(device.start().running.trial, true)
  assert.equal(device.start().running.version, FIRST)
  assert.deepEqual(device.versions(), ['coffer_1.0.0.efi'])
})

const conflict = (message: RegExp) => (error: unknown) => error instanceof SlotConflict && message.test(error.message)

const REFUSED: [what: string, image: Image, message: RegExp][] = [
  ['another member', { version: '1.1.0', name: 'firmware.js' }, /must contain coffer-x64\.efi and coffer-x64\.root/],
  ['what is no kernel image', { version: '1.1.0', bytes: randomBytes(5000) }, /cannot be started: it is not a program/],
  [
    'an image of another version',
    { version: '1.1.0', bytes: kernelImageOf('1.2.0') },
    /says that it is version 1\.2\.0/,
  ],
  ['a truncated one', { version: '1.1.0', bytes: kernelImageOf('1.1.0').subarray(0, 60_000) }, /is cut off/],
  ['more than there is room for', { version: '1.1.0', manifest: membersOf(ESP_BYTES, 4096) }, /The ESP has no room/],
  [
    'a root larger than its partition',
    { version: '1.1.0', manifest: membersOf(4096, PARTITION_BYTES + 1) },
    /The partition has no room/,
  ],
  [
    'the root of another version',
    { version: '1.1.0', root: rootImage('1.2.0').bytes },
    /belongs to another root file system/,
  ],
]

function membersOf(kernelBytes: number, rootBytes: number): object {
  const sizes = [
    { name: KERNEL, size: kernelBytes },
    { name: ROOT, size: rootBytes },
  ]
  return { members: sizes.map((member) => ({ ...member, sha512: '0'.repeat(128) })) }
}

function kernelImageOf(version: string): Buffer {
  return onStub.skip === false ? kernelImage(version) : Buffer.alloc(0)
}

for (const [what, image, message] of REFUSED)
  test(`${what} is refused, and nothing of it stays`, onStub, (t) => {
    const device = makeDevice(t)
    const { slots } = device.start()
    assert.throws(
      () => upload(slots, image),
      (error) => error instanceof SlotError && message.test(error.message),
    )
    slots.take({ do: 'discard' })
    assert.equal(existsSync(incoming(device)), false)
    assert.equal(device.access, 'ro')
    assert.deepEqual(device.versions(), ['coffer_1.0.0.efi'])
    assert.throws(() => slots.take({ do: 'activate' }), /No version is ready/)
    install(slots, '1.1.0')
  })

test('an update that is canceled, or interrupted by a restart, leaves nothing', onStub, (t) => {
  const device = makeDevice(t)
  const { slots } = device.start()
  upload(slots, { version: '1.1.0' })
  assert.equal(existsSync(incoming(device)), true)
  slots.take({ do: 'discard' })
  assert.equal(existsSync(incoming(device)), false)
  upload(slots, { version: '1.1.0' })
  const { running } = device.start()
  assert.equal(running.version, FIRST)
  assert.equal(existsSync(incoming(device)), false)
  upload(device.start().slots, { version: '1.1.0' })
  device.start().slots.choose()
  assert.equal(existsSync(incoming(device)), false)
})

test('while a version waits to be tried, or is on trial, nothing is begun', onStub, (t) => {
  const device = makeDevice(t)
  const { slots } = device.start()
  install(slots, '1.1.0')
  assert.throws(() => upload(slots, { version: '1.2.0' }), conflict(/1\.1\.0 is waiting for a restart/))
  const next = device.start()
  assert.throws(() => upload(next.slots, { version: '1.2.0' }), conflict(/still on trial/))
  next.slots.markGood()
  install(next.slots, '1.2.0')
})

test('a store that cannot be copied ends the try, and the reason is kept', onStub, (t) => {
  const device = makeDevice(t)
  install(device.start().slots, '1.1.0')
  renameSync(device.store, `${device.store}.aside`)
  writeFileSync(device.store, 'no directory')
  for (let n = 0; n < 3; n++) assert.throws(() => device.start(), /could not start its trial: the disk failed/)
  rmSync(device.store)
  renameSync(`${device.store}.aside`, device.store)
  assert.match(device.start().running.fallback!, /1\.1\.0 was rolled back: it could not start its trial/)
})

test("the store is its owner's again after a trial that failed", {
  skip: onStub.skip || (process.getuid?.() !== 0 && 'only root gives files away'),
}, (t) => {
  const device = makeDevice(t)
  install(device.start().slots, '1.1.0')
  const owned = [device.store, join(device.store, 'coffer.db')]
  for (const path of owned) chownSync(path, 1000, 1001)
  for (let n = 0; n < 4; n++) device.start()
  for (const path of owned) assert.deepEqual([statSync(path).uid, statSync(path).gid], [1000, 1001], path)
})

test('a damaged record costs the reason, nothing else', onStub, (t) => {
  const device = makeDevice(t)
  install(device.start().slots, '1.1.0')
  for (let n = 0; n < 3; n++) device.start().slots.noteFailure('it crashed')
  writeFileSync(join(device.directory, 'data/slots.json'), '{')
  const { running } = device.start()
  assert.equal(running.fallback, 'Version 1.1.0 was rolled back: it did not become ready')
  assert.equal(records(device), '1.0.0;1.0.0;')
})

test('without a boot loader that counts, this version runs and no update is taken', onStub, (t) => {
  const device = makeDevice(t)
  const slots = openDeviceSlots({
    dataDirectory: join(device.directory, 'data'),
    storeDirectory: device.store,
    own: { version: FIRST, program: 'own.js', readable: [] },
    releaseKey: releasePublicKey,
    boot: null,
    architecture: 'x64',
    secureBoot: null,
    minimum: { admit: () => {}, raise: () => {}, rulesOut: () => false },
  })
  assert.deepEqual([slots.choose().version, slots.choose().trial], [FIRST, false])
  assert.throws(() => upload(slots, { version: '1.1.0' }), conflict(/cannot be updated/))
  slots.take({ do: 'discard' })
  slots.markGood()
})
