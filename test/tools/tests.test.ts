/** The runner of the suites: what fails in it fails the run, and all of it is run. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

const PROGRAM = join(import.meta.dirname, '../../tools/tests.ts')

const FILES = {
  good: "import { test } from 'node:test'\ntest('good', () => {})\n",
  bad: "import { test } from 'node:test'\ntest('bad', () => { throw new Error('as it should') })\n",
  gone: 'process.exit(3)\n',
  broken: 'this is no program\n',
  partial:
    "import { test } from 'node:test'\ntest('all', async (t) => { await t.test('part', { skip: 'a program' }, () => {}) })\n",
} as const

function runFiles(t: TestContext, ...names: (keyof typeof FILES)[]) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-tests-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const files = names.map((name) => {
    const file = join(directory, `${name}.test.mjs`)
    writeFileSync(file, FILES[name])
    return file
  })
  const { NODE_TEST_CONTEXT: _, ...env } = process.env // or it would report to whoever runs this test
  writeFileSync(
    join(directory, 'shared.mjs'),
    "import { test } from 'node:test'\ntest('all', async (t) => { await t.test('part', { skip: 'a program' }, () => {}) })\n",
  )
  const list = join(directory, 'left-out')
  const parameters = [PROGRAM, `--left-out=${list}`, '2', ...files]
  const { status, stdout, stderr } = spawnSync(process.execPath, parameters, { env, encoding: 'utf8' })
  return { status, text: stdout + stderr, leftOut: readFileSync(list, 'utf8') }
}

test('what passes passes, with how long each file took', (t) => {
  const { status, text } = runFiles(t, 'good')
  assert.equal(status, 0, text)
  assert.match(text, /✔ good/)
  assert.match(text, /^1 files; .* %[\s\S]* s {2}.*good\.test\.mjs$/m)
})

for (const name of ['bad', 'gone', 'broken'] as const)
  test(`a file that is ${name} fails the run, and the others are run`, (t) => {
    const { status, text } = runFiles(t, name, 'good')
    assert.equal(status, 1, text)
    assert.match(text, /✔ good/)
  })

test('files in which something was skipped are listed, however deep it is', (t) => {
  const { status, text, leftOut } = runFiles(t, 'good', 'partial')
  assert.equal(status, 0, text)
  assert.match(leftOut, /^\S*\/partial\.test\.mjs\n$/)
})

test('nothing to run is an error', () => {
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, '2'], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [2, 'usage: node tools/tests.ts [--left-out=LIST] CONCURRENCY FILE...\n'])
})
