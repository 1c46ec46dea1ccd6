// @test short 45
/** The first ten of the kills of kill.test.ts, which come before every landing. */

import { test } from 'node:test'
import { surviveKills } from './kills.ts'

const KILLS = 10

test(
  `what was answered survives ${KILLS} kills, no key is half made, and the audit chain holds`,
  {
    timeout: 300_000,
  },
  (t) => surviveKills(t, { kills: KILLS, attended: 2 }),
)
