/** The directory of etcd, in which its user can put anything: no link in it is followed. */

import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createRunner, dataIn, type EtcdUsers, eraseIn, hasDataIn } from '../../boot/etcd/runner.ts'
import { checkPermissions } from '../../boot/host/permissions.ts'
import { makeDataDirectory } from '../support/process.ts'
import { MEMORY_DIRECTORY } from '../support/tools.ts'

const FIRMWARE = 60_700
const CHAT = 60_701
const ETCD = 60_702
const byRoot = { skip: process.geteuid!() !== 0 && 'only root gives files away' }

interface Place {
  data: string
  directory: string
  make(): void
}

function openPlace(t: TestContext, users: EtcdUsers = { etcdId: ETCD, firmwareId: FIRMWARE }): Place {
  const data = makeDataDirectory(t)
  chmodSync(data, 0o711)
  writeFileSync(join(data, 'device.key'), 'secret', { mode: 0o600 })
  mkdirSync(join(data, 'store'), { mode: 0o700 })
  writeFileSync(join(data, 'store', 'store.db'), 'sealed', { mode: 0o600 })
  const directory = join(data, 'etcd')
  const runner = { program: '/usr/bin/etcd', launcher: [], directory, listenUrl: (url: string) => url }
  const { makeDirectory } = createRunner({ ...runner, users, secretDirectory: MEMORY_DIRECTORY })
  return { data, directory, make: makeDirectory }
}

const shown = (path: string): string => {
  const { uid, gid, mode } = lstatSync(path)
  return `${uid}:${gid} ${(mode & 0o7777).toString(8)}`
}
const ofOthers = ({ data }: Place): string[] =>
  ['', 'device.key', 'store', 'store/store.db'].map((name) => shown(join(data, name)))

function fill(directory: string, id: number): void {
  const logs = join(dataIn(directory), 'member', 'wal')
  mkdirSync(logs, { recursive: true, mode: 0o700 })
  writeFileSync(join(logs, '0.wal'), '', { mode: 0o600 })
  for (const path of [dataIn(directory), join(dataIn(directory), 'member'), logs, join(logs, '0.wal')])
    chownSync(path, id, id)
}

test('etcd owns it, and the firmware may enter; what is in it etcd makes', byRoot, (t) => {
  const place = openPlace(t)
  place.make()
  assert.equal(shown(place.directory), `${ETCD}:${FIRMWARE} 2750`)
  assert.deepEqual(readdirSync(place.directory), [])
})

test('a link in the place of the data leads us nowhere', byRoot, (t) => {
  const place = openPlace(t)
  place.make()
  const before = ofOthers(place)
  symlinkSync('..', dataIn(place.directory))
  const ids = { firmwareId: FIRMWARE, chatId: CHAT, etcdId: ETCD }
  checkPermissions(place.data, ids, assert.fail)
  place.make()
  assert.deepEqual(ofOthers(place), before)
})

test('what an etcd made that ran as root is given to it, once, and links in it are not followed', byRoot, (t) => {
  const place = openPlace(t)
  fill(place.directory, 0)
  const before = ofOthers(place)
  symlinkSync('../../..', join(dataIn(place.directory), 'link'))
  place.make()
  const log = join(dataIn(place.directory), 'member', 'wal', '0.wal')
  assert.deepEqual([shown(log), shown(dataIn(place.directory))], [`${ETCD}:${ETCD} 600`, `${ETCD}:${ETCD} 700`])
  assert.deepEqual(ofOthers(place), before)
  chownSync(log, 0, 0)
  place.make()
  assert.equal(shown(log), '0:0 600') // by now it is for etcd to say what is there
})

for (const [what, link] of [
  ['the data', (directory: string) => dataIn(directory)],
  ['the member', (directory: string) => join(dataIn(directory), 'member')],
] as const)
  test(`an erasure that finds a link in the place of ${what} removes the link`, (t) => {
    const place = openPlace(t, { etcdId: null, firmwareId: null })
    place.make()
    const foreign = join(place.data, 'foreign')
    mkdirSync(join(foreign, 'member', 'wal'), { recursive: true })
    mkdirSync(join(foreign, 'wal'))
    const path = link(place.directory)
    mkdirSync(join(path, '..'), { recursive: true })
    symlinkSync(foreign, path)
    eraseIn(place.directory)
    assert.equal(existsSync(place.directory), false)
    assert.deepEqual(readdirSync(foreign), ['member', 'wal'])
    assert.deepEqual(readdirSync(join(foreign, 'member')), ['wal'])
  })

test('an erasure that was cut is finished by the next, and nothing takes what it left for that of a member', (t) => {
  const place = openPlace(t, { etcdId: null, firmwareId: null })
  fill(place.directory, process.geteuid!())
  assert.equal(hasDataIn(place.directory), true)
  mkdirSync(join(place.directory, 'erased', 'member', 'wal'), { recursive: true })
  eraseIn(place.directory)
  assert.equal(existsSync(place.directory), false)
  mkdirSync(join(place.directory, 'erased', 'member', 'wal'), { recursive: true })
  writeFileSync(join(place.directory, 'erased', 'member', 'wal', '0.wal'), '')
  assert.equal(hasDataIn(place.directory), false)
  eraseIn(place.directory)
  assert.equal(existsSync(place.directory), false)
})
