/** The appliance counts the chat's commits; the tests hold when a count reaches the disk. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createCommitCounterStore } from '../../../firmware/chat/host/commit-counter-store.ts'
import type { DeviceRecords } from '../../../firmware/configuration/device-records.ts'
import type { DeviceArea } from '../../../firmware/store/device-area.ts'

const GENERATION = '0123456789abcdef'

function keptOn(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const stored = new Map<string, Uint8Array>()
  let writes = 0
  const area = {
    get: (name: string) => stored.get(name) ?? null,
    put: (name: string, bytes: Uint8Array) => void stored.set(name, bytes),
  } as unknown as DeviceArea
  const records: DeviceRecords = {
    read: (_, read) => read(area),
    write: (change) => change(area),
    keep: (_, change) => {
      writes++
      change(area)
    },
  }
  return { open: () => createCommitCounterStore(records), writes: () => writes }
}

test('what is said soon after the last time waits a second, and is given back meanwhile', (t) => {
  const { open, writes } = keptOn(t)
  const kept = open()
  for (const said of [1, 2, 3]) kept.keep(GENERATION, Uint8Array.of(said))
  assert.equal(writes(), 1)
  assert.deepEqual([...kept.of(GENERATION)!], [3])
  assert.deepEqual([...open().of(GENERATION)!], [1])
  t.mock.timers.tick(1000)
  assert.equal(writes(), 2)
  assert.deepEqual([...open().of(GENERATION)!], [3])
  assert.equal(open().of('fedcba9876543210'), null)
})

test('what still waits at the end is written then', (t) => {
  const { open, writes } = keptOn(t)
  const kept = open()
  kept.flush()
  assert.equal(writes(), 0)
  for (const said of [1, 2]) kept.keep(GENERATION, Uint8Array.of(said))
  kept.flush()
  assert.deepEqual([...open().of(GENERATION)!], [2])
  kept.flush()
  assert.equal(writes(), 2)
})
