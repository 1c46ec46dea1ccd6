/** Memory for clients depends on the heap that the boot manager gives. Contract section 1.5. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import test from 'node:test'
import { heapFor } from '../../boot/device/early.ts'
import { heapFlags } from '../../boot/supervisor/firmware-process.ts'

const MIB = 1024 * 1024

function boundsWith(heapMegabytes: number): { bodies: number; connections: number } {
  const source = `
    import { BODY_LIMITS } from '${import.meta.resolve('../../firmware/http/request/body-rate.ts')}'
    import { LISTENER_LIMITS } from '${import.meta.resolve('../../firmware/http/server/limits.ts')}'
    console.log(JSON.stringify({ bodies: BODY_LIMITS.totalBytesMax, connections: LISTENER_LIMITS.connectionsMax }))`
  const flags = [...heapFlags('firmware', heapMegabytes), '--input-type=module', '--eval', source]
  return JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' }))
}

test('a host takes four of the largest bodies at a time, and more connections than load generators make', () => {
  assert.deepEqual(boundsWith(1024), { bodies: 320 * MIB, connections: 4096 })
})

test('a device of 512 MB takes one of the largest bodies at a time, and fewer connections', () => {
  const { bodies, connections } = boundsWith(heapFor(512 * MIB))
  assert.ok(bodies >= 67 * MIB && bodies < 2 * 67 * MIB, `${bodies}`)
  assert.ok(connections >= 512 && connections < 1024, `${connections}`)
})
