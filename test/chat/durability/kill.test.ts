/** The chat is killed at any moment: what was answered holds, and no id is given twice. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Chat } from '../../../firmware/chat/chat.ts'
import { openTestChat } from '../support/chat.ts'
import { expectConsistent } from './consistency.ts'

const KILLS = process.env.COFFER_SLOW === undefined ? 6 : 300
const ANSWERS_MAX = 40 // before a kill: 0 to 39, in turn, however fast the computer is
const KILL_MS_MAX = 12 // after them, at random: about as long as the next answer takes
const SENDER = fileURLToPath(new URL('sender.ts', import.meta.url))

/** What the sender knows. What it began and did not hear of may have happened or not. */
interface Ledger {
  contents: Map<number, string[]>
  starred: Set<number>
  gone: Set<number>
  maybeGone: Set<number>
}

test(`what was answered survives ${KILLS} kills`, { timeout: 1_200_000 }, async () => {
  const rig = await openTestChat()
  const ledger: Ledger = { contents: new Map(), starred: new Set(), gone: new Set(), maybeGone: new Set() }
  try {
    rig.channel('Denmark', [rig.owner])
    for (let kill = 0; kill < KILLS; kill++) {
      rig.pause()
      const sender = spawn(process.execPath, [SENDER, rig.directory], { stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = once(sender, 'exit')
      let answers = 0
      for await (const line of createInterface(sender.stdout)) {
        note(ledger, JSON.parse(line))
        if (answers++ === (kill * 17) % ANSWERS_MAX)
          void wait(Math.random() * KILL_MS_MAX).then(() => sender.kill('SIGKILL'))
      }
      assert.deepEqual(await ended, [null, 'SIGKILL'], 'it ended by being killed')
      rig.resume()
      check(rig.chat, ledger)
    }
    assert.ok(ledger.contents.size > KILLS, 'something was sent')
  } finally {
    rig.close()
  }
})

type Line = { content: string } & Partial<
  Record<'sent' | 'editing' | 'edited' | 'starred' | 'deleting' | 'deleted', number>
>

function note(ledger: Ledger, { content, sent, editing, edited, starred, deleting, deleted }: Line): void {
  if (sent !== undefined) {
    assert.ok(!ledger.contents.has(sent), `id ${sent} was given twice`)
    ledger.contents.set(sent, [content])
  }
  if (editing !== undefined) ledger.contents.get(editing)!.push(content)
  if (edited !== undefined) ledger.contents.set(edited, [content])
  if (starred !== undefined) ledger.starred.add(starred)
  if (deleting !== undefined) ledger.maybeGone.add(deleting)
  if (deleted !== undefined) ledger.gone.add(deleted)
}

function check({ realm }: Chat, { contents, starred, gone, maybeGone }: Ledger): void {
  const owner = [...realm.state.user.all()].find(({ bot }) => bot === null)!
  for (const [id, possible] of contents) {
    const row = realm.store.messages.get(id)
    if (gone.has(id)) assert.equal(row, undefined, `message ${id} is back`)
    else if (row === undefined) assert.ok(maybeGone.has(id), `message ${id} is lost`)
    else {
      assert.ok(possible.includes(row.content), `message ${id} says ${row.content}`)
      const runs = realm.store.flags.runs(owner.id, row.birth, 'starred')
      if (starred.has(id)) assert.ok(runs.some(([from, to]) => from <= row.ordinal && row.ordinal <= to))
    }
  }
  expectConsistent(realm)
}
