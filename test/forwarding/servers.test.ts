// @test long 90 slow
/** rsyslog and syslog-ng, stopped and killed while keys are used: everything arrives, whatever happens on either side. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createClusterCa } from '../support/cluster-ca.ts'
import { createServer, type Kind, needsServer } from './support/servers.ts'
import { forwardTo, openWhole, signContinuously, statusOf, verifyArrived } from './support/whole.ts'

const ENDS = process.env.COFFER_SLOW === undefined ? 10 : 50
const UP_MS_MAX = 3000 // a batch takes one and a half seconds: the server ends before, during and after

for (const kind of ['rsyslog', 'syslog-ng'] as const satisfies Kind[])
  test(`${kind}, ended ${ENDS} times while keys are used, has every line of the audit log`, {
    ...needsServer(kind),
    timeout: 1_200_000,
  }, async (t) => {
    const ca = createClusterCa(t)
    const server = await createServer(t, kind, ca)
    const coffer = await openWhole(t, ca)
    await server.start()
    await forwardTo(coffer, server)
    const signing = signContinuously(coffer)
    for (let end = 0; end < ENDS; end++) {
      await wait((end * 7919) % UP_MS_MAX)
      await server.end(end % 2 === 0 ? 'SIGKILL' : 'SIGTERM')
      await server.start()
    }
    const { confirmed } = await statusOf(coffer)
    const count = await signing.stop()
    const { problems, lines, head, newest } = await verifyArrived(coffer, server)
    t.diagnostic(`${count} signatures, ${lines} lines, ${confirmed} of them confirmed before the last start`)
    assert.deepEqual(problems, [])
    assert.ok(head!.sequence >= newest && lines === head!.sequence, `${lines} of ${head!.sequence}`)
    assert.ok(lines > count && confirmed > 0)
  })
