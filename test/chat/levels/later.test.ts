/** Changes after level 460 for clients of older levels: contract section 8.3. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { LATER_CHANGES } from '../../../firmware/chat/levels/changes-from-461.ts'
import { contractTable } from '../support/contract.ts'
import { LATER_ITEMS } from './later.ts'
import { asking, type Furnished, furnish } from './rig.ts'

const LEVEL_MAX = 500

let furnished: Furnished
before(async () => {
  furnished = await furnish()
})
after(() => furnished.close())

describe('each level after 460', () => {
  for (const { level, item, probe, now, atLevel, before, at460 } of LATER_ITEMS)
    it(`${level} ${item}`, async () => {
      assert.deepEqual(await probe(asking(furnished, null)), now, 'without the header')
      if (level <= LEVEL_MAX) assert.deepEqual(await probe(asking(furnished, level)), atLevel, `at ${level}`)
      const older = Math.min(level - 1, LEVEL_MAX)
      assert.deepEqual(await probe(asking(furnished, older)), before, `at ${older}`)
      assert.deepEqual(await probe(asking(furnished, 460)), at460, 'at 460')
    })
})

describe('the table of the contract', () => {
  const table = contractTable('8.3')
    .slice(1)
    .flatMap((row) =>
      (row[0]!.replace(/\(.*\)/, '').match(/\d+/g) ?? []).map((level) => ({ level: Number(level), kind: row.at(-1)! })),
    )
  it('has every level from 461 to 512 once, but 504 and 506, which are 500 and 499', () => {
    assert.deepEqual(
      table.map(({ level }) => level).sort((a, b) => a - b),
      Array.from({ length: 52 }, (_, index) => 461 + index).filter((level) => level !== 504 && level !== 506),
    )
  })

  it('has a gate for each Y row, and a test on either side of it', () => {
    const gated = LATER_CHANGES.map(({ level }) => level).sort((a, b) => a - b)
    const expected = table.filter(({ kind }) => kind === 'Y').map(({ level }) => level)
    assert.deepEqual(
      gated,
      [...expected].sort((a, b) => a - b),
    )
    const shown = new Set(LATER_ITEMS.map(({ level }) => level))
    assert.deepEqual(
      gated.filter((level) => !shown.has(level)),
      [],
    )
  })

  it('says which levels could not be read', () => {
    const page = readFileSync(new URL('../../../firmware/chat/CONTRACT.md', import.meta.url), 'utf8')
    assert.match(page, /five levels that could not be read \(486, 488, 489, 495, 498\)/)
  })
})
