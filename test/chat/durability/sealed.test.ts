/** What is on the disk says nothing, and what was changed there is not taken for ours. Design 4. */

import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { CofferError } from '../../../firmware/base/error.ts'
import type { Log } from '../../../firmware/base/log.ts'
import { type Chat, createChat } from '../../../firmware/chat/chat.ts'
import { createSearch, type Needle } from '../../durability/traces.ts'
import { CHAT_KEY, OWNER_PASSWORD, openTestChat, type TestChat } from '../support/chat.ts'
import { expectConsistent } from './consistency.ts'

const PAGE_BYTES = 4096
const PAGES_TRIED = 20
const SECRETS = {
  channel: 'Elsinore battlements',
  topic: 'something is rotten',
  content: 'The time is out of joint, o cursed spite',
  edited: 'That ever I was born to set it right',
  direct: 'Neither a borrower nor a lender be',
  group: 'Brevity is the soul of wit, my lords',
}

/** A day in short: all that people write, some of it removed again. */
async function aDay(rig: TestChat): Promise<void> {
  const hamlet = rig.account('ophelia-of-denmark')
  const channel = rig.channel(SECRETS.channel, [rig.owner, hamlet])
  const message = { type: 'channel', to: channel.id, topic: SECRETS.topic }
  for (let turn = 0; turn < 60; turn++) {
    const { id } = await rig.owner.post('/messages', { ...message, content: `${SECRETS.content} ${turn}` })
    if (turn % 3 === 0) await rig.owner.patch(`/messages/${id}`, { content: `${SECRETS.edited} ${turn}` })
    if (turn % 5 === 0) await rig.owner.delete(`/messages/${id}`)
  }
  await rig.owner.post('/messages', { type: 'direct', to: [hamlet.user.id], content: SECRETS.direct })
  await hamlet.post('/messages', { type: 'direct', to: [rig.owner.user.id], content: SECRETS.group })
  await rig.owner.register()
}

test('nothing that anybody wrote, no name, key or password is in any file', async () => {
  const rig = await openTestChat()
  try {
    await aDay(rig)
    const words = [
      ...Object.values(SECRETS),
      'olivia@example.com',
      'Olivia Owner',
      'ophelia-of-denmark',
      'Notification Bot',
      OWNER_PASSWORD,
      rig.owner.key,
      'CREATE TABLE',
      'SQLite format 3',
      'integer primary key',
    ]
    const needles: Needle[] = [
      ...words.map((word) => ({ what: word, bytes: Buffer.from(word) })),
      ...words.filter(({ length }) => length > 20).flatMap((word) => compressed(word)),
      { what: 'the chat key', bytes: CHAT_KEY },
      { what: 'the secrets key', bytes: rig.chat.realm.secretsKey.slice() },
    ]
    const search = createSearch(needles)
    assert.ok(readdirSync(rig.directory).includes('chat.db-wal'), 'the log is there to be searched')
    assert.deepEqual(search.searchDirectory(rig.directory), [], 'while it runs')
    assert.equal(search.searchBytes('memory', Buffer.from(SECRETS.content)).length, 1, 'it would be found')
    rig.pause()
    assert.deepEqual(search.searchDirectory(rig.directory), [], 'after its end')
    rig.resume()
    assert.deepEqual(rig.logged, [])
  } finally {
    rig.close()
  }
})

/** The middle of the streams, which does not depend on what stands around. */
const compressed = (word: string): Needle[] => [
  { what: `${word} deflated`, bytes: deflateRawSync(word).subarray(2, -2) },
  { what: `${word} gzipped`, bytes: gzipSync(word).subarray(12, -10) },
]

test('another key opens nothing', async () => {
  const rig = await openTestChat()
  rig.pause()
  try {
    assert.throws(() => open(rig.directory, new Uint8Array(32).fill(8)), isStorage)
  } finally {
    rig.resume()
    rig.close()
  }
})

test('a flipped bit in any page, and pages that changed places, are refused and said', {
  timeout: 120_000,
}, async () => {
  const rig = await openTestChat()
  const scratch = scratchDirectory()
  try {
    await aDay(rig)
    rig.pause()
    const sound = readFileSync(join(rig.directory, 'chat.db'))
    const pages = sound.length / PAGE_BYTES
    assert.ok(pages > 20)
    const step = Math.max(1, Math.floor(pages / PAGES_TRIED))
    for (let page = 0; page < pages; page += step) {
      const bytes = Buffer.from(sound)
      const at = page * PAGE_BYTES + Math.floor(Math.random() * PAGE_BYTES)
      bytes[at]! ^= 1 << Math.floor(Math.random() * 8)
      expectRefused(scratch, bytes, `a bit of byte ${at} flipped`)
    }
    for (let page = 2; page < pages; page += step) {
      const bytes = Buffer.from(sound)
      sound.copy(bytes, (page - 1) * PAGE_BYTES, page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
      sound.copy(bytes, page * PAGE_BYTES, (page - 1) * PAGE_BYTES, page * PAGE_BYTES)
      expectRefused(scratch, bytes, `pages ${page - 1} and ${page} swapped`)
    }
    rig.resume()
    expectConsistent(rig.chat.realm)
  } finally {
    rig.close()
    rmSync(scratch, { recursive: true, force: true })
  }
})

/** When it is opened, or when all of it is looked through. */
function expectRefused(directory: string, bytes: Buffer, what: string): void {
  for (const file of readdirSync(directory)) rmSync(join(directory, file))
  writeFileSync(join(directory, 'chat.db'), bytes)
  try {
    const chat = open(directory)
    try {
      const answer = chat.realm.store.select<{ integrity_check: string }>('PRAGMA integrity_check', [])
      assert.notEqual(answer[0]?.integrity_check, 'ok', what)
    } finally {
      chat.close()
    }
  } catch (error) {
    const { code } = error as { code?: string }
    assert.ok(isStorage(error) || code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB', `${what}: ${error}`)
  }
}

test('damage below a database that was not closed is said in the log', async () => {
  const rig = await openTestChat()
  const copy = join(scratchDirectory(), 'copy')
  try {
    await aDay(rig)
    rig.chat.realm.store.select('PRAGMA wal_checkpoint(TRUNCATE)', [])
    const sound = readFileSync(join(rig.directory, 'chat.db'))
    let said = 0
    for (let page = sound.length / PAGE_BYTES - 1; page > 0 && said < 3; page--) {
      rmSync(copy, { recursive: true, force: true })
      cpSync(rig.directory, copy, { recursive: true })
      const bytes = Buffer.from(sound)
      bytes[page * PAGE_BYTES + 100]! ^= 1
      writeFileSync(join(copy, 'chat.db'), bytes)
      const logged: string[] = []
      const chat = openUnlessRefused(copy, logged)
      if (chat === null) continue
      for (let turn = 0; turn < 1000 && logged.length === 0; turn++) await wait(1)
      assert.match(logged[0] ?? '', /^error chat: The chat's database is damaged/, `page ${page}`)
      said++
      chat.close()
    }
    assert.equal(said, 3)
  } finally {
    rig.close()
    rmSync(dirname(copy), { recursive: true, force: true })
  }
})

function openUnlessRefused(directory: string, logged: string[]): Chat | null {
  try {
    return open(directory, CHAT_KEY, logged)
  } catch (error) {
    assert.ok(isStorage(error), String(error))
    return null
  }
}

test('files are for their owner alone', async () => {
  const rig = await openTestChat()
  try {
    for (const file of readdirSync(rig.directory))
      assert.equal(statSync(join(rig.directory, file)).mode & 0o077, 0, file)
  } finally {
    rig.close()
  }
})

/** In memory where there is such a disk: these are opened again and again. */
const scratchDirectory = (): string =>
  mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'coffer-sealed-'))

const isStorage = (error: unknown): boolean => error instanceof CofferError && error.code === 'storage'

function open(directory: string, chatKey = CHAT_KEY, logged: string[] = []) {
  const write = (level: string) => (source: string, message: string) =>
    void logged.push(`${level} ${source}: ${message}`)
  const log = { error: write('error'), warning: write('warning'), info: write('info'), debug: write('debug') }
  return createChat({ directory, chatKey, log: log as unknown as Log, derive: async () => new Uint8Array(32) })
}
