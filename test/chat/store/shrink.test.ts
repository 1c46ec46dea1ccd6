/** The space of deleted files goes back to the disk, so that others have room. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { CHUNK_BYTES, CHUNKS_AT_ONCE } from '../../../firmware/chat/store/files.ts'
import { type ChatStore, openStore } from '../../../firmware/chat/store/store.ts'

const FILES = 4
const PARTS = 6 // of a MiB
const FILE_BYTES = PARTS * CHUNKS_AT_ONCE * CHUNK_BYTES
const DEADLINE_MS = 60_000

function open(t: TestContext): { store: ChatStore; sizeOf: (name: string) => number } {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-chat-'))
  const store = openStore({ directory, chatKey: new Uint8Array(32).fill(7) })
  t.after(() => {
    store.close()
    rmSync(directory, { recursive: true })
  })
  return { store, sizeOf: (name) => statSync(join(directory, name)).size }
}

const chunk = (upload: number, number: number) => new Uint8Array(CHUNK_BYTES).fill(upload * 50 + number)

function write({ files }: ChatStore, upload: number): void {
  for (let part = 0; part < PARTS; part++) {
    const first = part * CHUNKS_AT_ONCE
    files.write(
      upload,
      first,
      Array.from({ length: CHUNKS_AT_ONCE }, (_, n) => chunk(upload, first + n)),
    )
  }
}

test('a file that is removed from the middle gives its space back, and the others are as they were', async (t) => {
  const { store, sizeOf } = open(t)
  for (let upload = 1; upload <= FILES; upload++) write(store, upload)
  const deadlineMs = performance.now() + DEADLINE_MS
  while (sizeOf('files.db') < FILES * FILE_BYTES && performance.now() < deadlineMs) await wait(50)
  const full = sizeOf('files.db')
  assert.ok(full >= FILES * FILE_BYTES)
  let freedBytes = 0
  for (const upload of [2, 3])
    for (let more = true; more; ) {
      // both readings stand in one turn of the event loop: a checkpoint between them would give the space back
      const before = store.reusableBytes['files.db']
      more = store.files.removeSome(upload)
      freedBytes += store.reusableBytes['files.db'] - before
      await wait(1)
    }
  assert.ok(freedBytes > 1.9 * FILE_BYTES, `${freedBytes} of ${2 * FILE_BYTES}`)
  while (sizeOf('files.db') > full - 1.5 * FILE_BYTES && performance.now() < deadlineMs) await wait(50)
  assert.ok(sizeOf('files.db') <= full - 1.5 * FILE_BYTES, `${sizeOf('files.db')} of ${full}`)
  for (const upload of [1, 4])
    for (let number = 0; number < PARTS * CHUNKS_AT_ONCE; number++)
      assert.deepEqual(new Uint8Array(store.files.read(upload, number)!), chunk(upload, number))
  assert.deepEqual(store.files.all(), [1, 4])
})

test('while the file is held for a backup it stays as long as it is', async (t) => {
  const { store, sizeOf } = open(t)
  for (let upload = 1; upload <= FILES; upload++) write(store, upload)
  const copied = store.copying.begin().find(({ name }) => name === 'files.db')!
  for (const upload of [2, 3]) while (store.files.removeSome(upload)) await wait(1)
  await wait(1500) // a checkpoint is due by then
  assert.equal(sizeOf('files.db'), copied.bytes)
  store.copying.end()
  const deadlineMs = performance.now() + DEADLINE_MS
  while (sizeOf('files.db') > copied.bytes - 1.5 * FILE_BYTES && performance.now() < deadlineMs) await wait(50)
  assert.ok(sizeOf('files.db') <= copied.bytes - 1.5 * FILE_BYTES)
})
