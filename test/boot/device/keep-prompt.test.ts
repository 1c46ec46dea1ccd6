/** The log beside the prompt of a device. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepPrompt } from '../../../boot/device/console-rate.ts'

test('access lines are left out during the prompt and counted after it, other lines are shown', () => {
  let asking = true
  const shown: string[] = []
  const write = keepPrompt({ isAsking: () => asking, print: (text) => shown.push(text) }, (lines) =>
    shown.push(...lines),
  )
  write(['info    access: [1] 10.0.0.1 request GET /api/v1/health/state', 'warning general: [2] the disk is full'])
  write(Array.from({ length: 40 }, (_, n) => `info    access: [${n + 3}] response 200`))
  write(['warning access: [43] too many attempts'])
  assert.deepEqual(shown.splice(0), ['warning general: [2] the disk is full', 'warning access: [43] too many attempts'])
  asking = false
  write(['info    access: [44] response 200'])
  assert.deepEqual(shown, [
    'Lines of the access log that were left out during the prompt: 41',
    'info    access: [44] response 200',
  ])
})
