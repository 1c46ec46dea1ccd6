/** JSON of what was signed: a text that programs may read in two ways is refused. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { parseUnambiguous } from '../../firmware/base/json.ts'

test('takes whatever JSON.stringify writes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) =>
      assert.deepEqual(parseUnambiguous(JSON.stringify(value)), JSON.parse(JSON.stringify(value))),
    ),
  )
  assert.deepEqual(parseUnambiguous('{"a:\\"b":"c:","d":[{":":1}]}'), { 'a:"b': 'c:', d: [{ ':': 1 }] })
})

for (const text of [
  '{"a":1,"a":1}',
  '{"a":1,"\\u0061":2}',
  '[{"b":{"c":1,"c":2}}]',
  '{"a":{"x":1},"a":2}',
  '{"__proto__":1,"__proto__":2}',
])
  test(`refuses ${text}`, () => assert.throws(() => parseUnambiguous(text), SyntaxError))
