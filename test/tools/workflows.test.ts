/** The workflows for GitHub call what a developer calls, hold no secret, can only read, and take actions at a commit. */

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
const PATHS = globSync('.github/workflows/*', { cwd: ROOT })

interface Workflow {
  on: Record<string, unknown>
  permissions: unknown
  jobs: Record<string, { steps: { run?: string; uses?: string }[] }>
}

const read = (path: string): Workflow => parse(readFileSync(join(ROOT, path), 'utf8')) as Workflow
const stepsOf = (path: string) => Object.values(read(path).jobs).flatMap(({ steps }) => steps)
const commandsOf = (path: string) => stepsOf(path).map(({ run }) => run ?? '')

test('one calls .ci/run for each change, one make test-all and the new machine each week', () => {
  assert.deepEqual(PATHS.sort(), ['.github/workflows/ci.yml', '.github/workflows/weekly.yml'])
  const [change, week] = PATHS as [string, string]
  assert.deepEqual(Object.keys(read(change).on), ['push', 'pull_request'])
  assert.ok(commandsOf(change).includes('.ci/run'))
  assert.ok('schedule' in read(week).on)
  assert.ok(commandsOf(week).includes('make test-all'))
  assert.match(commandsOf(week).join('\n'), /for npm in 9\.2\.0 latest; do[\s\S]*\.ci\/fresh-machine/)
})

for (const path of PATHS)
  test(`${path} holds no secret and gives no right to write`, () => {
    assert.doesNotMatch(readFileSync(join(ROOT, path), 'utf8'), /\$\{\{[^}]*\b(?:secrets|github\.token)\b/)
    assert.deepEqual(read(path).permissions, { contents: 'read' })
    assert.ok(!('pull_request_target' in read(path).on))
    for (const { uses } of stepsOf(path)) if (uses !== undefined) assert.match(uses, /@[0-9a-f]{40}$/)
  })
