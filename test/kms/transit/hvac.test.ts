// @test long 15
/** The published Python client hvac: every call that Coffer offers. CONTRACT.md of firmware/kms/transit. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { expect } from '../../support/appliance.ts'
import { ADMIN, addUser, passphraseOf, startProvisioned } from '../../support/suite.ts'
import { needsPython, PYTHON } from '../../support/tools.ts'
import { environment, run } from './bao.ts'

test('hvac makes, lists, configures, uses and deletes keys, and ends its tokens', needsPython(), async (t) => {
  const appliance = await startProvisioned()
  t.after(() => appliance.dispose())
  await addUser(appliance, 'web', 'Operator')
  await expect(204, appliance.call('PUT', '/config/interfaces', { as: ADMIN, json: { transit: 'on', tokenHours: 1 } }))
  const env = {
    ...environment('/nonexistent', `https://${appliance.host}:${appliance.port}`),
    ADMIN_PASSPHRASE: ADMIN.slice(ADMIN.indexOf(':') + 1),
    PASSPHRASE: passphraseOf('web'),
    PYTHONWARNINGS: 'ignore',
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const program = join(import.meta.dirname, 'hvac-calls.py')
  assert.match(await run(PYTHON, [program], env), /^all of it$/m)
})
