/** That what keeps etcds from each other does: a cut that cuts nothing would prove nothing. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Etcd } from '../../firmware/cluster/etcd/etcd.ts'
import { startEtcdApart } from './etcd.ts'
import { fileNeeds } from './tools.ts'

await fileNeeds('etcd')

const answers = (etcd: Etcd): Promise<boolean> =>
  etcd.get('/x', { timeoutMs: 3000 }).then(
    () => true,
    () => false,
  )

const DEADLINE_MS = 60_000 // the machine may be busy

async function until(isAnswering: boolean, etcd: Etcd): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  while ((await answers(etcd)) !== isAnswering) {
    assert.ok(Date.now() < deadline, `it ${isAnswering ? 'does not answer' : 'still answers'}`)
    await wait(50)
  }
}

test('a member that hears nobody, or that nobody hears, answers no more, and the others go on; then all do', async (t) => {
  const { members, partition } = await startEtcdApart(t, 'a', 'b', 'c')
  const [a, b, c] = members.map((member) => member.connect())
  for (const [from, to] of [
    [['b', 'c'], ['a']],
    [['a'], ['b', 'c']],
  ] as const) {
    for (const one of from) for (const other of to) partition.drop(one, other)
    await until(false, a!)
    await until(true, b!)
    await until(true, c!)
    assert.equal(await answers(a!), false)
    partition.heal()
    await until(true, a!)
  }
})
