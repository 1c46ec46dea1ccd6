/** Owners of the store and the chat's directory if root starts Coffer: their users, who may change them during the check. */

import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openHost } from '../../boot/host/host-platform.ts'
import type { Platform } from '../../boot/platform.ts'
import { createStoreCopy } from '../../boot/versions/store-copy.ts'
import { makeDataDirectory } from '../support/process.ts'

const FIRMWARE = 60_700
const CHAT = 60_701
const byRoot = { skip: process.geteuid!() !== 0 && 'only root gives files away' }
const NAME = 'd'.repeat(250)
const HALF_LEVELS = 10 // two of these come to more than a path may have: PATH_MAX in limits.h is 4096

interface Host {
  data: string
  store: string
  chat: string
  start(): Platform
  end(): void
}

function openPlace(t: TestContext): Host {
  const parent = makeDataDirectory(t)
  chmodSync(parent, 0o711)
  const data = join(parent, 'data')
  let lock: number | null = null
  const end = () => {
    if (lock !== null) closeSync(lock)
    lock = null
  }
  t.after(end)
  const start = (): Platform => {
    const platform = openHost(
      {
        dataDirectory: data,
        host: '127.0.0.1',
        port: 0,
        httpPort: null,
        chatPort: 0,
        console: true,
        logLevel: 'info',
        etcdPath: null,
        isolatedMaxMs: 0,
        releaseKeyPath: null,
      },
      () => {},
    )
    lock = platform.lock
    platform.slots.choose()
    platform.chat!.makeDirectory()
    return platform
  }
  return { data, store: join(data, 'store'), chat: join(data, 'chat'), start, end }
}

const ownerOf = (...names: string[]): number => lstatSync(join(...names)).uid

function makeNested(directory: string, depth: number, name = 'd'): string {
  const path = join(directory, ...Array<string>(depth).fill(name))
  mkdirSync(path, { recursive: true })
  return path
}

test('they are given when they are made, also after a factory reset', byRoot, async (t) => {
  const { store, chat, start } = openPlace(t)
  const platform = start()
  assert.deepEqual([ownerOf(store), ownerOf(chat)], [FIRMWARE, CHAT])
  platform.prepare('factoryReset')
  await platform.perform('factoryReset')
  platform.slots.choose()
  platform.chat!.makeDirectory()
  assert.deepEqual([ownerOf(store), ownerOf(chat)], [FIRMWARE, CHAT])
})

test(
  'what a Coffer made that ran as root is given, but no file that has another name, nor what a link leads to',
  byRoot,
  (t) => {
    const { data, store, chat, start } = openPlace(t)
    for (const directory of [store, chat]) {
      const inner = makeNested(directory, 2)
      for (const path of [join(directory, 'a.db'), join(inner, 'b.db')]) writeFileSync(path, '', { mode: 0o600 })
    }
    writeFileSync(join(data, 'device.key'), Buffer.alloc(32), { mode: 0o600 })
    linkSync(join(data, 'device.key'), join(store, 'key'))
    symlinkSync('../device.key', join(store, 'link'))
    start()
    for (const name of ['.', 'a.db', 'd', 'd/d', 'd/d/b.db'])
      assert.deepEqual([ownerOf(store, name), ownerOf(chat, name)], [FIRMWARE, CHAT], name)
    assert.equal(ownerOf(data, 'device.key'), 0)
  },
)

test('what is theirs is looked at no more, in which they could put a link meanwhile', byRoot, (t) => {
  const { store, chat, start, end } = openPlace(t)
  start()
  end()
  for (const [directory, id] of [
    [store, FIRMWARE],
    [chat, CHAT],
  ] as const) {
    const inner = makeNested(directory, 1)
    chownSync(inner, id, id)
    writeFileSync(join(inner, 'foreign'), '')
  }
  start()
  for (const directory of [store, chat]) assert.equal(ownerOf(directory, 'd', 'foreign'), 0)
})

test('directories deeper than a path can tell keep nobody from running as another user', byRoot, (t) => {
  const { store, chat, start, end } = openPlace(t)
  start()
  end()
  for (const directory of [store, chat]) nestTooDeep(directory)
  assert.notDeepEqual(start().launcher, [], 'not as root')
})

function nestTooDeep(directory: string): void {
  const other = join(directory, '..', 'other')
  makeNested(other, HALF_LEVELS, NAME)
  renameSync(other, join(makeNested(directory, HALF_LEVELS, NAME), 'other'))
}

test('a Coffer that must run as root has them meanwhile, and what it made is given afterwards', byRoot, (t) => {
  const { data, store, chat, start, end } = openPlace(t)
  start()
  end()
  chmodSync(join(data, '..'), 0o700)
  assert.deepEqual(start().launcher, [])
  assert.deepEqual([ownerOf(store), ownerOf(chat)], [0, 0])
  for (const directory of [store, chat]) writeFileSync(join(directory, 'a.db'), '', { mode: 0o600 })
  end()
  chmodSync(join(data, '..'), 0o711)
  assert.notDeepEqual(start().launcher, [])
  assert.deepEqual([ownerOf(store, 'a.db'), ownerOf(chat, 'a.db')], [FIRMWARE, CHAT])
  assert.deepEqual([ownerOf(store), ownerOf(chat)], [FIRMWARE, CHAT])
})

test('a copy of the store that is put back belongs to the firmware', byRoot, (t) => {
  const { store, start, end } = openPlace(t)
  start()
  writeFileSync(join(store, 'a.db'), '')
  chownSync(join(store, 'a.db'), FIRMWARE, FIRMWARE)
  const copy = createStoreCopy(store)
  copy.make()
  copy.restore()
  end()
  assert.deepEqual([ownerOf(store), ownerOf(store, 'a.db')], [FIRMWARE, FIRMWARE])
  start()
  assert.deepEqual([ownerOf(store), ownerOf(store, 'a.db')], [FIRMWARE, FIRMWARE])
})
