/**
 * Runs a command for so many minutes at most, and ends all that it started with it: when the time is over, when it is
 * interrupted (Ctrl-C), and also when it ends by itself. What is still there then is named, and the run has failed.
 *
 * The command leads a process group of its own, setsid(2). Exit codes are the command's, 124 when the time was over, as
 * timeout(1) has it, and 128 with the number of the signal that ended it.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '../firmware/base/defined.ts'

const USAGE = 'usage: node tools/bounded.ts MINUTES COMMAND [ARGUMENT]...'
const MINUTE_MS = 60_000
const END_MS_MAX = 30_000 // from being asked to end to being killed
const LEAVE_MS_MAX = 5000 // what ends with its parent takes a moment
const LEAVE_EVERY_MS = 50
const TIME_IS_OVER = 124

async function main([minutes, command, ...parameters]: string[]): Promise<number> {
  const limitMs = Number(minutes) * MINUTE_MS
  if (command === undefined || !(limitMs > 0)) return complain(USAGE, 2)
  let status: number | null = null
  const end = (code: number) => {
    const pid = defined(group)
    if (status !== null) return signal(pid, 'SIGKILL') // asked twice
    status = code
    signal(pid, 'SIGTERM')
    setTimeout(() => signal(pid, 'SIGKILL'), END_MS_MAX).unref()
  }
  // Before there is a group: a signal that came in between would end this program and leave that one.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => end(128 + constants.signals[name]))
  const child = spawn(command, parameters, { stdio: 'inherit', detached: true })
  const group = child.pid
  if (group === undefined) return complain(String((await once(child, 'error'))[0]), 127)

  const timer = setTimeout(() => {
    complain(`The ${minutes} minutes for ${command} are over: it is ended, with all that it started.`)
    end(TIME_IS_OVER)
  }, limitMs)

  const own = await exitCodeOf(child)
  clearTimeout(timer)
  const left = await leftOf(group)
  signal(group, 'SIGKILL')
  if (status !== null) return status
  if (left.length > 0) return complain(`Left running by ${command}, and killed: ${left.join('; ')}`, own || 1)
  return own
}

async function exitCodeOf(child: ChildProcess): Promise<number> {
  const [code, by] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  return code ?? 128 + constants.signals[defined(by)]
}

async function leftOf(group: number): Promise<string[]> {
  const deadline = performance.now() + LEAVE_MS_MAX
  for (;;) {
    const left = membersOf(group)
    if (left.length === 0 || performance.now() > deadline) return left
    await wait(LEAVE_EVERY_MS)
  }
}

/** In /proc/<pid>/stat, proc(5), state, parent and group follow the name, which is in brackets and may contain brackets. */
function membersOf(group: number): string[] {
  const members: string[] = []
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
      const [state, , its] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (Number(its) !== group || state === 'Z') continue
      members.push(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim())
    } catch {} // it has just ended
  }
  return members
}

function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(-group, name)
  } catch {}
}

function complain(text: string, code = 0): number {
  console.error(text)
  return code
}

process.exitCode = await main(process.argv.slice(2))
