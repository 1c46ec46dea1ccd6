// @test long 150
/** Forty kills more than the ten of first-kills.test.ts. */

import { test } from 'node:test'
import { surviveKills } from './kills.ts'

const KILLS = 40

test(
  `what was answered survives ${KILLS} kills, no key is half made, and the audit chain holds`,
  {
    timeout: 600_000,
  },
  (t) => surviveKills(t, { kills: KILLS, attended: 12 }),
)
