/** A chat that crashes again and again: it always comes back by itself. Contract section 3.8 of the key service, chat/README.md. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { FirmwareCommand } from '../../boot/supervisor/firmware-process.ts'
import { createWantedProcess } from '../../boot/supervisor/wanted-process.ts'

const DEADLINE_MS = 60_000 // the machine may be busy
const TIMEOUTS = {
  restartMs: 10,
  restartMsMax: 40,
  steadyMs: 60_000,
  pingMs: 60_000,
  silenceMsMax: 60_000,
  stopMsMax: 5000,
}

function stage(t: TestContext, program: string) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-chat-process-'))
  const file = join(directory, 'chat.js')
  writeFileSync(file, program)
  const [lines, problems]: [string[], string[]] = [[], []]
  let obstacle: Error | null = null
  const command = (): FirmwareCommand => {
    if (obstacle !== null) throw obstacle
    return {
      serves: 'chat',
      launcher: [],
      program: file,
      readable: [file],
      storeDirectory: directory,
      heapMegabytes: 64,
    }
  }
  const chat = createWantedProcess({
    name: 'chat',
    command,
    lock: null,
    onLaunch: () => {},
    onDown: (problem) => problems.push(problem),
    onLines: (more) => lines.push(...more),
    timeouts: TIMEOUTS,
  })
  t.after(async () => {
    await chat.stop()
    rmSync(directory, { recursive: true })
  })
  const until = async (condition: () => boolean) => {
    const deadline = Date.now() + DEADLINE_MS
    while (!condition()) {
      assert.ok(Date.now() < deadline, `nothing came: ${JSON.stringify([lines.slice(-5), problems.slice(-5)])}`)
      await wait(10)
    }
  }
  const waits = () => lines.flatMap((line) => /started again in ([\d.]+) s/.exec(line)?.[1] ?? [])
  return { chat, lines, problems, until, waits, prevent: (error: Error | null) => (obstacle = error) }
}

test('it is started again after every crash, more slowly each time, and told of from the third on', async (t) => {
  const { chat, lines, problems, until, waits } = stage(t, 'process.exit(3)')
  chat.want('running')
  await until(() => problems.length >= 3)
  assert.deepEqual(waits().slice(0, 5), ['0.01', '0.02', '0.04', '0.04', '0.04'])
  assert.deepEqual(problems.slice(0, 3), [
    'it ended with exit code 3 3 times in a row',
    'it ended with exit code 3 4 times in a row',
    'it ended with exit code 3 5 times in a row',
  ])
  assert.ok(!lines.some((line) => line.includes('not started again')))
})

test('one that is stopped and wanted again begins with the shortest wait', async (t) => {
  const { chat, problems, until, waits } = stage(t, 'process.exit(3)')
  chat.want('running')
  await until(() => problems.length >= 2)
  await chat.stop()
  const before = waits().length
  assert.equal(waits().at(-1), '0.04')
  chat.want('running')
  await until(() => waits().length > before)
  assert.equal(waits()[before], '0.01')
})

test('one that cannot be launched at first is tried again', async (t) => {
  const { chat, lines, problems, until, prevent } = stage(
    t,
    'process.stdout.write("here\\n"); setInterval(() => {}, 1000)',
  )
  prevent(Object.assign(new Error('read-only'), { code: 'EROFS' }))
  chat.want('running')
  await until(() => problems.length >= 1)
  assert.match(lines[0]!, /The chat could not be started \(EROFS\)/)
  prevent(null)
  await until(() => lines.some((line) => line.includes('here')))
})
