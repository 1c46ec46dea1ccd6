/** Names of others reach logs and terminals without the characters that these act on. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../firmware/base/log.ts'
import { printable } from '../../firmware/base/printable.ts'
import { plain } from '../../tools/coffer/output.ts'

const UNPRINTABLE = [
  0x00, 0x0a, 0x1b, 0x7f, 0x85, 0xad, 0x061c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069,
  0xfeff, 0xd800, 0xe0041,
]

const logged = (message: string): string => {
  const messages: string[] = []
  createLog('info', (entry) => messages.push(entry.message)).info('users', message)
  return messages[0]!
}

for (const code of UNPRINTABLE) {
  const text = `a${String.fromCodePoint(code)}b`
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  test(`${name} is escaped in the log, and shown as a dot or a space elsewhere`, () => {
    assert.equal(logged(text), `[1] a\\u${code.toString(16).padStart(4, '0')}b`)
    assert.equal(printable(text), 'a·b')
    assert.equal(plain(text), 'a b')
  })
}

test('letters of every script and signs stay', () => {
  const text = 'Müller 山田 שלום مرحبا 😀 é'
  assert.equal(logged(text), `[1] ${text}`)
  assert.equal(printable(text), text)
  assert.equal(plain(text), text)
})
