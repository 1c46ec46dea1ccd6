/** Searches over ids that are far apart: the index of words is asked for one range of them after the other. Row E9. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig } = await chatSuite()

const APART = 70_000 // less than one range; two of them are more

test('a search finds what is many ids away, from either end and from the middle', async () => {
  rig.channel('Denmark', [rig.owner])
  const { store } = rig.chat.realm
  const ids: number[] = []
  for (let n = 0; n < 6; n++) {
    const content = n === 3 ? 'nothing of it' : 'a herring'
    const { id } = await rig.owner.post('/messages', { type: 'channel', to: 'Denmark', topic: 'sea', content })
    if (n !== 3) ids.push(id)
    store.transaction(() =>
      store.select("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'messages' RETURNING seq", [APART]),
    )
  }
  const narrow = [['search', 'herring']]
  for (const [anchor, before, after, expected, isOldest, isNewest] of [
    ['newest', 10, 0, ids, true, true],
    ['newest', 2, 0, ids.slice(-2), false, true],
    ['oldest', 0, 10, ids, true, true],
    ['oldest', 0, 3, ids.slice(0, 3), true, false],
    [ids[2], 10, 10, ids, true, true],
    [ids[2], 1, 1, ids.slice(1, 4), false, false],
  ] as const) {
    const found = await rig.owner.get('/messages', { anchor, num_before: before, num_after: after, narrow })
    const { messages, found_oldest, found_newest } = found
    assert.deepEqual(
      { ids: messages.map(({ id }: { id: number }) => id), found_oldest, found_newest },
      { ids: expected, found_oldest: isOldest, found_newest: isNewest },
      `${before} before and ${after} after ${anchor}`,
    )
  }
})
