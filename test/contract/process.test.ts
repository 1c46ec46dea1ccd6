// @test short 40
/** The contract over TLS, of Coffer as it is run. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RawClient } from '../support/raw-client.ts'
import { startAppliance } from '../support/suite.ts'
import { lookAtPort } from './check.ts'
import { passContract } from './pass.ts'

test('the contract, over TLS', async (t) => {
  const appliance = await startAppliance()
  t.after(() => appliance.dispose())
  await passContract(t, appliance)

  await t.test('1.3 an answer to bytes that are no request is one of ours as well', async () => {
    const raw = await RawClient.connect(appliance)
    await raw.send('this is not http\r\n\r\n')
    const answer = (await raw.answers(1))[0]!
    assert.equal(answer.status, 400)
    lookAtPort(answer, 'not http')
    await raw.closed(5000)
    raw.destroy()
  })
})
