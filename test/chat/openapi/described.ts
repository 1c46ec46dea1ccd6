/** Every successful answer of every test has the shape of the published description, but for the listed differences. */

import { test } from 'node:test'
import { DIFFERENCES } from './differences.ts'
import { readDescription } from './schema.ts'

const description = readDescription()
// Not in a process that a test starts: what it prints is read by that one.
if (description === null && process.argv[1]?.endsWith('.test.ts'))
  test('every answer is as it is described', { skip: 'the description is not installed' }, () => {})
const known = new Map<string, boolean>()

/** Throws with what is not as described. Tells whether the description knows the operation. */
export function expectDescribed(method: string, path: string, answer: unknown): boolean {
  const problems = description?.problems(method, path, answer) ?? null
  const unexpected = problems?.filter((problem) => !isKnown(problem)) ?? []
  if (unexpected.length > 0) throw new Error(`Not as it is described: ${[...new Set(unexpected)].join('; ')}`)
  return problems !== null
}

function isKnown(problem: string): boolean {
  const seen = known.get(problem)
  if (seen !== undefined) return seen
  const found = DIFFERENCES.some(([expected]) => expected.test(problem))
  known.set(problem, found)
  return found
}
