/** The oldest version that a device still runs: who may have the device key, and what is taken as an update. */

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createMinimumVersion } from '../../../boot/device/minimum-version.ts'
import { SlotConflict } from '../../../boot/versions/slot-error.ts'

function device(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-minimum-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const storeDirectory = join(directory, 'store')
  mkdirSync(storeDirectory)
  const path = join(directory, 'minimum-version')
  const key = () => ({ key: new Uint8Array(32).fill(7) })
  const start = (version: string, rollbackFloor = '0.0') =>
    createMinimumVersion({ path, storeDirectory, version, rollbackFloor, counter: null })
  const file = join(storeDirectory, 'coffer.db')
  const fillStore = () => writeFileSync(file, 'x')
  const emptyStore = () => rmSync(file)
  return { path, key, start, fillStore, emptyStore }
}

test('a version that is good raises the minimum to its floor, never above, never down', (t) => {
  const { key, start, fillStore, path } = device(t)
  const first = start('1.0')
  assert.deepEqual(first.guard(key()), key())
  fillStore()
  const onTrial = start('1.2', '1.1')
  assert.deepEqual(onTrial.guard(key()), key())
  assert.deepEqual(start('1.0').guard(key()), key(), 'on trial it has raised nothing')
  onTrial.raise()
  const refused = start('1.0').guard(key())
  assert.ok('problem' in refused)
  assert.match(refused.problem, /version 1\.0 is older than 1\.1, the oldest that this device still runs/)
  const later = start('1.1', '1.0')
  assert.deepEqual(later.guard(key()), key())
  const record = readFileSync(path)
  later.raise()
  assert.deepEqual(readFileSync(path), record)
})

test('what is refused is wiped, and what is refused already stays as it is', (t) => {
  const { key, start, fillStore } = device(t)
  start('2.0', '2.0').guard(key())
  fillStore()
  const input = key()
  assert.ok('problem' in start('1.0').guard(input))
  assert.deepEqual(input.key, new Uint8Array(32))
  assert.deepEqual(start('1.0').guard({ problem: 'none' }), { problem: 'none' })
})

test('goodness that is known before the key is recorded with it', (t) => {
  const { key, start, fillStore } = device(t)
  start('1.0').guard(key())
  fillStore()
  const minimum = start('1.2', '1.2')
  minimum.raise()
  minimum.guard(key())
  assert.ok('problem' in start('1.1').guard(key()))
})

test('an update that is too old is refused by name', (t) => {
  const { key, start } = device(t)
  const minimum = start('1.2', '1.1')
  minimum.guard(key())
  minimum.admit('1.1')
  assert.throws(
    () => minimum.admit('1.0.9'),
    (error) => error instanceof SlotConflict && /1\.0\.9 is older than 1\.1/.test(error.message),
  )
})

test('without its record, with a changed one or with one of another device, the key of a store is not given', (t) => {
  const { key, start, fillStore, path } = device(t)
  start('1.2', '1.1').guard(key())
  fillStore()
  const record = readFileSync(path)
  for (let at = 0; at < record.length; at++) {
    const changed = Buffer.from(record)
    changed[at]! ^= 1
    writeFileSync(path, changed)
    const answer = start('1.2').guard(key())
    assert.match('problem' in answer ? answer.problem : '', /has been changed/)
  }
  writeFileSync(path, '')
  assert.ok('problem' in start('1.2').guard(key()))
  writeFileSync(path, record)
  assert.ok('problem' in start('1.2').guard({ key: new Uint8Array(32).fill(8) }))
  rmSync(path)
  const answer = start('1.2').guard(key())
  assert.match('problem' in answer ? answer.problem : '', /is missing/)
})

test('a store that is emptied after the key was taken out is none without a record, nor is one filled then', (t) => {
  const { key, start, fillStore, emptyStore, path } = device(t)
  start('2.0', '2.0').guard(key())
  fillStore()
  rmSync(path)
  const filled = start('1.0')
  emptyStore()
  const empty = start('1.0')
  const answer = filled.guard(key())
  assert.match('problem' in answer ? answer.problem : '', /is missing/)
  fillStore()
  assert.ok('problem' in empty.guard(key()))
})

test('without a store the record of another key is made anew, and one of the same key holds', (t) => {
  const { key, start, fillStore } = device(t)
  const other = () => ({ key: new Uint8Array(32).fill(8) })
  start('2.0', '2.0').guard(key())
  assert.ok('problem' in start('1.0').guard(key()))
  assert.deepEqual(start('1.0').guard(other()), other())
  fillStore()
  assert.deepEqual(start('1.0').guard(other()), other())
  for (const version of ['1.0', '2.0']) {
    const answer = start(version).guard(key())
    assert.match('problem' in answer ? answer.problem : '', /has been changed/)
  }
})
