/** Placements of messages from before their table: filled in beside requests, a few at a time, and read right all the while. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openDatabase } from '../../../firmware/chat/store/database.ts'
import { PLACED_COLUMNS } from '../../../firmware/chat/store/messages.ts'
import { MIGRATIONS } from '../../../firmware/chat/store/schema.ts'
import { openStore } from '../../../firmware/chat/store/store.ts'
import { deriveSealKey } from '../../../firmware/crypto/seal.ts'
import { CHAT_KEY } from '../support/chat.ts'

const MESSAGES = 12_000
const OF_ONE_STEP = 2000 // at most
const [TOWN, HALL] = [2, 3]
const BEFORE = 9 // migrations before the one that makes the table

/** A store of the version before, all of whose messages are in one channel. */
function storeOfBefore(directory: string): void {
  const key = deriveSealKey(CHAT_KEY, 'chat.db')
  const old = openDatabase({ path: join(directory, 'chat.db'), key, migrations: MIGRATIONS.slice(0, BEFORE) })
  old.transaction(() => {
    old.database.exec(`INSERT INTO topics VALUES (4, ${TOWN}, 'dinner', 'dinner'), (5, ${HALL}, 'lunch', 'lunch')`)
    old.database.exec(`INSERT INTO counters VALUES ('ordinal ${TOWN}', ${MESSAGES})`)
    old.database.exec(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${MESSAGES})
       INSERT INTO messages (id, sender, recipient, topic, origin, time, birth, ordinal, bits, client, content, html, extra)
       SELECT n, 1, ${TOWN}, 4, 4, 1000, ${TOWN}, n, 0, 'test', 'hello', '<p>hello</p>', '{}' FROM numbers`,
    )
  })
  old.close()
}

const row = (ordinal: number) => ({
  ...{ sender: 1, recipient: TOWN, topic: 4, birth: TOWN, ordinal, time: 1001, bits: 0, client: 'test' },
  ...{ content: 'new', html: '<p>new</p>', extra: '{}' },
})

test('an upgrade fills the table in small steps; messages are sent, moved, removed and read meanwhile', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-chat-'))
  try {
    storeOfBefore(directory)
    const store = openStore({ directory, chatKey: CHAT_KEY })
    try {
      const count = (): number =>
        store.select<{ count: number }>('SELECT count(*) AS count FROM placements', [])[0]!.count
      const ordinals = (from: number, to: number) =>
        store.messages.sentBetween(TOWN, from, to, MESSAGES).map(({ ordinal }) => ordinal)
      assert.equal(count(), 0, 'opening fills in nothing')
      assert.equal(ordinals(1, MESSAGES).length, MESSAGES)

      const through = "SELECT value FROM counters WHERE name = 'placements through'"
      const isComplete = (): boolean =>
        store.select<{ value: number }>(through, [])[0]?.value === Number.MAX_SAFE_INTEGER
      let sent = MESSAGES
      let turns = 0
      while (!isComplete()) {
        const before = count()
        await turn()
        assert.ok(count() - before <= OF_ONE_STEP, `${count() - before} at once`)
        turns++
        store.transaction(() => {
          store.messages.add(row(store.messages.nextOrdinal(TOWN)))
          sent++
          for (const id of [3 * turns, MESSAGES - 3 * turns]) {
            store.messages.place([id], { recipient: HALL, topic: 5, extra: '{}', arrival: null })
            store.messages.remove(id + 1)
          }
        })
        assert.deepEqual(ordinals(sent, sent), [sent])
      }
      assert.ok(turns >= MESSAGES / OF_ONE_STEP, `${turns} turns`)
      const rows = (table: string) => store.select(`SELECT ${PLACED_COLUMNS} FROM ${table} ORDER BY id`, [])
      assert.deepEqual(rows('placements'), rows('messages'))
      assert.equal(store.messages.sentBetween(TOWN, 1, sent, 2 * MESSAGES).length, rows('messages').length)
    } finally {
      store.close()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
