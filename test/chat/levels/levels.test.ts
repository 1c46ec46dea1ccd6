/** What clients of older levels are told: contract section 8, a test for each mention of items.ts. */

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ITEMS } from './items.ts'
import { asking, type Furnished, furnish } from './rig.ts'

let furnished: Furnished
before(async () => {
  furnished = await furnish()
})
after(() => furnished.close())

describe('each level of the history', () => {
  for (const { level, part, item, probe, at460, atLevel, below } of ITEMS)
    it(`${level} ${item} (part ${part})`, async () => {
      assert.deepEqual(await probe(asking(furnished, 460)), at460, 'at 460')
      assert.deepEqual(await probe(asking(furnished, level)), atLevel, `at ${level}`)
      assert.deepEqual(await probe(asking(furnished, level - 1)), below, `at ${level - 1}`)
    })
})
