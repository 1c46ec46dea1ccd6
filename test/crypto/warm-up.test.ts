import assert from 'node:assert/strict'
import { test } from 'node:test'
import { threadMs } from '../../firmware/base/batch-size.ts'
import { plainEngine } from '../../firmware/crypto/engine/integer/integer.ts'
import { engine } from '../../firmware/crypto/engine/select.ts'
import { warmUpSteps } from '../../firmware/crypto/pool/warm-up.ts'

const STEP_MS = 1000 // some 40 on an idle machine

for (const [name, each] of Object.entries({ 'engine in use': engine, 'plain engine': plainEngine })) {
  test(`warming up is done in short steps, so that no request waits long for one: ${name}`, () => {
    const steps = warmUpSteps(each)
    assert.ok(steps.length > 10)
    for (const step of steps) {
      const beganMs = threadMs()
      step()
      assert.ok(threadMs() - beganMs < STEP_MS)
    }
  })
}
