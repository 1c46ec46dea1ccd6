/** Signatures of other libraries, as far as they are installed: programs in anchors/, each in a process of its own. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { isInstalled, root } from './harness.ts'

const SOURCES = join(root, 'tools/bench/anchors')
const TARGET = join(root, 'dist/bench/anchors')

/** Processor time of one signature. */
export interface AnchorTime {
  /** Such as `AWS-LC`, or `OpenSSL 4.0.0`. */
  readonly library: string
  readonly name: string
  readonly ns: number
}

type Command = readonly [program: string, ...parameters: string[]]

/** Builds AWS-LC and ring if there is cargo. Names of programs that are not there are printed. */
export function findAnchors(): Command[] {
  const commands: Command[] = []
  if (isInstalled('cargo') && isBuilt()) commands.push([join(TARGET, 'release/anchors')])
  else console.error('AWS-LC and ring are left out: they need cargo, a C compiler and cmake.')
  const [python, ...rest] = ['python3', join(SOURCES, 'anchors.py')] as const
  if (run([python, ...rest], 1).length > 0) commands.push([python, ...rest])
  else console.error("OpenSSL 4 and pycryptodome are left out: they need Python's cryptography and pycryptodome.")
  return commands
}

function isBuilt(): boolean {
  const parameters = ['build', '--release', '--locked', '--manifest-path', join(SOURCES, 'Cargo.toml')]
  const env = { ...process.env, CARGO_TARGET_DIR: TARGET }
  return spawnSync('cargo', parameters, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0
}

/** Each operation of each program for so many milliseconds. */
export const measureAnchors = (commands: readonly Command[], ms: number): AnchorTime[] =>
  commands.flatMap((command) => run(command, ms))

function run([program, ...parameters]: Command, ms: number): AnchorTime[] {
  const { stdout, status } = spawnSync(program, [...parameters, String(ms)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    encoding: 'utf8',
  })
  if (status !== 0) return []
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AnchorTime)
}
