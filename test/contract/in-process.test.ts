/** The contract in process, without sockets, and the access matrix. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { openRig } from '../support/in-process.ts'
import { createAccessMatrix } from './access.ts'
import { ADMIN, as } from './check.ts'
import { passContract } from './pass.ts'
import { CALLERS, ROWS, type Row, type StateLetter } from './rows.ts'

test('the contract, in process', async (t) => {
  const rig = await openRig(t)
  await passContract(t, rig, 'port', 'addresses')
})

test('the access matrix, in process', async (t) => {
  const rig = await openRig(t)
  const matrix = createAccessMatrix(rig)
  const leaves = (state: StateLetter) => (row: Row) => row.leaves === true && row.states.includes(state)
  await matrix.runAll('U', ['none', 'wrong', 'A'], leaves('U'))
  assert.equal(await matrix.run(ROWS.find(({ path }) => path === '/provision')!, 'U', 'wrong'), undefined)
  await matrix.runOperational(({ path }) => path.startsWith('/chat')) // it has no place for one
  await expect(204, rig.call('POST', '/lock', as(ADMIN)))
  await matrix.runAll('L', CALLERS, leaves('L'))
  const unlock = ROWS.find(({ path }) => path === '/unlock')!
  for (const caller of ['none', 'wrong', 'A'] as const) assert.equal(await matrix.run(unlock, 'L', caller), undefined)

  const failed = await openRig(t, null)
  await createAccessMatrix(failed).runAll('F', ['none', 'wrong', 'A', 'O', 'nA'])
})
