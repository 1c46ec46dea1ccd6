/** Every run ends and leaves nothing behind: tools/bounded.ts, with which `make test` runs. */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'

const PROGRAM = join(import.meta.dirname, '../../tools/bounded.ts')
const HANGS = 'sleep 600 & echo $!; wait'
const STUBBORN = `trap '' TERM; ${HANGS}`

interface Run {
  child: ChildProcess
  said(): string
  complained(): string
  ended: Promise<number | null>
}

function bounded(t: TestContext, minutes: string, script: string): Run {
  const child = spawn(process.execPath, [PROGRAM, minutes, 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
    })
  return {
    child,
    said: () => texts.stdout,
    complained: () => texts.stderr,
    ended: once(child, 'close').then(([code]) => code as number | null),
  }
}

async function startedBy(run: Run): Promise<number> {
  while (!run.said().includes('\n')) await wait(5)
  return Number(run.said().trim())
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function expectGone(pid: number): Promise<void> {
  while (isAlive(pid)) await wait(5) // until its new parent has noticed
}

test('what ends in time ends with its own exit code', async (t) => {
  for (const code of [0, 3]) {
    const run = bounded(t, '10', `echo done; exit ${code}`)
    assert.equal(await run.ended, code)
    assert.equal(run.said(), 'done\n')
    assert.equal(run.complained(), '')
  }
})

test('what hangs is ended when its time is over, with what it started', async (t) => {
  const run = bounded(t, '0.03', HANGS)
  const pid = await startedBy(run)
  assert.equal(await run.ended, 124)
  assert.match(run.complained(), /The 0\.03 minutes for sh are over/)
  await expectGone(pid)
})

for (const [name, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`${name} ends all of it`, async (t) => {
    const run = bounded(t, '10', HANGS)
    const pid = await startedBy(run)
    run.child.kill(name)
    assert.equal(await run.ended, code)
    await expectGone(pid)
  })
}

test('what does not listen is killed when it is asked twice', async (t) => {
  const run = bounded(t, '10', STUBBORN)
  const pid = await startedBy(run)
  run.child.kill('SIGINT')
  await wait(100)
  assert.ok(isAlive(pid), 'the control: it does not listen')
  run.child.kill('SIGINT')
  await run.ended
  await expectGone(pid)
})

test('a run that leaves something behind has failed, and what it left is named and killed', async (t) => {
  const run = bounded(t, '10', 'sleep 600 & echo $!')
  const pid = await startedBy(run)
  assert.equal(await run.ended, 1)
  assert.match(run.complained(), /^Left running by sh, and killed: sleep 600\n$/)
  await expectGone(pid)
})

test('a command that is not there, or none, is said', async (t) => {
  const missing = spawn(process.execPath, [PROGRAM, '1', '/nonexistent'], { stdio: 'ignore' })
  t.after(() => missing.kill('SIGKILL'))
  assert.equal((await once(missing, 'close'))[0], 127)
  const nothing = spawn(process.execPath, [PROGRAM, 'x'], { stdio: 'ignore' })
  t.after(() => nothing.kill('SIGKILL'))
  assert.equal((await once(nothing, 'close'))[0], 2)
})
