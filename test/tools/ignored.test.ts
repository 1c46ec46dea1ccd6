/** Secrets that the pages have people make in their checkout never get into a commit: git ignores them. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

const STEPS: readonly [page: string, step: string, ...secrets: string[]][] = [
  ['firmware/release/README.md', 'tools/release-key.ts release ', 'release.key'],
  ['image/ADMINISTRATION.md', 'tools/secure-boot-keys.ts keys ', 'keys/PK.key', 'keys/KEK.key', 'keys/db.key'],
  ['README.md', 'data in ./var', 'var/device.key', 'var/store/store.db', 'var/development.key'],
]

const git = (...parameters: string[]) => spawnSync('git', ['-c', 'safe.directory=*', ...parameters], { cwd: ROOT })

for (const [page, step, ...secrets] of STEPS) {
  test(`git ignores what the steps of ${page} keep secret`, (t) => {
    assert.ok(readFileSync(join(ROOT, page), 'utf8').includes(step), `${page} has this step: ${step}`)
    if (!existsSync(join(ROOT, '.git')) || git('--version').error) return t.skip('no checkout of git, or no git')
    for (const secret of secrets) assert.equal(git('check-ignore', '--quiet', secret).status, 0, secret)
    assert.equal(git('check-ignore', '--quiet', 'package.json').status, 1) // the control
  })
}
