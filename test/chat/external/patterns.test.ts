/** Patterns of names of events. Contract section 3.5.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arePatterns, matchesAny } from '../../../firmware/chat/external/patterns.ts'

const CASES: [pattern: string, matching: string[], others: string[]][] = [
  ['push', ['push'], ['pushed', 'ush', '']],
  ['pull_request*', ['pull_request', 'pull_request_review'], ['pull']],
  ['*review*', ['pull_request_review_comment', 'review'], ['reviw']],
  ['issue?', ['issues'], ['issue', 'issuess']],
  ['[pi]*', ['push', 'issues'], ['create']],
  ['[!pi]*', ['create'], ['push']],
  ['[a-c]reate', ['create', 'areate'], ['dreate']],
  ['[]x]', [']', 'x'], ['y']],
  ['[x', ['[x'], ['x']],
  ['*', ['', 'anything'], []],
  ['a.b+', ['a.b+'], ['axb', 'a.bb']],
]

for (const [pattern, matching, others] of CASES)
  test(`${pattern} matches what it does in a shell`, () => {
    for (const text of matching) assert.ok(matchesAny(text, [pattern]), text)
    for (const text of others) assert.ok(!matchesAny(text, [pattern]), text)
  })

test('stars cost no more than the product of both lengths', () => {
  let steps = 0
  const text = 'a'.repeat(50_000)
  const counted = new Proxy(Object(text), {
    get(target, name) {
      if (typeof name === 'string' && /^\d+$/.test(name)) steps++
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  assert.ok(!matchesAny(counted as unknown as string, [`${'*a'.repeat(40)}b`]))
  assert.ok(steps <= text.length * 82)
})

test('patterns have a bound', () => {
  assert.ok(arePatterns(Array.from({ length: 100 }, () => 'x'.repeat(100))))
  assert.ok(!arePatterns(Array.from({ length: 101 }, () => 'x')))
  assert.ok(!arePatterns(['x'.repeat(101)]))
})
