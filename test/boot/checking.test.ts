import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { needs } from '../support/tools.ts'

const ATTEMPT_MS = 1000 // the login limiter

test('a passphrase is being checked, and the terminal says that it drops keys', needs('script'), async (context) => {
  const program = await buildForTests()
  const data = makeDataDirectory(context)
  const first = startCoffer(context, { program, data })
  await provision(first)
  assert.equal(await first.stop(), 0)

  const coffer = startCoffer(context, { program, data, terminal: true, settings: { COFFER_LOG: 'warning' } })
  await coffer.see(/Unlock passphrase: $/)
  coffer.type('wrong\r')
  await coffer.see(/^\r?\nChecking\.\.\. Keys typed meanwhile are dropped\.\r?\n(?=Wrong passphrase)/)
  await coffer.see(/Unlock passphrase: $/)
  await wait(ATTEMPT_MS)
  coffer.type(`${UNLOCK_PASSPHRASE}\r`)
  await coffer.see(/Checking\.\.\. Keys typed meanwhile are dropped\.\r?\n/)
  await coffer.see(/: Operational\r?\n/)
  assert.equal(await coffer.stop(), 0)
})
