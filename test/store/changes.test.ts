/** Changes that wait together, fail together, and are told to all followers. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { runAuthorized } from '../../firmware/base/request-authorization.ts'
import { databaseOf } from '../../firmware/store/sqlite/file.ts'
import { commit, createStoreRig, text, utf8 } from './rig.ts'

const change = (name: string, value: string | null) => ({
  collection: 'keys' as const,
  name,
  value: value === null ? null : utf8(value),
})

test('changes of one turn share a transaction, each with a number of its own, and see one another', async (t) => {
  const rig = createStoreRig(t)
  const store = rig.open()
  const vault = rig.vault(store)
  const numbers = new Map<string, number>()
  vault.follow('keys', (_, after) => numbers.set(text(after!.value)!, after!.n))
  const writes = store.writes
  const made = Array.from({ length: 50 }, (_, n) =>
    vault.change(() => {
      assert.equal(numbers.size, n)
      return { changes: [change(`n${n}`, `v${n}`)], result: n }
    }),
  )
  assert.deepEqual(await Promise.all(made), [...Array(50).keys()])
  assert.equal(store.writes, writes + 1)
  assert.deepEqual(
    [...numbers.values()],
    [...Array(50).keys()].map((n) => n + 1),
  )
})

test('what one change is refused with keeps the others of its turn from nothing', async (t) => {
  const vault = createStoreRig(t).vault(createStoreRig(t).open())
  const refused = vault.change(() => {
    throw new CofferError('conflict', 'It is taken')
  })
  const made = [commit(vault, [change('a', 'a')]), commit(vault, [change('b', 'b')])]
  await assert.rejects(refused, /It is taken/)
  await Promise.all(made)
  assert.equal(text(vault.get('keys', 'b')), 'b')
})

test('a change without room fails alone, and who follows never hears of what did not reach the disk', async (t) => {
  const rig = createStoreRig(t)
  const store = rig.open()
  const vault = rig.vault(store)
  const held = new Map<string, Uint8Array>()
  vault.follow('keys', (before, after) => {
    if (before !== null) held.delete(text(before.value.subarray(0, 1))!)
    if (after !== null) held.set(text(after.value.subarray(0, 1))!, after.value)
  })
  await commit(vault, [change('a', 'a'), change('b', 'b'), change('c', 'c')])
  databaseOf(store).pragma(`max_page_count = ${databaseOf(store).pragma('page_count', { simple: true })}`)
  const outcomes = await Promise.allSettled([
    commit(vault, [change('b', null)]),
    commit(vault, [change('c', 'c2'), change('d', 'd'.repeat(500_000))]),
    commit(vault, [change('a', 'a2')]),
  ])
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason.message : 'made')),
    ['made', 'The disk is full', 'made'],
  )
  assert.deepEqual([...held].map(([name, value]) => [name, text(value)]).sort(), [
    ['a', 'a2'],
    ['c', 'c'],
  ])
  databaseOf(store).pragma(`max_page_count = ${1 << 30}`)
  const again: string[] = []
  rig.vault(store).follow('keys', (_, after) => again.push(text(after!.value)!))
  assert.deepEqual(again.sort(), ['a2', 'c'])
})

test('a change of a request that is no longer admitted is refused when its turn comes', async (t) => {
  const vault = createStoreRig(t).vault(createStoreRig(t).open())
  let isAdmitted = true
  const check = (): void => {
    if (!isAdmitted) throw new CofferError('unauthenticated', 'The account was deleted')
  }
  const late = runAuthorized(check, () => commit(vault, [change('a', 'a')]))
  isAdmitted = false
  const other = commit(vault, [change('b', 'b')])
  await assert.rejects(late, /account was deleted/)
  await other
  assert.equal(vault.get('keys', 'a'), null)
})

test('changes that wait are made at once when they have to, and none after the end', async (t) => {
  const vault = createStoreRig(t).vault(createStoreRig(t).open())
  const made = commit(vault, [change('a', 'a')])
  assert.equal(vault.get('keys', 'a'), null)
  vault.settle()
  assert.equal(text(vault.get('keys', 'a')), 'a')
  await made
  const late = commit(vault, [change('b', 'b')])
  vault.close()
  await assert.rejects(late, /Service not available/)
})
