// @test long 25 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzzSeconds } from '../fuzz/support.ts'
import { fuzz } from './fuzz.ts'

test(`mutations of an image are refused or are the release itself, for ${fuzzSeconds} s`, async (t) => {
  const result = await fuzz(fuzzSeconds, Date.now() % 2 ** 32)
  t.diagnostic(JSON.stringify(result))
  assert.ok(result.messages > 20 && result.accepted < result.runs, JSON.stringify(result))
})
