/** Runs the bundled Coffer as a user would, with the boot manager's pipes, terminal and signals in the test's hands. */

import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Client } from './appliance.ts'
import { request, type Target, targetOf } from './client.ts'
import { childrenOf, commandLineOf } from './proc.ts'

const DEADLINE_MS = 60_000 // the machine may be busy
const ALONE = ['PATH', 'HOME', 'LANG', 'TMPDIR']

export type Ending = Pick<TestContext, 'after'>

export function makeDataDirectory(t: Ending): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-data-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

export interface Options {
  program: string
  data: string
  /** On a pseudo-terminal of script(1), which echoes like any terminal until the program turns that off. */
  terminal?: boolean
  settings?: Record<string, string>
  through?: readonly string[]
}

export interface Coffer extends Client {
  /** Everything printed so far; a terminal's line ends are CR LF. */
  output(): string
  /** Waits for a match after the last one, and moves behind it. */
  see(pattern: RegExp): Promise<RegExpExecArray>
  type(text: string): void
  /** Resolves with the exit code (of the boot manager, also through script). */
  readonly ended: Promise<number | null>
  running(): boolean
  bootPid(): number
  /** The firmware's pid; waits for the next one if it is just being restarted. */
  firmwarePid(): Promise<number>
  /** Where it listens, as the boot manager said last. */
  target(): Promise<Target>
  /** SIGTERM, then the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL to the boot manager and, with `all`, to the firmware in the same moment. */
  kill(all?: boolean): Promise<void>
}

/** It is killed with its test; without one, with the program that runs the tests. */
export function startCoffer(t: Ending | null, { program, data, terminal, settings, through = [] }: Options): Coffer {
  const environment: Record<string, string> = { COFFER_DATA: data, COFFER_PORT: '0', ...settings }
  for (const name of ALONE) if (process.env[name] !== undefined) environment[name] = process.env[name]!
  const command = [...through, process.execPath, program]
  const [file, ...parameters] = terminal
    ? ['script', '--quiet', '--return', '--echo=always', '--command', `exec ${command.join(' ')}`, '/dev/null']
    : command
  const child = spawn(file!, parameters, { env: environment, stdio: 'pipe' }) as ChildProcessWithoutNullStreams
  left.add(child)
  if (!terminal) child.stdin.end()
  child.stdin.on('error', () => {}) // it ended while we typed

  let output = ''
  let seen = 0
  let running = true
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      running = false
      left.delete(child)
      resolve(code)
    })
  })

  const until = async <T>(what: string, probe: () => T | null): Promise<T> => {
    const deadline = Date.now() + DEADLINE_MS
    for (;;) {
      const value = probe()
      if (value !== null) return value
      assert.ok(running, `Coffer ended before ${what}:\n${output}`)
      assert.ok(Date.now() < deadline, `no ${what}:\n${output}`)
      await wait(10)
    }
  }
  // Not flock(1), which the boot manager runs for a moment at its start.
  const isFirmware = (pid: number): boolean => commandLineOf(pid).includes('--permission')
  const firmware = () => childrenOf(bootPid()).find(isFirmware) ?? null
  const target = async (): Promise<Target> => {
    const address = /https:\/\/(127\.\d+\.\d+\.\d+):(\d+)/g
    const [, host, port] = await until('address', () => [...output.matchAll(address)].at(-1) ?? null)
    return { host: host!, port: Number(port) }
  }
  const bootPid = () => (terminal ? childrenOf(child.pid!)[0]! : child.pid!)

  const coffer: Coffer = {
    output: () => output,
    ended,
    running: () => running,
    bootPid,
    see: (pattern) =>
      until(String(pattern), () => {
        const match = pattern.exec(output.slice(seen))
        if (match) seen += match.index + match[0].length
        return match
      }),
    type: (text) => child.stdin.write(text),
    firmwarePid: () => until('firmware', firmware),
    target,
    call: async (method, path, call) => request(await target(), method, targetOf(path), call),
    stop: () => {
      if (running) process.kill(bootPid(), 'SIGTERM')
      return ended
    },
    kill: async (all = false) => {
      const boot = bootPid()
      const other = all ? firmware() : null
      process.kill(boot, 'SIGKILL')
      if (other !== null) process.kill(other, 'SIGKILL')
      await ended
    },
  }
  t?.after(async () => {
    if (running) await coffer.kill(true).catch(() => child.kill('SIGKILL'))
  })
  return coffer
}

const left = new Set<ChildProcessWithoutNullStreams>()
process.once('exit', () => {
  for (const child of left) child.kill('SIGKILL')
})
