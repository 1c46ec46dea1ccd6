/** Programs of published Python packages that run until their test ends. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'

export const TIME_MS_MAX = 60_000

/** In no environment but its own: those of companies often name authorities. */
export const ENVIRONMENT = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', PYTHONWARNINGS: 'ignore' }

/** Starts a program that does not end by itself, and gives what it has printed so far. */
export function start(
  t: TestContext,
  directory: string,
  program: string,
  parameters: readonly string[],
  settings = {},
) {
  const env = { ...ENVIRONMENT, PYTHONUNBUFFERED: '1', ...settings }
  const child = spawn(program, parameters, { env, cwd: directory, detached: true })
  t.after(() => {
    if (child.exitCode === null) process.kill(-child.pid!) // with the processes that it starts
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text))
  return { printed: () => printed, isRunning: () => child.exitCode === null }
}

/** Does it again and again until that is so: none of these programs says when it has begun to listen. */
export async function repeatUntil(isDone: () => Promise<boolean>, act: () => Promise<void>, failure: () => string) {
  const deadline = Date.now() + TIME_MS_MAX
  while (!(await isDone())) {
    assert.ok(Date.now() < deadline, failure())
    await act()
    await wait(1000)
  }
}
