// @test long 90
/** The ESP after power cuts: what was good stays whole, and what is left over goes. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { openFat } from '../../../boot/device/esp/fat.ts'
import { repairEsp } from '../../../boot/device/esp/repair.ts'
import { type FatImage, makeFat, onFat, SECTOR_BYTES } from './fat-image.ts'

const OLD = 'EFI/Linux/coffer_1.0.0.efi'
const TRIED = 'EFI/Linux/coffer_1.1.0+3-0.efi'
const INCOMING = 'EFI/coffer/incoming/coffer-x64.efi'
const LOADER = 'EFI/BOOT/BOOTX64.EFI'
const KINDS = [16, 32] as const

const old = randomBytes(300_000)
const next = randomBytes(200_001)

function makeEsp(t: TestContext, kind: 16 | 32): FatImage {
  const esp = makeFat(t, kind)
  esp.put(LOADER, randomBytes(5000))
  esp.put('loader/loader.conf', Buffer.from('timeout 0\n'))
  esp.put(OLD, old)
  return esp
}

for (const kind of KINDS) {
  test(`FAT${kind}: an ESP in order is left as it is`, onFat, (t) => {
    const esp = makeEsp(t, kind)
    esp.put('EFI/coffer/make-data', new Uint8Array())
    const before = readFileSync(esp.path)
    assert.deepEqual(repairEsp(esp.path), [])
    assert.deepEqual(readFileSync(esp.path), before)
  })

  test(`FAT${kind}: names, sizes and contents are read as others wrote them`, onFat, (t) => {
    const esp = makeEsp(t, kind)
    for (let n = 0; n < 60; n++) esp.put(`EFI/Linux/a long name of a file, number ${n}.txt`, randomBytes(n * 100))
    const fat = openFat(esp.path)
    const files = fat.list().filter(({ isDirectory }) => !isDirectory)
    fat.close()
    assert.deepEqual(files.map(({ path }) => path).sort(), esp.names())
    assert.equal(files.find(({ path }) => path === OLD)?.size, old.length)
  })

  test(`FAT${kind}: an upload that was cut short is gone, and its room is free again`, onFat, (t) => {
    const esp = makeEsp(t, kind)
    const before = esp.names()
    esp.put(INCOMING, next)
    esp.put('EFI/coffer/incoming/manifest.json', Buffer.from('{}'))
    assert.equal(repairEsp(esp.path).length, 2)
    assert.deepEqual(esp.names(), before)
    assert.equal(esp.complaints(), '')
    assert.deepEqual(repairEsp(esp.path), [])
    for (let n = 0; n < 3; n++) esp.put(`EFI/Linux/full-${n}`, Buffer.alloc(12_000_000)) // needs all of the room
    assert.deepEqual(esp.get(OLD), old)
  })

  test(`FAT${kind}: a version without content is no version`, onFat, (t) => {
    const esp = makeEsp(t, kind)
    esp.put(TRIED, new Uint8Array())
    assert.match(repairEsp(esp.path).join(), /coffer_1\.1\.0\+3-0\.efi is removed/)
    assert.deepEqual(esp.names().includes(TRIED), false)
    assert.equal(esp.complaints(), '')
  })
}

interface Change {
  what: string
  prepare: (esp: FatImage) => void
  act: (esp: FatImage) => void
  /** Files that may exist afterwards besides the old version, with their content. */
  outcomes: Record<string, Buffer>[]
}

const CHANGES: Change[] = [
  {
    what: 'a commit',
    prepare: (esp) => esp.put(INCOMING, next),
    act: (esp) => esp.move(INCOMING, TRIED),
    outcomes: [{}, { [TRIED]: next }],
  },
  {
    what: 'the end of a trial',
    prepare: (esp) => esp.put('EFI/Linux/coffer_1.1.0+2-1.efi', next),
    act: (esp) => esp.move('EFI/Linux/coffer_1.1.0+2-1.efi', 'EFI/Linux/coffer_1.1.0.efi'),
    outcomes: [{}, { 'EFI/Linux/coffer_1.1.0+2-1.efi': next }, { 'EFI/Linux/coffer_1.1.0.efi': next }],
  },
  {
    what: 'the removal of a version',
    prepare: (esp) => esp.put('EFI/Linux/coffer_0.9.0.efi', next),
    act: (esp) => esp.remove('EFI/Linux/coffer_0.9.0.efi'),
    outcomes: [{}, { 'EFI/Linux/coffer_0.9.0.efi': next }],
  },
]

/** Which of the sectors that an operation has changed had reached the disk. */
function subsets(count: number): boolean[][] {
  if (count <= 6)
    return Array.from({ length: 2 ** count }, (_, n) => Array.from({ length: count }, (_, i) => !!((n >> i) & 1)))
  return Array.from({ length: 64 }, () => Array.from({ length: count }, () => Math.random() < 0.5))
}

for (const kind of KINDS)
  for (const { what, prepare, act, outcomes } of CHANGES)
    test(`FAT${kind}: ${what}, of which any part has reached the disk, is whole or undone`, onFat, (t) => {
      const esp = makeEsp(t, kind)
      prepare(esp)
      const before = readFileSync(esp.path)
      act(esp)
      const after = readFileSync(esp.path)
      const changed: number[] = []
      for (let at = 0; at < before.length; at += SECTOR_BYTES)
        if (!before.subarray(at, at + SECTOR_BYTES).equals(after.subarray(at, at + SECTOR_BYTES))) changed.push(at)
      assert.ok(changed.length >= 1)
      for (const kept of subsets(changed.length)) {
        const torn = Buffer.from(before)
        for (const [index, at] of changed.entries()) if (kept[index]) after.copy(torn, at, at, at + SECTOR_BYTES)
        writeFileSync(esp.path, torn)
        repairEsp(esp.path)
        assert.deepEqual(repairEsp(esp.path), [], 'a second repair finds nothing')
        const versions = esp.names().filter((name) => name.startsWith('EFI/Linux/'))
        assert.ok(versions.includes(OLD))
        assert.deepEqual(esp.get(OLD), old)
        const others = versions.filter((name) => name !== OLD)
        const outcome = outcomes.find((outcome) => Object.keys(outcome).join() === others.join())
        assert.ok(outcome, `left: ${others}; reached the disk: ${kept}`)
        if (what !== 'the removal of a version') {
          for (const [name, content] of Object.entries(outcome)) assert.deepEqual(esp.get(name), content)
          assert.equal(esp.complaints(), '')
        }
      }
    })

test('of two names for one content the good one stays, or the one with fewer tries left', onFat, (t) => {
  for (const [a, b, kept] of [
    ['coffer_1.1.0+2-1.efi', 'coffer_1.1.0.efi', 'coffer_1.1.0.efi'],
    ['coffer_1.1.0+3-0.efi', 'coffer_1.1.0+2-1.efi', 'coffer_1.1.0+2-1.efi'],
  ] as const) {
    const esp = makeEsp(t, 32)
    esp.put(`EFI/Linux/${a}`, next)
    esp.put(`EFI/Linux/${b}`, randomBytes(10))
    share(esp, `EFI/Linux/${a}`, `EFI/Linux/${b}`)
    assert.match(esp.complaints(), /share clusters|sharing|same/i)
    repairEsp(esp.path)
    assert.equal(esp.complaints(), '')
    assert.deepEqual(
      esp.names().filter((name) => name.includes('1.1.0')),
      [`EFI/Linux/${kept}`],
    )
    assert.deepEqual(esp.get(`EFI/Linux/${kept}`), next)
  }
})

/** The record of `to` points to what `from` has, as in the middle of a rename. */
function share(esp: FatImage, from: string, to: string): void {
  const fat = openFat(esp.path)
  const [source, target] = [from, to].map((name) => fat.list().find(({ path }) => path === name)!)
  fat.close()
  const bytes = readFileSync(esp.path)
  const [here, there] = [source!, target!].map(({ records }) => records.at(-1)!)
  for (const [start, end] of [
    [20, 22],
    [26, 32],
  ] as const)
    bytes.copy(bytes, there! + start, here! + start, here! + end)
  writeFileSync(esp.path, bytes)
}

test('what is no FAT file system, or a damaged one, is told and left alone', onFat, (t) => {
  const esp = makeEsp(t, 32)
  const good = readFileSync(esp.path)
  for (const damage of [
    (bytes: Buffer) => bytes.fill(0),
    (bytes: Buffer) => bytes.writeUInt8(0, 13),
    (bytes: Buffer) => bytes.writeUInt16LE(7, 11),
    (bytes: Buffer) => bytes.writeUInt32LE(0xffff_ffff, 36),
    (bytes: Buffer) => bytes.writeUInt32LE(1, 36),
  ]) {
    const bytes = Buffer.from(good)
    damage(bytes)
    writeFileSync(esp.path, bytes)
    assert.match(repairEsp(esp.path).join(), /^The ESP cannot be checked: /)
    assert.deepEqual(readFileSync(esp.path), bytes)
  }
})

test('directories that lead into each other end, and chains that lead into themselves', onFat, (t) => {
  const esp = makeEsp(t, 32)
  const good = readFileSync(esp.path)
  for (let n = 0; n < 200; n++) {
    const bytes = Buffer.from(good)
    for (let k = 0; k < 20; k++) bytes[Math.floor(Math.random() * 700_000)] = Math.floor(Math.random() * 256)
    writeFileSync(esp.path, bytes)
    assert.ok(Array.isArray(repairEsp(esp.path)))
  }
})
