import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitLines } from '../../boot/terminal/lines.ts'

function linesOf(...chunks: Uint8Array[]): string[] {
  const lines: string[] = []
  const splitter = splitLines((more) => lines.push(...more))
  for (const chunk of chunks) splitter.write(chunk)
  splitter.end()
  return lines
}

test('cuts lines wherever the stream was cut', () => {
  const text = Buffer.from('first\nsécond €\r\n\nlast')
  const expected = ['first', 'sécond €', '', 'last']
  assert.deepEqual(linesOf(text), expected)
  for (let cut = 0; cut <= text.length; cut++) {
    assert.deepEqual(linesOf(text.subarray(0, cut), text.subarray(cut)), expected)
  }
  assert.deepEqual(linesOf(...[...text].map((byte) => Buffer.of(byte))), expected)
})

test('lets no control character through to the terminal', () => {
  assert.deepEqual(linesOf(Buffer.from('\x1b[2Jgone\x07\ra\u0085b\u2028c\n')), ['·[2Jgone··a·b·c'])
})

test('cuts a stream without line ends into pieces', () => {
  const lines = linesOf(...Array.from({ length: 100 }, () => Buffer.alloc(1000, 'x')))
  assert.equal(lines.join('').length, 100_000)
  assert.ok(lines.every((line) => line.length <= 8192))
})
