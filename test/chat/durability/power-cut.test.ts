/**
 * The power fails between two answers: of what was written since the first some sectors are on the disk and some are not.
 * SQLite syncs its log before it answers, and what it moves into the database before it cuts the log off.
 */

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLog } from '../../../firmware/base/log.ts'
import { createChat } from '../../../firmware/chat/chat.ts'
import type { Realm } from '../../../firmware/chat/realm/realm.ts'
import { CHAT_KEY, openTestChat, type TestChat } from '../support/chat.ts'
import { expectConsistent } from './consistency.ts'

const CUTS = 100
const SECTOR_BYTES = 512
const WHOLE = 0.3 // of the cuts come after the last write
const CHECKPOINT_EVERY = 10 // cuts

interface Files {
  database: Buffer
  log: Buffer
}

test(`${CUTS} power cuts lose nothing that was answered`, { timeout: 300_000 }, async () => {
  const rig = await openTestChat()
  const scratch = mkdtempSync(join(tmpdir(), 'coffer-cut-'))
  try {
    const channel = rig.channel('Denmark', [rig.owner])
    const first = await rig.owner.post('/messages', { type: 'channel', to: channel.id, topic: 't', content: 'first' })
    let partly = 0
    for (let cut = 0; cut < CUTS; cut++) {
      const before = { files: filesOf(rig.directory), state: stateOf(rig.chat.realm) }
      const isCheckpoint = cut % CHECKPOINT_EVERY === CHECKPOINT_EVERY - 1
      if (isCheckpoint) rig.chat.realm.store.select('PRAGMA wal_checkpoint(TRUNCATE)', [])
      else await act(rig, channel.id, first.id, cut)
      const after = { files: filesOf(rig.directory), state: stateOf(rig.chat.realm) }
      const directory = join(scratch, String(cut))
      mkdirSync(directory)
      const torn = isCheckpoint
        ? { database: mixed(before.files.database, after.files.database), log: before.files.log }
        : { database: before.files.database, log: mixed(before.files.log, after.files.log) }
      writeFileSync(join(directory, 'chat.db'), torn.database)
      writeFileSync(join(directory, 'chat.db-wal'), torn.log)
      const state = reopened(directory)
      if (state !== before.state) {
        assert.equal(state, after.state, 'all of a change or nothing')
        partly++
      }
      rmSync(directory, { recursive: true })
    }
    assert.ok(partly > 0 && partly < CUTS, `${partly} changes were whole, the others were cut off`)
  } finally {
    rig.close()
    rmSync(scratch, { recursive: true, force: true })
  }
})

async function act({ owner }: TestChat, channelId: number, firstId: number, turn: number): Promise<void> {
  const content = `message ${turn} ${'x'.repeat((turn * 997) % 9000)}`
  const message = { type: 'channel', to: channelId, topic: `t${turn % 5}`, content }
  if (turn % 4 === 1) await owner.patch(`/messages/${firstId}`, { content })
  else if (turn % 4 === 2)
    await owner.post('/messages/flags', { messages: [firstId], op: turn % 8 === 2 ? 'add' : 'remove', flag: 'starred' })
  else await owner.post('/messages', message)
}

function filesOf(directory: string): Files {
  const read = (name: string): Buffer => readFileSync(join(directory, name))
  return { database: read('chat.db'), log: read('chat.db-wal') }
}

/** Of the sectors that differ each is the old or the new one; beyond the old end also zeros, or the file ends before. */
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

/** All that clients can see. */
const stateOf = ({ store }: Realm): string =>
  JSON.stringify([
    store.select('SELECT id, topic, content, extra FROM messages ORDER BY id', []),
    store.select('SELECT * FROM topics ORDER BY id', []),
    store.select('SELECT * FROM flags ORDER BY user, recipient, flag', []),
    store.select('SELECT * FROM things ORDER BY kind, key', []),
  ])

function reopened(directory: string): string {
  const chat = createChat({
    directory,
    chatKey: CHAT_KEY,
    log: createLog('error', () => {}),
    derive: async () => new Uint8Array(32),
  })
  try {
    expectConsistent(chat.realm)
    return stateOf(chat.realm)
  } finally {
    chat.close()
  }
}
