/** Unlocking at the console leaves the same lines as unlocking through the API. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { AuditLine } from '../../firmware/audit/chain.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { needs } from '../support/tools.ts'

test('a wrong and a right passphrase at the console are recorded', {
  ...needs('script'),
  timeout: 120_000,
}, async (t) => {
  const program = await buildForTests()
  const data = makeDataDirectory(t)
  const first = startCoffer(t, { program, data })
  await provision(first)
  assert.equal(await first.stop(), 0)
  const coffer = startCoffer(t, { program, data, terminal: true })
  await coffer.see(/Unlock passphrase: $/)
  coffer.type('not the passphrase\r')
  await coffer.see(/Wrong passphrase/)
  await wait(1000) // the limit on attempts
  coffer.type(`${UNLOCK_PASSPHRASE}\r`)
  await coffer.see(/: Operational/)
  const { lines } = (await expect(200, coffer.call('GET', '/audit?limit=2', { as: ADMIN }))).json<{
    lines: AuditLine[]
  }>()
  assert.deepEqual(
    lines.map(({ user, address, action, result }) => [user, address, action, result]),
    [
      ['', 'console', 'POST /unlock', 204],
      ['', 'console', 'POST /unlock', 403],
    ],
  )
})
