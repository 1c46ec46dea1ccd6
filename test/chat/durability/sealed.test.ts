// @test long 30
/** The files of the chat on the disk reveal nothing. Changed files: damage.test.ts. */

import assert from 'node:assert/strict'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { CofferError } from '../../../firmware/base/error.ts'
import { DATABASES } from '../../../firmware/chat/store/store.ts'
import { deriveSealKey } from '../../../firmware/crypto/seal.ts'
import { createSearch, type Needle } from '../../durability/traces.ts'
import { CHAT_KEY, OWNER_PASSWORD, openTestChat, type TestChat } from '../support/chat.ts'
import { aDay, SECRETS } from './day.ts'
import { openQuietly } from './open.ts'

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
      ...keys(rig),
    ]
    const search = createSearch(needles)
    // A checkpoint may just have emptied one of the logs: both have what is uploaded then.
    const isEmpty = (log: string) => statSync(join(rig.directory, log)).size === 0
    for (let uploads = 0; ['chat.db-wal', 'files.db-wal'].some(isEmpty); uploads++) {
      assert.ok(uploads < 100, 'the logs are there to be searched')
      await rig.owner.upload('POST', '/user_uploads', Buffer.from(SECRETS.content))
    }
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

const keys = ({ chat }: TestChat): Needle[] => [
  { what: 'the chat key', bytes: CHAT_KEY },
  { what: 'the secrets key', bytes: chat.realm.secretsKey.slice() },
  ...DATABASES.map((name) => ({ what: `the key of ${name}`, bytes: deriveSealKey(CHAT_KEY, name) })),
]

test('no key is in what it logs or answers, be it about damage', async () => {
  const rig = await openTestChat()
  try {
    await aDay(rig)
    const search = createSearch(keys(rig))
    const said = await Promise.all([
      ...['/register', '/messages', '/fetch_api_key'].map((path) => rig.owner.call('POST', path, { content: 'x' })),
      ...['/server_settings', '/users', '/users/me', '/users/me/subscriptions', '/attachments', '/nothing'].map(
        (path) => rig.owner.call('GET', path),
      ),
    ])
    rig.pause()
    assert.throws(() => openQuietly(rig.directory, new Uint8Array(32).fill(8), rig.logged))
    writeFileSync(join(rig.directory, 'chat.db-wal'), new Uint8Array(10_000).fill(1))
    openQuietly(rig.directory, CHAT_KEY, rig.logged).close()
    assert.equal(said[0]!.status, 200)
    for (const { headers, body } of said) {
      const answer = JSON.stringify([[...headers], body])
      assert.deepEqual(search.searchBytes('an answer', Buffer.from(answer)), [])
    }
    assert.deepEqual(search.searchBytes('the log', Buffer.from(rig.logged.join('\n'))), [])
    rig.resume()
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
    assert.throws(() => openQuietly(rig.directory, new Uint8Array(32).fill(8)), isStorage)
  } finally {
    rig.resume()
    rig.close()
  }
})

test('files are for their owner alone', async () => {
  const rig = await openTestChat()
  try {
    for (const file of readdirSync(rig.directory))
      assert.equal(statSync(join(rig.directory, file)).mode & 0o077, 0, file)
  } finally {
    rig.close()
  }
})

const isStorage = (error: unknown): boolean => error instanceof CofferError && error.code === 'storage'
