/** Searches without a word to look for: contract section 5.2. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })
const verona = rig.channel('Verona', [hamlet])
const ids: number[] = []
for (const content of ['Words', 'Smile 😀', '"quoted…"', 'Words ⌀\ufe0f'])
  ids.push((await hamlet.post('/messages', { type: 'channel', to: verona.id, topic: 'swords', content })).id)

/** The last ones have a mark, such as the selector that makes a sign an emoji, on no letter. */
const WITHOUT = ['😀', '"', '""', '…', '', '" "', '!? 😀', '❤️', '"☀️ ☎️"', '\u0301']

async function found(...narrow: object[]): Promise<number[]> {
  const { messages } = await hamlet.get('/messages', { anchor: 'newest', num_before: 50, num_after: 0, narrow })
  return messages.map(({ id }: { id: number }) => id)
}

describe('A search without a word to look for', () => {
  it('finds nothing', async () => {
    for (const operand of WITHOUT) {
      assert.deepEqual(await found({ operator: 'search', operand }), [], operand)
      const both = [
        { operator: 'search', operand },
        { operator: 'search', operand: 'words' },
      ]
      assert.deepEqual(await found(...both), [], operand)
      assert.deepEqual(await found(...both.toReversed()), [], operand)
    }
  })

  it('finds all when it is negated', async () => {
    for (const operand of WITHOUT)
      assert.deepEqual(
        await found({ operator: 'channel', operand: 'Verona' }, { operator: 'search', operand, negated: true }),
        ids,
        operand,
      )
  })

  it('stands for nothing beside words', async () => {
    assert.deepEqual(await found({ operator: 'search', operand: 'smile 😀 ❤️ "…"' }), [ids[1]])
  })

  it('updates the flags of no message, or of all', async () => {
    for (const operand of WITHOUT)
      for (const [negated, op] of [
        [false, 'add'],
        [true, 'add'],
        [true, 'remove'],
      ] as const) {
        const narrow = [
          { operator: 'channel', operand: 'Verona' },
          { operator: 'search', operand, negated },
        ]
        const range = { anchor: 'oldest', num_before: 0, num_after: 50, narrow, op, flag: 'starred' }
        const { processed_count, updated_count } = await hamlet.post('/messages/flags/narrow', range)
        assert.deepEqual([processed_count, updated_count], negated ? [ids.length, ids.length] : [0, 0], operand)
      }
  })

  it('has no first unread message', async () => {
    await hamlet.post('/messages/flags', { messages: ids, op: 'remove', flag: 'read' })
    const anchorOf = async (negated: boolean) => {
      const narrow = [{ operator: 'search', operand: '❤️', negated }]
      return (await hamlet.get('/messages', { anchor: 'first_unread', num_before: 0, num_after: 1, narrow })).anchor
    }
    assert.equal(await anchorOf(true), ids[0])
    assert.ok((await anchorOf(false)) > ids.at(-1)!)
  })

  it('is refused as the narrow of a queue, like every search', async () => {
    for (const operand of [...WITHOUT, 'words'])
      await hamlet.refused('BAD_NARROW', 'POST', '/register', { narrow: [['search', operand]] })
  })

  it('matches no message by its id', async () => {
    const matching = async (negated: boolean) => {
      const narrow = [{ operator: 'search', operand: '😀', negated }]
      return Object.keys((await hamlet.get('/messages/matches_narrow', { msg_ids: ids, narrow })).messages)
    }
    assert.deepEqual(await matching(false), [])
    assert.deepEqual(await matching(true), ids.map(String))
  })
})
