/** Marks about the data partition, with a power cut at each of their changes. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createDataMarks, type DataMarks } from '../../../boot/device/data-marks.ts'

const VERSION = '1.2.0'

interface Esp {
  directory: string
  /** Marks as a start opens them; the power fails at the how manyth change, never for 0. */
  start(cutAt?: number): DataMarks
}

function makeEsp(t: TestContext): Esp {
  const base = mkdtempSync(join(tmpdir(), 'coffer-marks-'))
  t.after(() => rmSync(base, { recursive: true }))
  const directory = join(base, 'EFI/coffer')
  return {
    directory,
    start: (cutAt = 0) => {
      let left = cutAt
      const change = (write: () => void) => {
        if (left-- === 1) throw new Error('off')
        write()
      }
      return createDataMarks({ directory, change })
    },
  }
}

function isCut(act: () => void): boolean {
  try {
    act()
    return false
  } catch (error) {
    assert.equal((error as Error).message, 'off')
    return true
  }
}

test('a reset that is cut anywhere is either not begun, or finished with the good version known', (t) => {
  let cutAt = 1
  for (; ; cutAt++) {
    const esp = makeEsp(t)
    esp.start().setMade()
    const marks = esp.start(cutAt)
    const wasCut = isCut(() => {
      marks.setToBeMade(VERSION)
      marks.setMade()
    })
    const next = esp.start()
    assert.equal(next.isMade(), true)
    if (next.isToBeMade()) assert.equal(next.goodVersion(), VERSION, `cut at change ${cutAt}`)
    if (!wasCut) break
  }
  assert.ok(cutAt > 4, 'the power failed at each change')
})

test('the good version of one reset is not that of the next', (t) => {
  const esp = makeEsp(t)
  assert.ok(isCut(() => esp.start(2).setToBeMade(VERSION)))
  assert.equal(esp.start().isToBeMade(), false)
  esp.start().setToBeMade(null)
  assert.deepEqual([esp.start().isToBeMade(), esp.start().goodVersion()], [true, null])
  esp.start().setMade()
  assert.deepEqual([esp.start().isToBeMade(), esp.start().isMade()], [false, true])
})

test('a second reset keeps the version that was good at the first one', (t) => {
  const esp = makeEsp(t)
  esp.start().setToBeMade(VERSION)
  esp.start().setToBeMade(null)
  assert.equal(esp.start().goodVersion(), VERSION)
})

test('a damaged version is none', (t) => {
  const esp = makeEsp(t)
  esp.start().setToBeMade(VERSION)
  writeFileSync(join(esp.directory, 'good-version'), '\0\0\0\0')
  assert.equal(esp.start().goodVersion(), null)
})
