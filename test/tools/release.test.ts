/** `npm run release` in a repository of its own, with a real key of SSH: what it refuses, and the tag that it sets. */

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MIGRATIONS as CHAT_MIGRATIONS } from '../../firmware/chat/store/schema.ts'
import { MIGRATIONS as STORE_MIGRATIONS } from '../../firmware/store/sqlite/schema.ts'
import { notesOf } from '../../tools/release.ts'
import { type FixtureRecord, pack, RECORD } from '../release/upgrade-fixture.ts'
import { needs } from '../support/tools.ts'

const PROGRAM = join(import.meta.dirname, '../../tools/release.ts')
const VERSION = '1.2.3'
const FIXTURE = `test/release/v${VERSION}-test-keys.tar.gz`
const FORMATS: FixtureRecord['formats'] = { store: STORE_MIGRATIONS.length, chat: CHAT_MIGRATIONS.length }
const NOTES = '### Added\n- Keys.\n\n### Security\n- Nothing.'
const CHANGELOG = `# Changelog\n\n## Unreleased\n\n## ${VERSION} - 2026-11-29\n\n${NOTES}\n\n## 0.0.9 - 2026-01-01\n\nOlder.\n`

/** As much of an upgrade fixture as the release reads. */
function writeFixture(root: string, formats: FixtureRecord['formats']): void {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-fixture-'))
  writeFileSync(join(directory, RECORD), JSON.stringify({ formats } satisfies Partial<FixtureRecord>))
  pack(directory, join(root, FIXTURE))
  rmSync(directory, { recursive: true })
}

/** A repository that can be released, with its key; `make test-all` in it notes the commit on which it ran. */
function repository(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-release-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [root, key, tested] = ['root', 'key', 'tested'].map((name) => join(directory, name)) as [string, string, string]
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  writeFileSync(join(directory, 'signers'), `test@example.org ${execFileSync('ssh-keygen', ['-y', '-f', key])}`)
  mkdirSync(join(root, 'test/release'), { recursive: true })
  const git = (...line: string[]): string => execFileSync('git', line, { cwd: root, encoding: 'utf8' }).trim()
  git('init', '--quiet')
  git('config', 'user.name', 'Test')
  git('config', 'user.email', 'test@example.org')
  git('config', 'gpg.format', 'ssh')
  git('config', 'gpg.ssh.allowedSignersFile', join(directory, 'signers'))
  git('config', 'user.signingkey', key)
  writeFileSync(join(root, 'package.json'), JSON.stringify({ version: VERSION }))
  writeFileSync(join(root, 'CHANGELOG.md'), CHANGELOG)
  writeFileSync(join(root, 'Makefile'), `test-all:\n\t@git rev-parse HEAD > ${tested}\n`)
  writeFixture(root, FORMATS)
  const commit = () => {
    git('add', '--all')
    git('commit', '--quiet', '--no-gpg-sign', '--message=repository: begin')
  }
  commit()
  const release = (...options: string[]) => {
    const env = { PATH: process.env.PATH!, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' }
    const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...options], {
      cwd: root,
      env,
      encoding: 'utf8',
    })
    return { status, stdout, stderr }
  }
  return { root, tested, git, commit, release }
}

test('tests the commit, then sets a signed tag on it with the notes of the version', needs('git', 'ssh'), (t) => {
  const { git, release, tested } = repository(t)
  const { status, stderr } = release()
  assert.equal(status, 0, stderr)
  const head = git('rev-parse', 'HEAD')
  assert.equal(execFileSync('cat', [tested], { encoding: 'utf8' }).trim(), head)
  assert.equal(git('rev-parse', `v${VERSION}^{commit}`), head)
  git('verify-tag', `v${VERSION}`)
  assert.match(
    git('tag', '--list', '--format=%(contents)', `v${VERSION}`),
    new RegExp(`^Coffer ${VERSION}\n\n${NOTES}\n`),
  )
})

test('sets no tag when a test fails', needs('git', 'ssh'), (t) => {
  const { root, git, commit, release } = repository(t)
  writeFileSync(join(root, 'Makefile'), 'test-all:\n\t@false\n')
  commit()
  const { status, stderr } = release()
  assert.equal(status, 1)
  assert.match(stderr, /make test-all failed: no tag is set/)
  assert.equal(git('tag'), '')
})

const FAULTS: Record<string, { spoil: (root: string) => void; committed: boolean; message: RegExp }> = {
  'changes that are not committed': {
    spoil: (root) => writeFileSync(join(root, 'note'), ''),
    committed: false,
    message: /The work tree has changes/,
  },
  'a version without a dated section': {
    spoil: (root) => writeFileSync(join(root, 'CHANGELOG.md'), CHANGELOG.replace(' - 2026-11-29', '')),
    committed: true,
    message: /CHANGELOG.md needs a section/,
  },
  'lines under Unreleased': {
    spoil: (root) =>
      writeFileSync(join(root, 'CHANGELOG.md'), CHANGELOG.replace('## Unreleased\n', '## Unreleased\n\n- New.\n')),
    committed: true,
    message: /still has lines under Unreleased/,
  },
  'a version without a fixture': {
    spoil: (root) => rmSync(join(root, 'test/release'), { recursive: true }),
    committed: true,
    message: /The upgrade fixture of .* is missing/,
  },
  'a fixture of an older format': {
    spoil: (root) => writeFixture(root, { ...FORMATS, chat: FORMATS.chat - 1 }),
    committed: true,
    message: /The upgrade fixture of .* was made before the last migration/,
  },
}

for (const [name, { spoil, committed, message }] of Object.entries(FAULTS))
  test(`refuses ${name}, and runs no test`, needs('git', 'ssh'), (t) => {
    const { root, tested, git, commit, release } = repository(t)
    spoil(root)
    if (committed) commit()
    for (const options of [[], ['--check']]) {
      const { status, stderr } = release(...options)
      assert.equal(status, 1)
      assert.match(stderr, message)
    }
    assert.equal(git('tag'), '')
    assert.throws(() => execFileSync('cat', [tested], { stdio: 'ignore' }))
  })

test('refuses a version twice, and one that cannot be signed unless told so', needs('git', 'ssh'), (t) => {
  const { git, release } = repository(t)
  git('config', '--unset', 'user.signingkey')
  assert.match(release('--tested').stderr, /git has no key to sign the tag with/)
  assert.equal(release('--tested', '--unsigned').status, 0)
  assert.equal(git('cat-file', '-t', `v${VERSION}`), 'tag')
  assert.match(release('--check').stderr, /The tag v.* exists/)
})

test('the notes of a version end where those of the one before begin', () => {
  assert.deepEqual(notesOf(CHANGELOG, VERSION), { date: '2026-11-29', notes: NOTES })
  assert.deepEqual(notesOf(CHANGELOG, '0.0.9'), { date: '2026-01-01', notes: 'Older.' })
  assert.equal(notesOf(CHANGELOG, '0.0'), null)
})
