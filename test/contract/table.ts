/**
 * The checks of the contract (firmware/kms/CONTRACT.md), each once. They go in this order through every way to reach an
 * appliance, on one that `furnish` has provisioned: in-process.test.ts, process.test.ts, test/image/contract.test.ts.
 */

import { answers } from './answers.ts'
import type { Check } from './check.ts'
import { keys } from './keys.ts'
import { negotiation } from './negotiation.ts'
import { order } from './order.ts'
import { representation } from './representation.ts'
import { self } from './self.ts'

export const CONTRACT: readonly Check[] = [...answers, ...negotiation, ...representation, ...keys, ...self, ...order]
