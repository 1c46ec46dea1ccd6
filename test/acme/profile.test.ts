/** The profile of an order is one that the directory lists. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../support/tools.ts'
import { openAcme, portOf, step } from './support/rig.ts'

for (const profile of ['constructor', 'valueOf', 'unknown'])
  test(`no order asks for the profile ${profile}, which the CA does not list`, needs('openssl'), async (t) => {
    const opened = await openAcme(t)
    await opened.set({ appliance: ['coffer.test'], profile })
    await step(opened, () => portOf(opened).failures > 0)
    assert.match(portOf(opened).problem!, new RegExp(`^The CA offers no profile ${profile}: classic, shortlived$`))
    assert.deepEqual(opened.ca.orders, [])
  })
