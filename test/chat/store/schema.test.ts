import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openDatabase } from '../../../firmware/chat/store/database.ts'
import { MIGRATIONS } from '../../../firmware/chat/store/schema.ts'
import { openStore } from '../../../firmware/chat/store/store.ts'
import { ID_OF_ROW } from '../../../firmware/chat/store/words.ts'
import { deriveSealKey } from '../../../firmware/crypto/seal.ts'
import { CHAT_KEY } from '../support/chat.ts'

/** As each version made it, with a message in a topic that was moved once. */
const ROWS = `
  INSERT INTO topics VALUES (4, 2, 'dinner', 'dinner');
  INSERT INTO messages (id, sender, recipient, topic, time, birth, ordinal, bits, client, content, html, extra) VALUES (9, 1, 2, 4, 1000, 2, 1, 0, 'test', 'hello', '<p>hello</p>',
    '{"edits":[{"timestamp":1001,"user_id":1,"prev_topic":"lunch","topic":"dinner"}],"moved":1001}');
  INSERT INTO uploads VALUES (5, '2/aa/a/a.txt', 7, 'a.txt', 300, 1000, NULL, NULL), (6, '2/bb/b/b.txt', 7, 'b.txt', 20, 1000, NULL, NULL);`

const UPLOADS_COUNTED_FROM = 9

MIGRATIONS.forEach((_, at) => {
  test(`a database of version ${at + 1} is opened with all that was in it`, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'coffer-chat-'))
    try {
      const path = join(directory, 'chat.db')
      const key = deriveSealKey(CHAT_KEY, 'chat.db')
      const old = openDatabase({ path, key, migrations: MIGRATIONS.slice(0, at + 1) })
      old.transaction(() => old.database.exec(ROWS))
      old.close()
      const store = openStore({ directory, chatKey: CHAT_KEY })
      try {
        assert.equal(store.messages.get(9)?.content, 'hello')
        assert.equal(JSON.parse(store.messages.get(9)!.extra).moved, 1001)
        assert.equal(store.topics.get(4)?.name, 'dinner')
        assert.deepEqual(store.topics.movesOf(4, 0, 9), [])
        assert.equal(
          store.transaction(() => store.topics.addMove(4, 9, '{}')),
          1,
        )
        assert.equal(store.topics.newestMove(4), 1)
        const isCounted = at + 1 >= UPLOADS_COUNTED_FROM // by what made them, which the rows above leave out
        assert.deepEqual(store.uploads.sumOf(7), isCounted ? { files: 0, bytes: 0 } : { files: 2, bytes: 320 })
        const found = (word: string) => store.select(`SELECT ${ID_OF_ROW} AS id FROM words WHERE words MATCH ?`, [word])
        while (!store.words.isComplete) await turn()
        assert.deepEqual(found('hello'), [{ id: 9 }])
        assert.deepEqual(found('dinner'), [{ id: 9 }])
        assert.deepEqual(store.words.topicsWith({ words: ['dinner'], isPrefix: false }, 2), [])
        store.transaction(() => store.messages.remove(9))
        assert.deepEqual(found('hello'), [])
      } finally {
        store.close()
      }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  })
})
