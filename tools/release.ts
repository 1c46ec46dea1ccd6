/**
 * Releases the version of package.json from the checked-out commit: `npm run release` (CONTRIBUTING.md, "Releasing"). Everything is checked
 * first, then `make test-all` runs, then the tag v<version> is set and signed, with the notes of CHANGELOG.md. Nothing is pushed.
 */

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { MIGRATIONS as CHAT_MIGRATIONS } from '../firmware/chat/store/schema.ts'
import { MIGRATIONS as STORE_MIGRATIONS } from '../firmware/store/sqlite/schema.ts'

const HELP = `usage: npm run release -- [OPTION]...

  --check     checks only: no test runs, no tag is set
  --tested    make test-all has passed on this commit, such as in the weekly workflow: it does not run again
  --unsigned  sets a tag without a signature, for want of a key
`

/** The part of CHANGELOG.md between the heading of a version and the next one, and the date of the heading. */
export function notesOf(changelog: string, version: string): { date: string; notes: string } | null {
  const [, date, notes] =
    new RegExp(`^## ${RegExp.escape(version)} - (\\d{4}-\\d\\d-\\d\\d)$([\\s\\S]*?)(?=^## |(?![\\s\\S]))`, 'm').exec(
      changelog,
    ) ?? []
  return date === undefined || notes === undefined ? null : { date, notes: notes.trim() }
}

const unreleased = (changelog: string): string =>
  /^## Unreleased$([\s\S]*?)(?=^## )/m.exec(changelog)?.[1]?.trim() ?? ''

/** Reasons why the commit in `root` cannot become the release. */
export function problemsOf(root: string, version: string): string[] {
  const git = (...line: string[]): string => execFileSync('git', line, { cwd: root, encoding: 'utf8' }).trim()
  const problems: string[] = []
  if (git('status', '--porcelain') !== '') problems.push('The work tree has changes: commit them first')
  if (git('tag', '--list', `v${version}`) !== '')
    problems.push(`The tag v${version} exists: change the version in package.json`)
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const section = notesOf(changelog, version)
  if (section === null) problems.push(`CHANGELOG.md needs a section "## ${version} - YYYY-MM-DD"`)
  else if (section.notes === '') problems.push(`The section of ${version} in CHANGELOG.md is empty`)
  if (unreleased(changelog) !== '')
    problems.push(`CHANGELOG.md still has lines under Unreleased: move them to the section of ${version}`)
  problems.push(...fixtureProblems(root, version))
  return problems
}

/** The upgrade fixture must be of the formats that this commit writes. */
function fixtureProblems(root: string, version: string): string[] {
  const fixture = join(root, `test/release/v${version}-test-keys.tar.gz`)
  const make = 'make it: tools/node test/release/make-upgrade-fixture.ts'
  if (!existsSync(fixture)) return [`The upgrade fixture of ${version} is missing; ${make}`]
  const record = execFileSync('tar', ['-xzOf', fixture, './record.json'], { encoding: 'utf8' })
  const { formats } = JSON.parse(record) as { formats: { store: number; chat: number } }
  const isCurrent = formats.store === STORE_MIGRATIONS.length && formats.chat === CHAT_MIGRATIONS.length
  return isCurrent ? [] : [`The upgrade fixture of ${version} was made before the last migration; ${make}`]
}

function fail(...lines: string[]): never {
  for (const line of lines) console.error(line)
  process.exit(1)
}

/** True if git has a key to sign with. */
const canSign = (root: string): boolean => spawnSync('git', ['config', 'user.signingkey'], { cwd: root }).status === 0

function release(root: string): void {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean' },
      tested: { type: 'boolean' },
      unsigned: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    console.log(HELP)
    return
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const problems = problemsOf(root, version)
  if (!values.check && !values.unsigned && !canSign(root))
    problems.push(
      'git has no key to sign the tag with: set user.signingkey, and gpg.format for a key of SSH; or --unsigned',
    )
  if (problems.length > 0) fail(...problems)
  if (values.check) {
    console.log(`${version} can be released from here once make test-all passes`)
    return
  }

  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  if (!values.tested && spawnSync('make', ['test-all'], { cwd: root, stdio: 'inherit' }).status !== 0)
    fail('make test-all failed: no tag is set')
  const notes = notesOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version)?.notes
  // Lines of the notes that begin with # are headings, not comments.
  const line = [
    'tag',
    values.unsigned ? '--annotate' : '--sign',
    '--cleanup=whitespace',
    '--file=-',
    `v${version}`,
    commit,
  ]
  execFileSync('git', line, {
    cwd: root,
    input: `Coffer ${version}\n\n${notes}\n`,
    stdio: ['pipe', 'inherit', 'inherit'],
  })
  console.log(`The tag v${version} is set on ${commit}. Publish it: git push origin v${version}`)
}

if (import.meta.main) release(process.cwd())
