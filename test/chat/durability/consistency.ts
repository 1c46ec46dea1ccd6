/** Invariants of a chat database after any failure. */

import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import type { Realm } from '../../../firmware/chat/realm/model/realm.ts'
import type { ChatStore } from '../../../firmware/chat/store/store.ts'

const TURNS_MAX = 10_000 // of the event loop, in which what is left of uploads goes

/** Just after it was opened, when no upload is under way. */
export async function expectConsistent({ store }: Realm): Promise<void> {
  assert.deepEqual(store.select('PRAGMA integrity_check', []), [{ integrity_check: 'ok' }])
  const none = (sql: string, what: string): void => assert.deepEqual(store.select(sql, []), [], what)
  none(
    'SELECT id FROM messages WHERE topic > 0 AND NOT EXISTS (SELECT 1 FROM topics WHERE topics.id = messages.topic AND topics.recipient = messages.recipient)',
    'each message lies in a topic of its channel',
  )
  none(
    'SELECT id FROM topics WHERE NOT EXISTS (SELECT 1 FROM messages WHERE messages.topic = topics.id AND messages.topic > 0)',
    'each topic has a message',
  )
  none(
    'SELECT number FROM topic_moves WHERE topic NOT IN (SELECT id FROM topics)',
    'nothing is kept of what befell a topic that is gone',
  )
  none('SELECT message FROM mentions WHERE message NOT IN (SELECT id FROM messages)', 'no mention without its message')
  none(
    'SELECT message FROM history WHERE message NOT IN (SELECT id FROM messages)',
    'nobody has a message that is gone',
  )
  none(
    "SELECT id FROM messages WHERE ordinal > (SELECT value FROM counters WHERE name = 'ordinal ' || birth)",
    'no ordinal will be given again',
  )
  none(
    'SELECT * FROM claims WHERE upload NOT IN (SELECT id FROM uploads) OR message NOT IN (SELECT id FROM messages)',
    'each message that shows a file is there, and the file, too',
  )
  assert.deepEqual(
    store.select('SELECT owner, files, bytes FROM upload_sums ORDER BY owner', []),
    store.select('SELECT owner, count(*) AS files, sum(size) AS bytes FROM uploads GROUP BY owner ORDER BY owner', []),
    'the sums of uploads are those of the files',
  )
  const uploads = store.select<{ id: number; size: number }>('SELECT id, size FROM uploads', [])
  for (const { id, size } of uploads) assert.equal(fileIn(store, id).length, size, `file ${id} is whole`)
  const known = new Set(uploads.map(({ id }) => id))
  const orphans = () => store.files.all().filter((id) => !known.has(id))
  for (let waited = 0; waited < TURNS_MAX && orphans().length > 0; waited++) await turn()
  assert.deepEqual(orphans(), [], 'nothing is left of files that are none')
}

export function fileIn({ files }: ChatStore, upload: number): Buffer {
  const chunks: Uint8Array[] = []
  for (let chunk = files.read(upload, 0); chunk !== undefined; chunk = files.read(upload, chunks.length))
    chunks.push(chunk)
  return Buffer.concat(chunks)
}
