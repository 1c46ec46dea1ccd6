// @test long 85 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzz } from './fuzz.ts'

const seconds = Number(process.env.COFFER_FUZZ_SECONDS ?? 5)

test(`mutations of an image are refused or are the release itself, for ${seconds} s`, async (t) => {
  const result = await fuzz(seconds, Date.now() % 2 ** 32)
  t.diagnostic(JSON.stringify(result))
  assert.ok(result.messages > 20 && result.accepted < result.runs, JSON.stringify(result))
})
