/** The few programs of the image that we run. None of them sees a secret. */

import { spawn, spawnSync } from 'node:child_process'

export const BUSYBOX = '/bin/busybox'

const OUTPUT_CHARACTERS_MAX = 64 * 1024 // e2fsck names every file it mends

interface ProgramExit {
  /** Null when a signal ended it or it could not be started. */
  status: number | null
  /** Both streams, as they came. */
  output: string
}

const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin', LC_ALL: 'C' }

/** Does not block: a check of a large disk takes longer than the watchdog waits. */
export function runProgram(file: string, parameters: readonly string[], input = ''): Promise<ProgramExit> {
  return new Promise((resolve) => {
    const child = spawn(file, parameters, { stdio: 'pipe', env: ENVIRONMENT })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-OUTPUT_CHARACTERS_MAX)
      })
    }
    child.on('error', (error) => resolve({ status: null, output: error.message }))
    child.on('close', (status) => resolve({ status, output }))
    child.stdin.on('error', () => {}) // it did not want to hear all of it
    child.stdin.end(input)
  })
}

export class ProgramError extends Error {}

/** Throws a ProgramError that says which program did not succeed, and its last words. */
export async function mustRun(file: string, parameters: readonly string[], input?: string): Promise<void> {
  expectSuccess(file, parameters, await runProgram(file, parameters, input))
}

/** For what takes milliseconds: mounts and addresses. Throws like `mustRun`. */
export function mustRunNow(file: string, parameters: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(file, parameters, { encoding: 'utf8', env: ENVIRONMENT })
  expectSuccess(file, parameters, { status, output: error === undefined ? stdout + stderr : error.message })
}

function expectSuccess(file: string, parameters: readonly string[], { status, output }: ProgramExit): void {
  if (status === 0) return
  const name = file === BUSYBOX ? parameters[0] : file.slice(file.lastIndexOf('/') + 1)
  const lastLine = output.trim().split('\n').at(-1)
  throw new ProgramError(`${name} ${status === null ? 'did not run to its end' : `failed (${status})`}: ${lastLine}`)
}
