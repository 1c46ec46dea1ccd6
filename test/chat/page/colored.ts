/** Waits for the colors of code. */

import assert from 'node:assert/strict'
import { WAIT_MS_MAX } from '../../console/browser.ts'

const FIRST_MS = 2000

/** Code that waits longer than a busy computer permits stays plain: then it is shown anew, and has twice the time. */
export async function untilColored(isColored: (ms: number) => Promise<boolean>, showAnew: () => Promise<unknown>) {
  const endMs = performance.now() + WAIT_MS_MAX
  for (let ms = FIRST_MS; !(await isColored(ms)); ms *= 2) {
    assert.ok(performance.now() < endMs, 'no code is colored')
    await showAnew()
  }
}
