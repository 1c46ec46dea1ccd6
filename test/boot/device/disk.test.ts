import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { DiskError, findDisk } from '../../../boot/device/system/disk.ts'

const NO_WAIT_MS = 0
const SECTORS = 2048

const partitionsOf = (disk: string): [name: string, label: string][] =>
  ['coffer-esp', 'coffer-root-a', 'coffer-root-b', 'coffer-data'].map((label, index) => [`${disk}${index + 1}`, label])

const holder = (root: string, disk: string, partition: string) =>
  mkdirSync(join(root, `devices/pci0/block/${disk}/${partition}/holders/dm-0`))

/** A sysfs as the kernel makes it: `class/block` holds links into the devices. */
function makeSysfs(t: TestContext): { root: string; add: typeof add } {
  const root = mkdtempSync(join(tmpdir(), 'coffer-sysfs-'))
  t.after(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'class/block'), { recursive: true })
  const place = (name: string, path: string, uevent: string) => {
    mkdirSync(join(root, path), { recursive: true })
    writeFileSync(join(root, path, 'uevent'), uevent)
    writeFileSync(join(root, path, 'size'), `${SECTORS}\n`)
    mkdirSync(join(root, path, 'holders'))
    symlinkSync(join('../..', path), join(root, 'class/block', name))
  }
  function add(disk: string, partitions: [name: string, label: string | null][]): void {
    place(disk, `devices/pci0/block/${disk}`, `MAJOR=254\nMINOR=0\nDEVNAME=${disk}\nDEVTYPE=disk\nDISKSEQ=1\n`)
    partitions.forEach(([name, label], index) => {
      const text = `DEVNAME=${name}\nDEVTYPE=partition\nPARTN=${index + 1}\n${label === null ? '' : `PARTNAME=${label}\n`}`
      place(name, `devices/pci0/block/${disk}/${name}`, text)
    })
  }
  return { root, add }
}

test('finds the partitions by their labels, whatever the disk is called', async (t) => {
  const { root, add } = makeSysfs(t)
  add('vda', [['vda1', 'something else']])
  add('nvme0n1', partitionsOf('nvme0n1p'))
  holder(root, 'nvme0n1', 'nvme0n1p2')
  assert.deepEqual(await findDisk(root, NO_WAIT_MS), {
    disk: '/dev/nvme0n1',
    esp: '/dev/nvme0n1p1',
    spareRoot: { path: '/dev/nvme0n1p3', bytes: SECTORS * 512 },
    data: '/dev/nvme0n1p4',
    dataNumber: 4,
  })
})

test('what runs is left alone: spare is the root partition that no device lies on', async (t) => {
  const { root, add } = makeSysfs(t)
  add('sda', partitionsOf('sda'))
  holder(root, 'sda', 'sda3')
  assert.equal((await findDisk(root, NO_WAIT_MS)).spareRoot.path, '/dev/sda2')
  holder(root, 'sda', 'sda2')
  await assert.rejects(findDisk(root, NO_WAIT_MS), DiskError)
})

test('does not put together partitions of different disks', async (t) => {
  const { root, add } = makeSysfs(t)
  const partitions = partitionsOf('sda')
  add('sda', partitions.slice(0, 2))
  add('sdb', partitions.slice(2))
  await assert.rejects(
    findDisk(root, NO_WAIT_MS),
    new DiskError('no disk has the partitions coffer-esp, coffer-root-a, coffer-root-b and coffer-data'),
  )
})

test('does not choose between two disks', async (t) => {
  const { root, add } = makeSysfs(t)
  for (const disk of ['sda', 'sdb']) add(disk, partitionsOf(disk))
  await assert.rejects(
    findDisk(root, NO_WAIT_MS),
    new DiskError('/dev/sda and /dev/sdb both hold a Coffer; remove all but one'),
  )
})

test('a disk whose label has an equals sign in it is only another disk', async (t) => {
  const { root, add } = makeSysfs(t)
  add('sda', [['sda1', 'coffer-esp=1'], ...partitionsOf('sda').slice(1), ['sda5', null]])
  await assert.rejects(findDisk(root, NO_WAIT_MS), DiskError)
})

test('waits for a disk that comes late', async (t) => {
  const { root, add } = makeSysfs(t)
  const found = findDisk(root, 10_000)
  await wait(300)
  add('sda', partitionsOf('sda'))
  assert.equal((await found).data, '/dev/sda4')
})
