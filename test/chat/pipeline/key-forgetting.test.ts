// @test long 12
/** A process does not keep the keys that its clients show: its memory, read from outside after they called. Contract section 1.2. */

import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { FIRMWARE_ENVIRONMENT } from '../../../boot/supervisor/firmware-process.ts'
import { NOTHING, search, tracesOfText } from '../../crypto/memory-search.ts'
import type { Order } from './key-reading-program.ts'

const KEYS = 50

let child: ChildProcess
let email: string
before(async () => {
  child = fork(new URL('key-reading-program.ts', import.meta.url), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: FIRMWARE_ENVIRONMENT,
  })
  ;[email] = await once(child, 'message')
})
after(async () => {
  const end = once(child, 'exit')
  child.send('end' satisfies Order)
  await end
})

async function obey(order: Order): Promise<number[]> {
  const done = once(child, 'message')
  child.send(order)
  const [statuses] = await done
  return statuses
}

const newKey = (): string => randomBytes(16).toString('hex')

const credentialsOf = (key: string): string => Buffer.from(`${email}:${key}`).toString('base64')

async function givenKeys(): Promise<string[]> {
  const keys = Array.from({ length: KEYS }, newKey)
  await obey({ hashes: keys.map((key) => createHash('sha256').update(key).digest('base64url')) })
  return keys
}

const found = (keys: readonly string[]) =>
  search(
    child.pid!,
    keys.map((key) => tracesOfText(key, key)),
  )

test('nothing is left of keys that clients called with', async () => {
  const keys = await givenKeys()
  const statuses = await obey({ credentials: keys.map(credentialsOf), isCareless: false })
  assert.deepEqual(statuses, Array(KEYS).fill(200))
  assert.deepEqual(found(keys), NOTHING)
})

test('nothing is left of keys that were refused', async () => {
  const keys = Array.from({ length: KEYS }, newKey)
  const statuses = await obey({ credentials: keys.map(credentialsOf), isCareless: false })
  assert.deepEqual(statuses, Array(KEYS).fill(401))
  assert.deepEqual(found(keys), NOTHING)
})

test('the search finds keys that were read as text', async () => {
  const keys = Array.from({ length: KEYS }, newKey)
  await obey({ credentials: keys.map(credentialsOf), isCareless: true })
  const names = new Set(found(keys).pieces.map(({ name }) => name))
  assert.equal(names.size, KEYS)
})
