// @test long 30
/** The text of a deleted message is nowhere in the decrypted pages once the answer is sent: contract sections 7.4, 12. */

import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDatabase } from '../../../firmware/chat/store/database.ts'
import { MIGRATIONS } from '../../../firmware/chat/store/schema.ts'
import { deriveSealKey } from '../../../firmware/crypto/seal.ts'
import { Random } from '../model/operations.ts'
import { CHAT_KEY, openTestChat } from '../support/chat.ts'
import { scratchDirectory } from './open.ts'

const OTHERS = 150 // messages that stay
const WORDS_EACH = 6
const LETTERS = 12
const TAIL = 8 // of a word, should its beginning be shared with the one before it in the index

/** All pages as they are without the seal, unused ones among them; the log is to be empty. */
function pagesOf(t: TestContext, directory: string): string {
  const to = scratchDirectory(t)
  const path = join(to, 'chat.db')
  copyFileSync(join(directory, 'chat.db'), path)
  assert.equal(statSync(join(directory, 'chat.db-wal')).size, 0, 'nothing is left in the log')
  const { database, close } = openDatabase({ path, key: deriveSealKey(CHAT_KEY, 'chat.db'), migrations: MIGRATIONS })
  database.pragma('journal_mode = DELETE')
  ;(database as unknown as { rekey(key: Buffer): void }).rekey(Buffer.alloc(0))
  close()
  const pages = readFileSync(path).toString('latin1')
  assert.ok(pages.startsWith('SQLite format 3'), 'they are opened')
  return pages
}

test('words of deleted messages are gone from all pages and the log when the answer is sent', async (t) => {
  const rig = await openTestChat({ directory: scratchDirectory(t) })
  t.after(() => rig.close())
  const random = new Random(3)
  const word = (): string => Array.from({ length: LETTERS }, () => String.fromCharCode(97 + random.below(26))).join('')
  const text = (): string[] => Array.from({ length: WORDS_EACH }, word)
  const hamlet = rig.account('hamlet')
  const [first, second] = [rig.channel('elsinore', [rig.owner, hamlet]), rig.channel('wittenberg', [rig.owner, hamlet])]
  const send = async (topic: string, words: string[], to: object = { type: 'channel', to: first.id, topic }) =>
    (await rig.owner.post('/messages', { ...to, content: words.join(' ') })).id
  const staying = text()
  for (let count = 0; count < OTHERS; count++) await send('others', count === 0 ? staying : text())

  const gone: string[] = []
  const secret = (): string[] => {
    const words = text()
    gone.push(...words)
    return words
  }
  const plain = await send('others', secret())
  const edited = await send('others', secret())
  await rig.owner.patch(`/messages/${edited}`, { content: secret().join(' ') })
  await rig.owner.patch(`/messages/${edited}`, { content: secret().join(' ') })
  const moved = await send('others', secret())
  await rig.owner.patch(`/messages/${moved}`, { stream_id: second.id, topic: 'elsewhere' })
  const direct = await send('', secret(), { type: 'direct', to: [hamlet.user.id] })
  const topic = word() // its name may stay with those who follow it
  for (let count = 0; count < 5; count++) await send(topic, secret())
  const kept = await send('others', text())
  const before = secret()
  await rig.owner.patch(`/messages/${kept}`, { content: before.join(' ') })
  await rig.owner.patch(`/messages/${kept}`, { content: text().join(' ') })

  rig.chat.realm.store.clearLog()
  const pagesBefore = pagesOf(t, rig.directory)
  assert.ok(
    gone.every((word, at) => at % WORDS_EACH !== 1 || pagesBefore.includes(word)),
    'they would be found',
  )
  assert.deepEqual(
    before.flatMap((word) => rig.chat.realm.store.select('SELECT rowid FROM words WHERE words MATCH ?', [word])),
    [],
    'of an edited one they are in its history alone',
  )
  for (const id of [plain, edited, moved, direct, kept]) {
    await rig.owner.delete(`/messages/${id}`)
    assert.equal(statSync(join(rig.directory, 'chat.db-wal')).size, 0, 'also while it is sent')
  }
  await rig.owner.post(`/streams/${first.id}/delete_topic`, { topic_name: topic })

  const pages = pagesOf(t, rig.directory)
  assert.deepEqual(
    gone.filter((word) => pages.includes(word.slice(-TAIL)) || pages.includes(word.slice(0, TAIL))),
    [],
  )
  assert.ok(
    staying.every((word) => pages.includes(word)),
    'what was not deleted is there',
  )
})
