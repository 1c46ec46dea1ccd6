/** The command in the Debian package: it runs with the package's Node, man(1) and the shells read what lies beside it. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { gunzipSync } from 'node:zlib'
import { makeCommand } from '../../image/host/command.ts'
import { makeDeb } from '../../image/host/deb.ts'
import { buildCommand } from '../../tools/build-command.ts'
import { needs } from '../support/tools.ts'
import { makeDirectory } from './images.ts'

const SHELLS = {
  'usr/share/bash-completion/completions/coffer': 'bash',
  'usr/share/zsh/vendor-completions/_coffer': 'zsh',
  'usr/share/fish/vendor_completions.d/coffer.fish': 'fish',
} as const

test('the package installs the command, its manual page and completions', needs('dpkg-deb'), async (t) => {
  const place = makeDirectory(t)
  writeFileSync(join(place, 'coffer.mjs'), (await buildCommand('1.2.3')).text)
  const program = makeCommand(place, '1.2.3')
  const deb = makeDeb({ program, version: '1.2.3', architecture: 'amd64', licenses: [], changes: '', time: 0 })
  writeFileSync(join(place, 'coffer.deb'), deb)
  const root = join(place, 'root')
  execFileSync('dpkg-deb', ['--extract', join(place, 'coffer.deb'), root])
  const read = (path: string) => readFileSync(join(root, path))

  symlinkSync(process.execPath, join(root, 'usr/lib/coffer/node'))
  const starter = read('usr/bin/coffer').toString()
  assert.match(starter, /^#!\/bin\/sh\nexec \/usr\/lib\/coffer\/node /)
  const run = (...line: string[]) =>
    execFileSync('sh', ['-c', starter.replaceAll(' /usr/', ` ${root}/usr/`), 'coffer', ...line], { encoding: 'utf8' })
  assert.equal(run('--version'), 'coffer 1.2.3\n')
  assert.equal(gunzipSync(read('usr/share/man/man1/coffer.1.gz')).toString(), run('manual'))
  for (const [path, shell] of Object.entries(SHELLS)) assert.equal(read(path).toString(), run('completion', shell))
})
