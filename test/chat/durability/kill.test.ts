// @test long 30 slow
/** The chat is killed at any moment: what was answered holds, no id is given twice, and searches find what there is. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { plainSearch, plainText } from '../search/plain.ts'
import { openTestChat, type TestChat } from '../support/chat.ts'
import { expectConsistent } from './consistency.ts'
import { Ledger } from './ledger.ts'

const KILLS = process.env.COFFER_SLOW === undefined ? 6 : 300
const ANSWERS_MAX = 40 // before a kill: 0 to 39, in turn, however fast the computer is
const KILL_MS_MAX = 12 // after them, at random: about as long as the next answer takes
const SENDER = fileURLToPath(new URL('sender.ts', import.meta.url))

test(`what was answered survives ${KILLS} kills`, { timeout: 1_200_000 }, async (t) => {
  const rig = await openTestChat()
  t.after(() => rig.close())
  const reader = rig.account('reader')
  rig.channel('Denmark', [rig.owner, reader])
  const readers = { starred: rig.owner.user.id, read: reader.user.id }
  const ledger = new Ledger()
  for (let kill = 0; kill < KILLS; kill++) {
    rig.pause()
    const sender = spawn(process.execPath, [SENDER, rig.directory], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(sender, 'exit')
    let answers = 0
    for await (const line of createInterface(sender.stdout)) {
      ledger.note(JSON.parse(line))
      if (answers++ === (kill * 17) % ANSWERS_MAX)
        void wait(Math.random() * KILL_MS_MAX).then(() => sender.kill('SIGKILL'))
    }
    assert.deepEqual(await ended, [null, 'SIGKILL'], 'it ended by being killed')
    rig.resume()
    ledger.check(rig.chat.realm, readers)
    await expectConsistent(rig.chat.realm)
    await expectSearchable(rig)
    const damage = rig.logged.filter((line) => line.startsWith('error'))
    assert.deepEqual(damage, [], 'a kill is not called damage')
  }
  assert.ok(ledger.messages > KILLS && ledger.files > 0, 'something was sent and uploaded')
})

const SEARCHES = ['herring', 'tea', 'teap', 'edited', '日本', '"tea 3"', 'file', 'herring tea'] as const
const NEWEST = 200 // messages looked at; of those before, nothing has changed since the last time

/** The newest messages that a plain filter finds. */
async function expectSearchable({ chat, owner }: TestChat): Promise<void> {
  const { store } = chat.realm
  const rows = store
    .select<{ id: number; content: string; topic: string | null }>(
      `SELECT messages.id, content, name AS topic FROM messages LEFT JOIN topics ON topics.id = messages.topic
       ORDER BY messages.id DESC LIMIT ?`,
      [NEWEST],
    )
    .reverse()
  const from = rows[0]?.id ?? 0
  for (const operand of SEARCHES) {
    const isFound = plainSearch(operand)
    const { messages } = await owner.get('/messages', {
      ...{ anchor: from, num_before: 0, num_after: NEWEST },
      narrow: [['search', operand]],
    })
    assert.deepEqual(
      messages.map(({ id }: { id: number }) => id),
      rows
        .filter(({ topic, content }) => isFound(plainText(topic ?? ''), plainText(withoutAddresses(content))))
        .map(({ id }) => id),
      operand,
    )
  }
}

const withoutAddresses = (content: string): string => content.replace(/\]\([^)]*\)/g, ']')
