import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createPassphraseEditor, type Typed } from '../../boot/terminal/passphrase-editor.ts'

const BACKSPACE = '\x7f'
const CTRL_U = '\x15'

function typed(text: string | Uint8Array): string | null {
  const editor = createPassphraseEditor()
  for (const byte of Buffer.from(text as string)) assert.equal(editor.feed(byte), null)
  const bytes = editor.take()
  return bytes && Buffer.from(bytes).toString()
}

const CASES: [what: string, text: string, expected: string][] = [
  ['plain characters', 'correct horse', 'correct horse'],
  ['characters of several bytes', 'pässwörd €😀', 'pässwörd €😀'],
  ['backspace after a character of one byte', `abc${BACKSPACE}d`, 'abd'],
  ['backspace after a character of four bytes', `ab😀${BACKSPACE}c`, 'abc'],
  ['Ctrl-H like backspace', 'abc\bd', 'abd'],
  ['backspace on an empty line', `${BACKSPACE}${BACKSPACE}a`, 'a'],
  ['Ctrl-U, which starts afresh', `wrong${CTRL_U}right`, 'right'],
  ['arrow keys, which are no text', 'a\x1b[Ab\x1b[1;5Cc\x1bOPd', 'abcd'],
  ['other control characters, which are no text', 'a\x00\t\x04\x1ab', 'ab'],
  ['nothing', '', ''],
]

for (const [what, text, expected] of CASES) {
  test(`takes ${what}`, () => assert.equal(typed(text), expected))
}

test('says which byte ends the line and which interrupts', () => {
  const editor = createPassphraseEditor()
  const answers: [byte: number, answer: Typed][] = [
    [0x0d, 'enter'],
    [0x0a, 'enter'],
    [0x03, 'interrupt'],
    [0x61, null],
  ]
  for (const [byte, answer] of answers) assert.equal(editor.feed(byte), answer)
})

test('a line end or an interrupt within an escape sequence counts', () => {
  for (const sequence of ['\x1b', '\x1b[', '\x1b[1;']) {
    const editor = createPassphraseEditor()
    for (const byte of Buffer.from(sequence)) editor.feed(byte)
    assert.equal(editor.feed(0x03), 'interrupt')
    assert.equal(editor.feed(0x0d), 'enter')
    editor.feed(0x61)
    assert.deepEqual(editor.take(), Uint8Array.of(0x61))
  }
})

test('holds 200 bytes, and says that more is too long instead of cutting it', () => {
  assert.equal(typed('x'.repeat(200)), 'x'.repeat(200))
  assert.equal(typed('x'.repeat(201)), null)
  assert.equal(typed(`${'x'.repeat(201)}${CTRL_U}short`), 'short')
})

test('starts afresh after a line is taken', () => {
  const editor = createPassphraseEditor()
  editor.feed(0x61)
  editor.take()
  assert.deepEqual(editor.take(), new Uint8Array(0))
})

test('holds what was typed, for any text without control characters', () => {
  const text = fc.string({ unit: 'grapheme' }).filter((text) => !/\p{Cc}/u.test(text) && Buffer.byteLength(text) <= 200)
  fc.assert(fc.property(text, (text) => assert.equal(typed(text), text)))
})

test('survives any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      const editor = createPassphraseEditor()
      for (const byte of bytes) editor.feed(byte)
      const taken = editor.take()
      assert.ok(taken === null || taken.length <= 200)
    }),
  )
})
