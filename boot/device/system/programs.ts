/** Runs programs of the image. None of them receives a secret. */

import { spawn, spawnSync } from 'node:child_process'

export const BUSYBOX = '/bin/busybox'

const OUTPUT_CHARACTERS_MAX = 64 * 1024 // e2fsck prints each file that it repairs

interface ProgramExit {
  /** Null if a signal ended the program, or if it could not be started. */
  status: number | null
  /** Standard output and error, interleaved. */
  output: string
}

const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin', LC_ALL: 'C' }

/** Asynchronous, since checking a large disk takes longer than the watchdog waits. */
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
    child.stdin.on('error', () => {}) // the program may end before it reads all input
    child.stdin.end(input)
  })
}

export class ProgramError extends Error {}

/** Throws a ProgramError with the program's name and its last output if it fails. */
export async function mustRun(file: string, parameters: readonly string[], input?: string): Promise<void> {
  expectSuccess(file, parameters, await runProgram(file, parameters, input))
}

/** Synchronous, for mounts and addresses, which take milliseconds. Throws as `mustRun`. */
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
