/** A data directory that other users may read or write is mended with a line, or refused. */

import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SettingsError } from '../../boot/base/settings-error.ts'
import { checkPermissions } from '../../boot/host/permissions.ts'
import { stateOf } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'

const FIRMWARE = 60_700
const CHAT = 60_701
const ETCD = 60_702
const STRANGER = 12_345

const modeOf = (path: string) => statSync(path).mode & 0o777

function check(directory: string): string[] {
  const lines: string[] = []
  checkPermissions(directory, { firmwareId: FIRMWARE, chatId: CHAT, etcdId: ETCD }, (line) => lines.push(line))
  return lines
}

test('what is as it should be is left, without a word', (t) => {
  const directory = makeDataDirectory(t)
  assert.deepEqual(check(directory), [])
  writeFileSync(join(directory, 'device.key'), '', { mode: 0o600 })
  writeFileSync(join(directory, 'release.pub'), '', { mode: 0o644 })
  mkdirSync(join(directory, 'store'), { mode: 0o700 })
  chmodSync(directory, 0o711)
  assert.deepEqual(check(directory), [])
  assert.equal(modeOf(directory), 0o711)
})

for (const mode of [0o755, 0o750, 0o770, 0o777, 0o701 | 0o020]) {
  test(`a data directory of mode ${mode.toString(8)} is closed, and that is said`, (t) => {
    const directory = makeDataDirectory(t)
    chmodSync(directory, mode)
    assert.match(
      check(directory).join(),
      new RegExp(`${directory} was open to other users \\(mode ${mode.toString(8)}\\)`),
    )
    assert.equal(modeOf(directory), 0o700)
    assert.deepEqual(check(directory), [])
  })
}

for (const mode of [0o644, 0o640, 0o660, 0o602]) {
  test(`a device key of mode ${mode.toString(8)} is closed, and what it may have cost is said`, (t) => {
    const directory = makeDataDirectory(t)
    const path = join(directory, 'device.key')
    writeFileSync(path, '')
    chmodSync(path, mode)
    assert.match(check(directory).join(), /device\.key was open to other users .*Anyone who read device\.key before/)
    assert.equal(modeOf(path), 0o600)
  })
}

test('nobody else may write the release key, the versions or the store', (t) => {
  const directory = makeDataDirectory(t)
  for (const name of ['store', 'slots']) mkdirSync(join(directory, name))
  writeFileSync(join(directory, 'release.pub'), '')
  for (const name of ['store', 'slots', 'release.pub']) chmodSync(join(directory, name), 0o777)
  assert.equal(check(directory).length, 3)
  assert.deepEqual(
    ['store', 'slots', 'release.pub'].map((name) => modeOf(join(directory, name))),
    [0o700, 0o755, 0o755],
  )
})

test('what belongs to another user is refused', (t) => {
  if (process.geteuid!() !== 0) {
    assert.throws(() => check('/'), SettingsError)
    return
  }
  for (const name of ['', 'device.key', 'store', 'release.pub']) {
    const directory = makeDataDirectory(t)
    if (name !== '') writeFileSync(join(directory, name), '', { mode: 0o600 })
    chownSync(join(directory, name), STRANGER, STRANGER)
    assert.throws(
      () => check(directory),
      (error) => error instanceof SettingsError && /belongs to another user \(12345\)/.test(error.message),
    )
  }
  const directory = makeDataDirectory(t)
  mkdirSync(join(directory, 'store'), { mode: 0o700 })
  chownSync(join(directory, 'store'), FIRMWARE, FIRMWARE)
  assert.deepEqual(check(directory), [])
})

test('Coffer says so, and starts', async (t) => {
  const data = makeDataDirectory(t)
  chmodSync(data, 0o777)
  const coffer = startCoffer(t, { program: await buildForTests(), data })
  await coffer.see(/was open to other users \(mode 777\); it no longer is\./)
  assert.equal(await stateOf(coffer), 'Unprovisioned')
})
