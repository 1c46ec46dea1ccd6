/** The last line of a process that crashes: which errors it quotes. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

const MODULE = join(import.meta.dirname, '../../firmware/base/process.ts')

function crash(statement: string, isStarting: boolean): string {
  const script = `
    const { exitOnBugs } = await import(${JSON.stringify(MODULE)})
    exitOnBugs({ error: (source, text) => console.log(source, text) }, () => ${isStarting})
    setImmediate(() => { ${statement} })`
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
  })
  assert.equal(status, 70)
  return stdout
}

test('a version that crashes while it starts says what the error is', () => {
  assert.match(
    crash('undefined.member', true),
    /^general unexpected TypeError \(Cannot read properties of undefined \(reading 'member'\)\): at /,
  )
  const open = "process.getBuiltinModule('fs').readFileSync('/there/is/none')"
  assert.match(
    crash(open, true),
    /^general unexpected Error \(ENOENT: no such file or directory, open '\/there\/is\/none'\)/,
  )
})

test('no message is logged that may quote a secret, nor any once requests can come', () => {
  for (const [statement, isStarting] of [
    ["JSON.parse('secret words')", true],
    ["throw new Error('secret words')", true],
    ["process.getBuiltinModule('fs').readFileSync({ secret: 'secret words' })", true],
    ["undefined['secret words']", false],
  ] as const) {
    const line = crash(statement, isStarting)
    assert.match(line, /^general unexpected \w+: at /)
    assert.doesNotMatch(line, /secret/, statement)
  }
})
