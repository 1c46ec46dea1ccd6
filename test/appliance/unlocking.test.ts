/** The one way to unlock: limits and audit lines are the same from the network and from the console. Contract 7.1, 7.6. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { CONSOLE } from '../../firmware/appliance/unlocking.ts'
import type { AuditLine } from '../../firmware/audit/chain.ts'
import { createLoginLimiter } from '../../firmware/base/login-limiter.ts'
import { createRig, hasCode, PROVISIONING, UNLOCK, utf8 } from './rig.ts'

const WRONG = utf8('a wrong passphrase')

test('a wrong and a right attempt leave one line each, wherever they come from', async (t) => {
  let nowMs = 0
  const appliance = await createRig(t).open({ limiter: createLoginLimiter(() => nowMs) })
  await appliance.provision(PROVISIONING)
  const before = (await appliance.audit!.page({ limit: 100 })).lines.length
  for (const from of [{ address: '192.0.2.1' }, CONSOLE]) {
    appliance.lock()
    await assert.rejects(appliance.unlock(WRONG, from), hasCode('forbidden', /^Wrong passphrase$/))
    await assert.rejects(appliance.unlock(UNLOCK, from), hasCode('tooManyAttempts'))
    nowMs += 1000
    await appliance.unlock(UNLOCK, from)
  }
  const { lines } = await appliance.audit!.page({ limit: 100 })
  const seen = lines
    .slice(0, lines.length - before)
    .map(({ address, action, result }: AuditLine) => [address, action, result])
  assert.deepEqual(seen.reverse(), [
    ['192.0.2.1', 'POST /unlock', 403],
    ['192.0.2.1', 'POST /unlock', 204],
    ['console', 'POST /unlock', 403],
    ['console', 'POST /unlock', 204],
  ])
})

test('a caller that writes its own line is told before there is one, and only of attempts that were made', async (t) => {
  const appliance = await createRig(t).open({ limiter: createLoginLimiter(() => 0) })
  await appliance.provision(PROVISIONING)
  appliance.lock()
  const heard: string[] = []
  const attempt = (name: string, passphrase: Uint8Array) =>
    appliance.unlock(passphrase, { address: '192.0.2.1', onRecord: () => heard.push(name) })
  await assert.rejects(attempt('wrong', WRONG), hasCode('forbidden'))
  await assert.rejects(attempt('limited', UNLOCK), hasCode('tooManyAttempts'))
  assert.deepEqual(heard, ['wrong'])
})
