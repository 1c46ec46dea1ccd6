/** Searches without a word to look for: contract section 5.2. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })
const verona = rig.channel('Verona', [hamlet])
const ids: number[] = []
for (const content of ['Words', 'Smile 😀', '"quoted…"'])
  ids.push((await hamlet.post('/messages', { type: 'channel', to: verona.id, topic: 'swords', content })).id)

const WITHOUT = ['😀', '"', '""', '…', '', '" "', '!? 😀']

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

  it('matches no message by its id', async () => {
    const matching = async (negated: boolean) => {
      const narrow = [{ operator: 'search', operand: '😀', negated }]
      return Object.keys((await hamlet.get('/messages/matches_narrow', { msg_ids: ids, narrow })).messages)
    }
    assert.deepEqual(await matching(false), [])
    assert.deepEqual(await matching(true), ids.map(String))
  })
})
