/** What must agree in a database, whatever happened to it. */

import assert from 'node:assert/strict'
import type { Realm } from '../../../firmware/chat/realm/realm.ts'

export function expectConsistent({ store }: Realm): void {
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
  none('SELECT message FROM mentions WHERE message NOT IN (SELECT id FROM messages)', 'no mention without its message')
  none(
    'SELECT message FROM history WHERE message NOT IN (SELECT id FROM messages)',
    'nobody has a message that is gone',
  )
  none(
    "SELECT id FROM messages WHERE ordinal > (SELECT value FROM counters WHERE name = 'ordinal ' || birth)",
    'no ordinal will be given again',
  )
}
