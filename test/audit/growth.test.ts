/** How much a log may still grow: less with each line, and again more when its settings allow more. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LINES_DEFAULT } from '../../firmware/audit/audit-log.ts'
import { createAuditRig, recordLines } from './rig.ts'

test('each line that is written is one line less to come', (t) => {
  const rig = createAuditRig(t)
  const lines = { change: LINES_DEFAULT, refusal: 1000, use: LINES_DEFAULT }
  assert.equal(rig.log.growthBytes(), 0)
  rig.log.configure({ lines, refuseUses: false })
  assert.equal(rig.log.growthBytes(), 0, 'smaller rings are no room for larger ones')
  const larger = { ...lines, use: LINES_DEFAULT + 300 }
  const bytes = rig.log.growthBytes(larger)
  assert.ok(bytes >= 300 * 500)
  rig.log.configure({ lines: larger, refuseUses: false })
  const record = (count: number) => {
    for (let left = count; left > 0; left -= 5000) {
      recordLines(rig.log, Math.min(left, 5000))
      rig.log.flush()
    }
  }
  record(LINES_DEFAULT + 100)
  assert.equal(rig.log.growthBytes(), (bytes / 3) * 2)
  rig.reopen()
  assert.equal(rig.log.growthBytes(), (bytes / 3) * 2)
  record(1000)
  assert.ok(rig.log.growthBytes() <= bytes / 2, 'rows are removed whole, so that some lines may be missing again')
})
