/** A formula prints nothing: the text of a message must not reach the log of the process. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from './support.ts'

test('commands that print, and characters that KaTeX warns of, print nothing', (t) => {
  const outputs = (['log', 'info', 'warn', 'error', 'debug'] as const).map((name) =>
    t.mock.method(console, name, () => {}),
  )
  for (const source of [
    '\\message{zebra words}',
    '\\errmessage{zebra words}',
    '\\show\\alpha',
    '\\show{zebra}',
    '中文 \u{1f600}',
  ])
    html(`$$${source}$$`)
  assert.deepEqual(
    outputs.map(({ mock }) => mock.callCount()),
    [0, 0, 0, 0, 0],
  )
  console.log('heard again')
  assert.equal(outputs[0]!.mock.callCount(), 1)
})
