/** The command as a file: it needs no other, and loads at its start only what every start needs. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { buildCommand } from '../../tools/build-command.ts'
import { createRig, type Rig } from './rig.ts'

let rig: Rig
before(async () => {
  rig = await createRig()
})
after(() => rig.dispose())

const BYTES_MAX = 500_000

test('it is one file below 500 KB that imports nothing but parts of Node', async () => {
  const { text, metafile } = await buildCommand()
  assert.ok(Buffer.byteLength(text) < BYTES_MAX, `${Buffer.byteLength(text)} bytes`)
  assert.ok(text.startsWith('#!/usr/bin/env node\n'))
  const [output, ...others] = Object.values(metafile.outputs)
  assert.deepEqual(others, [])
  assert.ok(output!.imports.length > 5)
  for (const { path } of output!.imports) assert.match(path, /^node:[a-z_/]+$/)
})

/** Modules that Node has loaded at the end, written by a call that loads none itself. */
function loadedBy(...line: string[]): Set<string> {
  const list = join(rig.directory, 'loaded')
  const hook = join(rig.directory, 'hook.mjs')
  writeFileSync(
    hook,
    `process.on('exit', () => process.getBuiltinModule('node:fs').writeFileSync(${JSON.stringify(list)}, process.moduleLoadList.join('\\n')))`,
  )
  execFileSync(process.execPath, ['--import', hook, ...line], { stdio: ['ignore', 'ignore', 'inherit'] })
  return new Set(readFileSync(list, 'utf8').split('\n'))
}

test('a start loads what parses its line, and neither cryptography nor network nor streams', () => {
  writeFileSync(join(rig.directory, 'empty.mjs'), '')
  const empty = loadedBy(join(rig.directory, 'empty.mjs'))
  for (const line of [[], ['--version'], ['help'], ['help', 'ssh-agent'], ['completion', 'bash']]) {
    const more = [...loadedBy(join(rig.directory, 'coffer.mjs'), ...line)].filter((name) => !empty.has(name))
    for (const name of more)
      assert.match(
        name,
        /\b(module|modules|source_map|os|parse_args|abort_controller|process|signal_wrap)\b/,
        `${line}: ${name}`,
      )
  }
})
