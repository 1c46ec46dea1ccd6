/** A child that leaves something behind, or cannot be started again: what the boot manager makes of it. */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { keepRunning, type RunningOptions, type RunningProcess } from '../../boot/supervisor/keep-running.ts'
import { commandLineOf } from '../support/proc.ts'

const DEADLINE_MS = 20_000
const TIMEOUTS = { restartMs: 20, restartMsMax: 20, steadyMs: 60_000, stopMsMax: 200 }

interface Scene {
  child: RunningProcess
  lines: string[]
  crashes: string[]
  until(condition: () => boolean): Promise<void>
}

const isRunning = (pid: string): boolean => commandLineOf(Number(pid)) !== ''

const launchShell = (script: string): ChildProcess =>
  spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'], detached: true })

function stage(t: TestContext, options: Pick<RunningOptions, 'launch'> & Partial<RunningOptions>): Scene {
  const [lines, crashes]: [string[], string[]] = [[], []]
  const child = keepRunning({
    name: 'child',
    askToEnd: () => {},
    onCrash: (explanation) => crashes.push(explanation),
    onLines: (more) => lines.push(...more),
    timeouts: TIMEOUTS,
    ...options,
  })
  t.after(async () => {
    await child.stop()
    for (const line of lines.filter(isRunning)) process.kill(Number(line), 'SIGKILL')
  })
  const until = async (condition: () => boolean) => {
    const deadline = Date.now() + DEADLINE_MS
    while (!condition()) {
      assert.ok(Date.now() < deadline, `nothing came: ${JSON.stringify({ lines, crashes })}`)
      await wait(10)
    }
  }
  return { child, lines, crashes, until }
}

for (const [where, away] of [
  ['in its group', ''],
  ['in a session of its own', 'setsid '],
] as const) {
  const leave = `${away}sh -c 'echo $$; exec sleep 60' &`

  test(`what it left ${where} does not keep it from being stopped`, async (t) => {
    const { child, lines, until } = stage(t, { launch: () => launchShell(`${leave} exec sleep 60`) })
    child.start()
    await until(() => lines.length === 1)
    const startedAt = performance.now()
    assert.equal(await child.stop(), false)
    assert.ok(performance.now() - startedAt < 10_000)
    assert.equal(isRunning(lines[0]!), away !== '')
  })

  test(`what it left ${where} does not keep it from being started again`, async (t) => {
    const { child, crashes, lines, until } = stage(t, {
      launch: () => launchShell(`${leave} sleep 0.2; echo last; exit 3`),
    })
    child.start()
    await until(() => crashes.length === 2)
    assert.match(crashes[0]!, /^The child ended with exit code 3\. It is started again/)
    assert.equal(lines.filter((line) => line === 'last').length, 2)
    await child.stop()
  })
}

const READ_ONLY = Object.assign(new Error('read-only'), { code: 'EROFS' })

for (const what of ['launched', 'greeted'] as const)
  test(`one that cannot be ${what} again has crashed once more, and comes back when it can`, async (t) => {
    let starts = 0
    const attempt = (step: typeof what) => {
      if (step === what && (starts === 2 || starts === 3)) throw READ_ONLY
    }
    const { child, crashes, lines, until } = stage(t, {
      launch: () => {
        starts++
        attempt('launched')
        return launchShell(starts === 1 ? 'exit 3' : 'echo $$; exec sleep 60')
      },
      onLaunch: () => attempt('greeted'),
    })
    child.start()
    await until(() => starts === 4 && lines.some(isRunning))
    assert.deepEqual(
      crashes.map((crash) => crash.split('.')[0]),
      [
        'The child ended with exit code 3',
        'The child could not be started (EROFS)',
        'The child could not be started (EROFS)',
      ],
    )
    await child.stop()
  })

test('a program that cannot be launched at first reports it to its starter', (t) => {
  const { child, crashes } = stage(t, {
    launch: () => {
      throw READ_ONLY
    },
  })
  assert.throws(() => child.start(), READ_ONLY)
  assert.deepEqual(crashes, [])
})
