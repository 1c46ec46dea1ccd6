/** One pass over the table of checks, by one way to reach an appliance. */

import type { TestContext } from 'node:test'
import type { Client } from '../support/appliance.ts'
import { furnish, type Look, lookAtAnswer, lookAtPort, type Need } from './check.ts'
import { CONTRACT } from './table.ts'

/** Checks what can be checked where these are lacking, on a fresh appliance. */
export async function passContract(t: TestContext, appliance: Client, ...lacking: Need[]): Promise<void> {
  await furnish(appliance)
  const look: Look = lacking.includes('port') ? lookAtAnswer : lookAtPort
  for (const { section, name, needs = [], run } of CONTRACT)
    if (!needs.some((need) => lacking.includes(need))) await t.test(`${section} ${name}`, () => run(appliance, look))
}
