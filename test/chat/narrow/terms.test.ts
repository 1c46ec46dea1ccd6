/** Narrow terms: contract section 5.2; rows E9, E19, E24. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { NarrowError, type NarrowShape, narrowShape, readTerms } from '../../../firmware/chat/narrow/terms.ts'

const read = (narrow: unknown) => readTerms(narrowShape.parse(narrow))

const ACCEPTED: readonly [given: unknown, read: unknown][] = [
  [['channel', 'Verona'], { operator: 'channel', operand: 'Verona' }],
  [['stream', ' Verona '], { operator: 'channel', operand: 'Verona' }],
  [['stream', '12'], { operator: 'channel', operand: 12 }],
  [
    { operator: 'channel', operand: 12 },
    { operator: 'channel', operand: 12 },
  ],
  [['streams', 'public'], { operator: 'channels', operand: 'public' }],
  [['channels', 'web-public'], { operator: 'channels', operand: 'web-public' }],
  [['topic', ''], { operator: 'topic', operand: '' }],
  [['topic', '12'], { operator: 'topic', operand: '12' }],
  [['from', 'me'], { operator: 'sender', operand: 'me' }],
  [
    { operator: 'sender', operand: '7' },
    { operator: 'sender', operand: 7 },
  ],
  [
    { operator: 'pm-with', operand: [9, 10, 9] },
    { operator: 'dm', operand: [9, 10] },
  ],
  [['dm', 'a@example.com, b@example.com'], { operator: 'dm', operand: ['a@example.com', 'b@example.com'] }],
  [
    { operator: 'dm', operand: 9 },
    { operator: 'dm', operand: [9] },
  ],
  [
    { operator: 'dm-including', operand: '9' },
    { operator: 'dm-including', operand: 9 },
  ],
  [['group-pm-with', 'a@example.com'], { operator: 'group-pm-with', operand: 'a@example.com' }],
  [['is', 'private'], { operator: 'is', operand: 'dm' }],
  [['is', 'muted'], { operator: 'is', operand: 'muted' }],
  [['has', 'reaction'], { operator: 'has', operand: 'reaction' }],
  [['in', 'home'], { operator: 'in', operand: 'home' }],
  [['search', 'words "and a phrase"'], { operator: 'search', operand: 'words "and a phrase"' }],
  [['id', '5'], { operator: 'id', operand: 5 }],
  [
    { operator: 'near', operand: 5 },
    { operator: 'near', operand: 5 },
  ],
  [
    { operator: 'with', operand: '5' },
    { operator: 'with', operand: 5 },
  ],
  [
    { operator: 'mentions', operand: 9 },
    { operator: 'mentions', operand: 9 },
  ],
]

const REFUSED: readonly unknown[] = [
  ['flavour', 'sweet'],
  ['__proto__', 'x'],
  ['toString', 'x'],
  ['channel', ''],
  { operator: 'channel', operand: [1] },
  { operator: 'channel', operand: -1 },
  ['channels', 'private'],
  { operator: 'topic', operand: 5 },
  ['topic', 'a\0b'],
  ['dm', 'a@example.com,'],
  { operator: 'dm', operand: [] },
  ['is', 'unmuted'],
  ['has', 'links'],
  ['in', 'inbox'],
  { operator: 'search', operand: 5 },
  ['id', 'first'],
  ['near', '1.5'],
  ['with', '99999999999999999'],
  ['mentions', 'a@example.com'],
  { operator: 'near', operand: 5, negated: true },
  { operator: 'with', operand: 5, negated: true },
]

describe('Narrow terms', () => {
  for (const [input, expected] of ACCEPTED) {
    it(`reads ${JSON.stringify(input)}`, () => {
      assert.deepEqual(read([input]), [{ ...(expected as object), negated: false }])
    })
  }

  for (const input of REFUSED) {
    it(`answers BAD_NARROW to ${JSON.stringify(input)}`, () => {
      assert.throws(() => read([input]), NarrowError)
    })
  }

  it('keeps order and negation', () => {
    assert.deepEqual(read([{ operator: 'is', operand: 'dm', negated: true }, ['sender', 'me']]), [
      { operator: 'is', operand: 'dm', negated: true },
      { operator: 'sender', operand: 'me', negated: false },
    ])
  })

  it('names the operator as the client wrote it', () => {
    assert.throws(() => read([['pm-with', '']]), { code: 'BAD_NARROW', fields: { desc: 'invalid operand of pm-with' } })
    assert.throws(() => read([['flavour', '']]), { code: 'BAD_NARROW', fields: { desc: 'unknown flavour operator' } })
  })

  it('refuses what is no list of terms before it looks at any', () => {
    for (const shape of [
      {},
      'is:dm',
      [['is']],
      [['is', 'dm', false]],
      [['is', true]],
      [['is', null]],
      [[1, 2]],
      [{}],
    ]) {
      assert.equal(narrowShape.safeParse(shape).success, false, JSON.stringify(shape))
    }
    assert.equal(narrowShape.safeParse(Array(101).fill(['is', 'dm'])).success, false)
  })

  it('ends in terms or in BAD_NARROW, whatever it is given', () => {
    const operators = ['channel', 'stream', 'dm', 'pm-with', 'is', 'has', 'id', 'with', 'topic', 'sender', 'search']
    const operand = fc.oneof(fc.string(), fc.integer(), fc.array(fc.oneof(fc.string(), fc.integer()), { maxLength: 5 }))
    const term = fc.record({
      operator: fc.oneof(fc.constantFrom(...operators), fc.string()),
      operand,
      negated: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(term, { maxLength: 4 }), (narrow) => {
        try {
          assert.equal(readTerms(narrow as NarrowShape).length, narrow.length)
        } catch (error) {
          assert.ok(error instanceof NarrowError)
        }
      }),
    )
  })
})
