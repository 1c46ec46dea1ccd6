/** `.ci/commits` refuses subjects of commits that have not the form of the project, since the last tag. */

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from '../support/tools.ts'

const PROGRAM = join(import.meta.dirname, '../../.ci/commits')

const GOOD = ['keys: answer a committed move with 200', 'chat, store: bound drafts', `a/b-c.d: x${'y'.repeat(62)}`]
const BAD = ['Keys: move', 'keys: Move', 'keys: move.', 'move keys', `a: ${'x'.repeat(70)}`, ': x', 'keys:move']

test('takes subjects of the form since the last tag, and names each other one', needs('git'), (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-commits-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', '-c', 'tag.gpgsign=false']
  const git = (...line: string[]) => execFileSync('git', ['-C', directory, ...identity, ...line], { encoding: 'utf8' })
  const commit = (subject: string) => git('commit', '--quiet', '--allow-empty', `--message=${subject}`)
  const check = () => {
    const { status, stderr } = spawnSync(PROGRAM, { cwd: directory, encoding: 'utf8' })
    return { status, lines: stderr.split('\n').filter(Boolean) }
  }
  git('init', '--quiet')
  commit('Whatever was before the tag.')
  git('tag', 'v1.0.0')
  assert.deepEqual(check(), { status: 0, lines: [] })
  for (const subject of GOOD) commit(subject)
  assert.deepEqual(check(), { status: 0, lines: [] })
  for (const subject of BAD) commit(subject)
  const { status, lines } = check()
  assert.equal(status, 1)
  assert.deepEqual(lines.map((line) => line.split('final period: ')[1]).sort(), BAD.toSorted())
})
