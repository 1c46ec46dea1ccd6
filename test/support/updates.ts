/** Update images for tests, made by the tools that a release is made with, and the key that an appliance has to know. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { buildForTests } from './build.ts'

export const NOTES =
  'What is <b>new</b>.<img src=x onerror="document.title=1"><script>document.title=2</script>\u202etxet'

const root = resolve(import.meta.dirname, '../..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const [major, minor] = version.split('.').map(Number)

export interface Updates {
  /** The public half, to lie in the data directory as `release.pub`. */
  key: string
  /** Image of the current sources, one minor version later: `next` without its last number. */
  good: string
  next: string
  /** Two minor versions later, and its firmware ends at once with exit code 3. */
  bad: string
}

export async function makeUpdates(): Promise<Updates> {
  const workshop = mkdtempSync(join(tmpdir(), 'coffer-release-'))
  process.once('exit', () => rmSync(workshop, { recursive: true, force: true }))
  run(workshop, 'release-key.ts', 'release')
  const next = `${major}.${minor! + 1}`
  cpSync(dirname(await buildForTests(`${next}.0`)), join(workshop, 'next'), { recursive: true })
  const good = makeImage(workshop, 'next', `${next}.0`)
  cpSync(join(workshop, 'next'), join(workshop, 'bad'), { recursive: true })
  writeFileSync(join(workshop, 'bad/firmware.js'), 'process.exit(3)')
  const bad = makeImage(workshop, 'bad', `${major}.${minor! + 2}.0`)
  return { key: join(workshop, 'release.pub'), good, next, bad }
}

function run(workshop: string, tool: string, ...parameters: string[]): void {
  const options = { cwd: workshop, encoding: 'utf8' } as const
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'tools', tool), ...parameters], options)
  assert.equal(status, 0, stderr)
}

function makeImage(workshop: string, directory: string, release: string): string {
  writeFileSync(join(workshop, directory, 'package.json'), JSON.stringify({ type: 'module', version: release }))
  const manifest = { product: 'Coffer', version: release, minimumVersion: version, releaseNotes: NOTES }
  writeFileSync(join(workshop, 'release.json'), JSON.stringify(manifest))
  const files = readdirSync(join(workshop, directory))
    .filter((name) => name !== 'boot.js' && name !== 'LICENSES.txt')
    .map((name) => join(directory, name))
  const output = `${directory}.update`
  run(workshop, 'update-image.ts', '--manifest', 'release.json', '--key', 'release.key', '--output', output, ...files)
  return join(workshop, output)
}
