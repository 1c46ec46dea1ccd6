import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitLines } from '../../../boot/device/console-rate.ts'

test('a quiet log is shown whole, a loud one at the pace of the line with a count of the rest', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 0
  const shown: string[] = []
  const print = limitLines(
    (text) => shown.push(text),
    () => nowMs,
  )
  const pass = (ms: number) => {
    nowMs += ms
    t.mock.timers.tick(ms)
  }
  for (let line = 0; line < 100; line++) {
    print([`quiet ${line}`])
    pass(20)
  }
  assert.equal(shown.length, 100)
  shown.length = 0

  print(Array.from({ length: 5000 }, () => 'loud'))
  assert.equal(shown.length, 50)
  pass(1000)
  assert.equal(shown.at(-1), '4950 lines of the log are not shown here.')
  print(['after'])
  assert.equal(shown.at(-1), 'after')
})

test('under steady noise some lines of each second are shown', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 0
  let shown = 0
  const print = limitLines(
    () => shown++,
    () => nowMs,
  )
  for (let ms = 0; ms < 10_000; ms++) {
    print(['noise'])
    nowMs++
    t.mock.timers.tick(1)
  }
  assert.ok(shown > 500 && shown < 600, `${shown} lines`)
})
