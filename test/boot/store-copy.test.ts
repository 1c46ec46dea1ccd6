/** The copy of the store before a trial, while a process that a taken-over firmware has left behind changes the store. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs, {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createStoreCopy, type StoreCopy } from '../../boot/versions/store-copy.ts'
import { makeDataDirectory } from '../support/process.ts'

const FIRMWARE = 60_700
const isRoot = process.geteuid!() === 0

interface Place {
  store: string
  copy: StoreCopy
  secret: string
  restored(): Record<string, string>
}

function openPlace(t: TestContext): Place {
  const data = makeDataDirectory(t)
  const [store, secret] = [join(data, 'store'), join(data, 'device.key')]
  mkdirSync(store, { mode: 0o700 })
  writeFileSync(secret, 'secret', { mode: 0o600 })
  for (const name of ['a.db', 'b.db']) writeFileSync(join(store, name), name, { mode: 0o600 })
  const copy = createStoreCopy(store)
  const restored = () => {
    copy.restore()
    return Object.fromEntries(readdirSync(store).map((name) => [name, readFileSync(join(store, name), 'latin1')]))
  }
  return { store, copy, secret, restored }
}

function meanwhile(t: TestContext, store: string, change: () => void): void {
  const { readdirSync: list } = fs
  const mocked = t.mock.method(fs, 'readdirSync', (...parameters: Parameters<typeof list>) => {
    const found = list(...parameters)
    if (parameters[0] === store) change()
    return found
  })
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
}

test('what is restored is the store as it was, with its owners and modes', (t) => {
  const { store, copy, restored } = openPlace(t)
  if (isRoot) for (const path of [join(store, 'a.db'), store]) chownSync(path, FIRMWARE, FIRMWARE)
  const shown = () =>
    ['', 'a.db', 'b.db'].map((name) => {
      const { uid, gid, mode } = statSync(join(store, name))
      return [uid, gid, mode]
    })
  const before = shown()
  copy.make()
  writeFileSync(join(store, 'a.db'), 'migrated')
  writeFileSync(join(store, 'c.db'), 'new')
  assert.deepEqual(restored(), { 'a.db': 'a.db', 'b.db': 'b.db' })
  assert.deepEqual(shown(), before)
})

test('a file larger than what is read at once is whole', (t) => {
  const { store, copy, restored } = openPlace(t)
  truncateSync(join(store, 'a.db'), 40 * 1024 * 1024)
  copy.make()
  assert.equal(restored()['a.db'], 'a.db'.padEnd(40 * 1024 * 1024, '\0'))
})

test('a link, and a directory, that are in the store lead nowhere', (t) => {
  const { store, copy, secret, restored } = openPlace(t)
  symlinkSync(secret, join(store, 'c.db'))
  mkdirSync(join(store, 'd'))
  copy.make()
  assert.deepEqual(restored(), { 'a.db': 'a.db', 'b.db': 'b.db' })
})

for (const [what, put] of [
  ['a link', (path: string, secret: string) => symlinkSync(secret, path)],
  ['a pipe', (path: string) => assert.equal(spawnSync('mkfifo', [path]).status, 0)],
] as const)
  test(`${what} that takes the place of a file meanwhile is not followed, nor waited for`, (t) => {
    const { store, copy, secret } = openPlace(t)
    const path = join(store, 'b.db')
    meanwhile(t, store, () => {
      rmSync(path)
      put(path, secret)
    })
    assert.throws(() => copy.make())
    assert.equal(copy.exists(), false)
    assert.equal(existsSync(`${store}.before-trial.new`), false)
  })
