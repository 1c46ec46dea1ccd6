/** Clients of level 460 see these forms of later features: contract section 8.3. */

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LATER_ITEMS } from './later.ts'
import { asking, type Furnished, furnish } from './rig.ts'

let furnished: Furnished
before(async () => {
  furnished = await furnish()
})
after(() => furnished.close())

describe('each level after 460', () => {
  for (const { level, item, probe, now, before } of LATER_ITEMS)
    it(`${level} ${item}`, async () => {
      assert.deepEqual(await probe(asking(furnished, null)), now, 'without the header')
      assert.deepEqual(await probe(asking(furnished, 460)), before, 'at 460')
    })
})
