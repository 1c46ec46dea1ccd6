/** Answers and events for clients of older levels: contract section 8, a test for each mention of items.ts. */

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { LEVEL_CHANGES } from '../../../firmware/chat/levels/changes.ts'
import { contractTable } from '../support/contract.ts'
import { ITEMS, NOT_SHOWN, OTHERS } from './items.ts'
import { asking, type Furnished, furnish } from './rig.ts'

let furnished: Furnished
before(async () => {
  furnished = await furnish()
})
after(() => furnished.close())

describe('each level', () => {
  for (const { level, part, item, probe, at460, atLevel, below } of [...ITEMS, ...OTHERS])
    it(`${level} ${item} (part ${part})`, async () => {
      assert.deepEqual(await probe(asking(furnished, 460)), at460, 'at 460')
      assert.deepEqual(await probe(asking(furnished, level)), atLevel, `at ${level}`)
      assert.deepEqual(await probe(asking(furnished, level - 1)), below, `at ${level - 1}`)
    })
})

describe('the table of the contract', () => {
  /** Column ME: Y for what a rule says whole, P in part, N for rights and orders; other signs for marks of releases. */
  const table = contractTable('8.1').flatMap((row) =>
    (row[0]!.match(/\d+/g) ?? []).map((level) => ({ level: Number(level), kind: row.at(-1)! })),
  )
  const gated = new Set(LEVEL_CHANGES.map(({ level }) => level))
  const shown = new Set([...ITEMS, ...OTHERS].map(({ level }) => level))

  it('has 113 levels: 79 that are gated whole, 11 in part, 6 not, 17 marks', () => {
    const kinds = Object.entries(Object.groupBy(table, ({ kind }) => kind))
    assert.deepEqual(Object.fromEntries(kinds.map(([kind, rows]) => [kind, rows!.length])), {
      Y: 79,
      P: 11,
      N: 6,
      '—': 17,
    })
  })

  it('has a test for each of its levels that is no mark', () => {
    const missing = table.filter(({ level, kind }) => kind !== '—' && !shown.has(level)).map(({ level }) => level)
    assert.deepEqual(
      missing,
      NOT_SHOWN.map(({ level }) => level),
    )
  })

  it('has a gate for each that has a rule, but where another place has it', () => {
    const elsewhere = {
      108: 'there is nothing that redirects',
      157: 'the gate of 180, of which it is the backport',
      195: 'the empty text was legal before',
      201: 'realm/bots/webhook.ts: the bot has a level, and no client',
      372: 'api/typing.ts: it matters who asks, and not who hears',
    }
    const without = table
      .filter(({ level, kind }) => /[YP]/.test(kind) && !gated.has(level))
      .map(({ level }) => String(level))
    assert.deepEqual(without.sort(), Object.keys(elsewhere))
    assert.deepEqual(
      table.filter(({ level, kind }) => /[N—]/.test(kind) && gated.has(level)),
      [],
    )
  })

  it('is the history: so many mentions in each of its parts', () => {
    const all = [...ITEMS, ...NOT_SHOWN]
    const counts = Object.entries(Object.groupBy(all, ({ part }) => part)).map(([part, rows]) => [part, rows!.length])
    assert.deepEqual(Object.fromEntries(counts), { 2: 45, 4: 81, 5: 2, 6: 22, 7: 2 })
    assert.equal(all.length, 152)
  })

  it('is newest first in the code, each level once', () => {
    const levels = LEVEL_CHANGES.map(({ level }) => level)
    assert.deepEqual(
      levels,
      [...new Set(levels)].sort((a, b) => b - a),
    )
  })
})

describe('the header', () => {
  for (const level of ['', '0', '101', '501', '0460', '460.0', '+460', '1e2', '372, 373', 'twelve'])
    it(`is refused as ${JSON.stringify(level)}`, async () => {
      const { status, body } = await furnished.owner.call('GET', '/users/me', {}, { 'x-service-feature-level': level })
      assert.equal(status, 400)
      assert.equal(body.code, 'BAD_REQUEST')
      assert.match(body.msg, /X-Service-Feature-Level must be a number from 102 to 500/)
    })

  it('that is absent leaves both levels', async () => {
    const ask = asking(furnished, null)
    for (const answer of [await ask.get('/server_settings'), await ask.snapshot()])
      assert.deepEqual(
        [answer.zulip_feature_level, answer.service_feature_level, answer.zulip_version, answer.zulip_merge_base],
        [500, 460, '12.2', '12.2'],
      )
  })

  for (const level of [102, 278, 371, 421, 460, 461, 499, 500])
    it(`makes the server's level ${level}`, async () => {
      const ask = asking(furnished, level)
      for (const answer of [await ask.get('/server_settings'), await ask.snapshot()])
        assert.deepEqual(
          [answer.zulip_feature_level, answer.service_feature_level, answer.zulip_version, answer.zulip_merge_base],
          [level, level, ...Array(2).fill(level > 460 ? '12.2' : '12.0')],
        )
    })
})
