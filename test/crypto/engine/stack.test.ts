/** Checks that `wipeStack` leaves no gap, with the code of each compiler of V8. */

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Left } from './stack-program.ts'

const FILLED_WORDS_MIN = 24_000 // of the 32768 that one filler reaches

const COMPILERS: readonly (readonly [name: string, ...flags: string[]])[] = [
  ['the first compiler', '--liftoff-only'],
  ['the optimizing compiler', '--no-liftoff'],
  ['the first compiler, then by the optimizing one'],
]

for (const [name, ...flags] of COMPILERS) {
  test(`nothing is left between the frames that wipe the stack, compiled by ${name}`, async () => {
    const child = fork(new URL('stack-program.ts', import.meta.url), { execArgv: [...process.execArgv, ...flags] })
    const all: Left[] = []
    child.on('message', (left: Left) => all.push(left))
    const [code] = await once(child, 'exit')
    assert.equal(code, 0)
    assert.ok(all.length > 0)
    for (const { before, after } of all) {
      assert.ok(before >= FILLED_WORDS_MIN, `${before} words filled`)
      assert.deepEqual(after, [])
    }
  })
}
