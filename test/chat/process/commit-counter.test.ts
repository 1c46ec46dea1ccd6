/** Counts of the databases' commits, and how an older copy of a database is recognized by them. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCommitCounter } from '../../../firmware/chat/process/commit-counter.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { CHAT_KEY } from '../support/chat.ts'

const GENERATION = '0123456789abcdef'
const KEEPER = { generation: GENERATION, chatKey: CHAT_KEY, random: systemRandom, damaged: [] }

function keeper(kept: Uint8Array | null, chat: number, files: number, values: object = {}) {
  const said: string[] = []
  const commits = { 'chat.db': chat, 'files.db': files }
  const report = (problem: string) => void said.push(problem)
  const options = { ...KEEPER, kept, commits, report, ...values }
  const opened = openCommitCounter(options)
  return { said, opened, kept: opened.seal(commits) }
}

test('each database that has seen fewer commits is named, also by the starts after', () => {
  const first = keeper(null, 5, 7)
  assert.deepEqual([first.said, first.opened.older], [[], []])
  const same = keeper(first.kept, 5, 7)
  assert.deepEqual([same.said, same.opened.older], [[], []])
  const older = keeper(first.kept, 9, 6)
  assert.deepEqual(older.opened.older, ['files.db'])
  assert.match(older.said.join(), /^files\.db was put back to an older copy: 6 commits instead of 7$/)
  const damaged = keeper(first.kept, 5, 7, { damaged: ['chat.db'] })
  assert.deepEqual(damaged.opened.older, ['chat.db'])
  const after = keeper(older.kept, 99, 99)
  assert.deepEqual([after.said, after.opened.older], [[], ['files.db']])
})

test('what is kept says nothing, and is told once', () => {
  const { opened, kept } = keeper(null, 5, 7)
  assert.ok(!Buffer.from(kept!).includes(GENERATION))
  assert.equal(opened.seal({ 'chat.db': 5, 'files.db': 7 }), null)
  assert.notEqual(opened.seal({ 'chat.db': 6, 'files.db': 7 }), null)
})

test('what was kept of another generation, by another key, or was changed, is said to be of no use', () => {
  const { kept } = keeper(null, 5, 7)
  const flipped = Uint8Array.from(kept!)
  flipped[40]! ^= 1
  for (const [bytes, values] of [
    [kept, { generation: 'fedcba9876543210' }],
    [kept, { chatKey: new Uint8Array(32) }],
    [flipped, {}],
    [new Uint8Array(3), {}],
  ] as const) {
    const { said, opened } = keeper(bytes, 1, 1, values)
    assert.deepEqual(said, ['cannot read the stored commit counts of the databases'])
    assert.deepEqual(opened.older, [])
  }
})
