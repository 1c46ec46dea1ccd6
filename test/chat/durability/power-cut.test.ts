// @test long 30
/**
 * The power fails while a change is written: of what the change has added some sectors are on the disk and some are not.
 * What was written before it is there, since SQLite syncs its log before a change ends, and what it moves into the database
 * before it cuts the log off.
 */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Realm } from '../../../firmware/chat/realm/model/realm.ts'
import { DATABASES, type DatabaseName } from '../../../firmware/chat/store/store.ts'
import { CHAT_KEY, type Client, openTestChat, type TestChat } from '../support/chat.ts'
import { expectConsistent, fileIn } from './consistency.ts'
import { openQuietly, scratchDirectory } from './open.ts'

const CUTS = 100
const SECTOR_BYTES = 512
const WHOLE = 0.3 // of the cuts come after the last write
const CHECKPOINT_EVERY = 10 // cuts

interface Files {
  database: Buffer
  log: Buffer
}
type Disk = Record<DatabaseName, Files>

interface Moment {
  logBytes: Record<DatabaseName, number>
  state: string
}

test(`${CUTS} power cuts lose nothing that was answered`, { timeout: 300_000 }, async (t) => {
  const rig = await openTestChat()
  t.after(() => rig.close())
  const scratch = scratchDirectory(t)
  const act = await someActions(rig)
  // Nothing moves by itself.
  const { copying } = rig.chat.realm.store
  copying.begin()
  const moments = momentsOf(t, rig)
  let partly = 0
  for (let cut = 0; cut < CUTS; cut++) {
    const before = diskOf(rig.directory)
    moments.splice(0, moments.length, momentOf(rig))
    const isCheckpoint = cut % CHECKPOINT_EVERY === CHECKPOINT_EVERY - 1
    if (isCheckpoint) {
      copying.end()
      copying.begin()
    } else await act(cut)
    const after = diskOf(rig.directory)
    const at = 1 + Math.floor(Math.random() * (moments.length - 1))
    const [last, next] = isCheckpoint ? [moments[0]!, moments[0]!] : [moments[at - 1]!, moments[at]!]
    const directory = join(scratch, String(cut))
    mkdirSync(directory)
    for (const name of DATABASES) {
      const torn = isCheckpoint
        ? { database: mixed(before[name].database, after[name].database), log: before[name].log }
        : { database: before[name].database, log: tornLog(after[name].log, last.logBytes[name], next.logBytes[name]) }
      writeFileSync(join(directory, name), torn.database)
      writeFileSync(join(directory, `${name}-wal`), torn.log)
    }
    const state = await reopened(directory)
    if (state !== last.state) {
      assert.equal(state, next.state, 'all of a change or nothing')
      partly++
    }
    rmSync(directory, { recursive: true })
  }
  assert.ok(partly > 0 && partly < CUTS, `${partly} changes were whole, the others were cut off`)
})

async function someActions(rig: TestChat): Promise<(turn: number) => Promise<unknown>> {
  const { owner } = rig
  const reader: Client = rig.account('reader')
  const channel = rig.channel('Denmark', [owner, reader])
  const send = (content: string, topic = 't') =>
    owner.post('/messages', { type: 'channel', to: channel.id, topic, content })
  const { id } = await send('first')
  const uploads: number[] = []
  return async (turn) => {
    const content = `message ${turn} ${'x'.repeat((turn * 997) % 9000)}`
    const op = Math.floor(turn / 6) % 2 === 0 ? 'add' : 'remove'
    if (turn % 6 === 1) return owner.patch(`/messages/${id}`, { content })
    if (turn % 6 === 2) return owner.post('/messages/flags', { messages: [id], op, flag: 'starred' })
    if (turn % 6 === 3) return reader.post('/messages/flags', { messages: [id], op, flag: 'read' })
    if (turn % 6 === 4) {
      const file = Buffer.alloc(1 + ((turn * 100_003) % 2_000_000), content)
      const { body } = await owner.upload('POST', '/user_uploads', file)
      const { attachments } = await owner.get('/attachments')
      uploads.push(attachments[0].id)
      return send(`[file](${body.url})`)
    }
    if (turn % 6 === 5 && uploads.length > 1) return owner.delete(`/attachments/${uploads.shift()}`)
    return send(content, `t${turn % 5}`)
  }
}

function momentsOf(t: TestContext, rig: TestChat): Moment[] {
  const { store } = rig.chat.realm
  const moments: Moment[] = []
  const noted =
    <P extends unknown[], R>(change: (...parameters: P) => R) =>
    (...parameters: P): R => {
      const result = change(...parameters)
      moments.push(momentOf(rig))
      return result
    }
  t.mock.method(store, 'transaction', noted(store.transaction))
  t.mock.method(store.files, 'write', noted(store.files.write))
  t.mock.method(store.files, 'removeSome', noted(store.files.removeSome))
  return moments
}

function momentOf({ directory, chat }: TestChat): Moment {
  const bytesOf = (name: DatabaseName) => statSync(join(directory, `${name}-wal`)).size
  return { logBytes: { 'chat.db': bytesOf('chat.db'), 'files.db': bytesOf('files.db') }, state: stateOf(chat.realm) }
}

function diskOf(directory: string): Disk {
  const read = (name: DatabaseName): Files => ({
    database: readFileSync(join(directory, name)),
    log: readFileSync(join(directory, `${name}-wal`)),
  })
  return { 'chat.db': read('chat.db'), 'files.db': read('files.db') }
}

/** Keeps a part of the bytes between the two ends. */
const tornLog = (log: Buffer, from: number, to: number): Buffer => mixed(log.subarray(0, from), log.subarray(0, to))

/** Takes each differing sector from the old or the new file. Beyond the old end it may be zeros, or the file ends before it. */
function mixed(before: Buffer, after: Buffer): Buffer {
  const bytes = Buffer.alloc(after.length)
  before.copy(bytes)
  const share = Math.random() < WHOLE ? 1 : 0.5
  for (let at = 0; at < after.length; at += SECTOR_BYTES)
    if (Math.random() < share) after.copy(bytes, at, at, at + SECTOR_BYTES)
  const more = after.length - before.length
  const end = before.length + (share === 1 ? more : Math.floor(Math.random() * (more + 1)))
  return after.length <= before.length ? bytes : bytes.subarray(0, end)
}

const stateOf = ({ store }: Realm): string => {
  const uploads = store.select<{ id: number }>('SELECT * FROM uploads ORDER BY id', [])
  return JSON.stringify([
    store.select('SELECT id, topic, content, extra FROM messages ORDER BY id', []),
    store.select('SELECT * FROM topics ORDER BY id', []),
    store.select('SELECT * FROM flags ORDER BY user, recipient, flag', []),
    store.select('SELECT * FROM things ORDER BY kind, key', []),
    store.select('SELECT * FROM claims ORDER BY upload, message', []),
    uploads.map((row) => ({ ...row, sha256: createHash('sha256').update(fileIn(store, row.id)).digest('hex') })),
  ])
}

async function reopened(directory: string): Promise<string> {
  const logged: string[] = []
  const chat = openQuietly(directory, CHAT_KEY, logged)
  try {
    await expectConsistent(chat.realm)
    assert.deepEqual(
      logged.filter((line) => line.startsWith('error')),
      [],
      'a power cut is not called damage',
    )
    return stateOf(chat.realm)
  } finally {
    chat.close()
  }
}
