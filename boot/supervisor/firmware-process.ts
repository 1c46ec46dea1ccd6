/**
 * A process of the firmware or of the chat, confined by Node's permission model (Node.js documentation, "Permissions"). It can
 * read its program, read and write its own directory, and use the network, threads and the SQLite addon. It has no other files,
 * no child processes and no debugger. It waits for its `start` message.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Duplex } from 'node:stream'
import { LINK_DESCRIPTOR } from '../../firmware/channel/channel.ts'

// Share of the heap for new objects. A larger nursery means fewer copies of objects that pending requests hold, but it takes three
// times its size. The firmware's limit on memory leaves that much room. V8 rounds up to a power of two.
const NURSERY_SHARE = 1 / 32
const NURSERY_MEGABYTES_MIN = 4
const NURSERY_MEGABYTES_MAX = { firmware: 8, chat: 16 }

// Threads for garbage collection and compilation: as many as fit the other cores.
const V8_THREADS = Math.min(Math.max(availableParallelism() - 1, 1), 4)

/**
 * Contains no variable of the boot manager: no NODE_OPTIONS, proxies or credentials. M_PERTURB of mallopt(3) makes the C library
 * overwrite all freed memory, including copies of secrets that the runtime and its libraries make. Per-thread caches are exempt
 * from that, so they are disabled. Two arenas serve all threads: each retains its free memory, and one arena per thread would
 * cost a tenth of the firmware's memory.
 */
export const FIRMWARE_ENVIRONMENT = {
  GLIBC_TUNABLES: 'glibc.malloc.perturb=85:glibc.malloc.tcache_count=0:glibc.malloc.arena_max=2',
}

export interface FirmwareCommand {
  serves: keyof typeof NURSERY_MEGABYTES_MAX
  /** Prefix of the command line, such as a change of the user. */
  launcher: readonly string[]
  program: string
  /** Additional readable files and directories (ending in a slash). */
  readable: readonly string[]
  /** The only writable directory. The chat's contains its databases. */
  storeDirectory: string
  heapMegabytes: number
}

export function launch(
  { serves, launcher, program, readable, storeDirectory, heapMegabytes }: FirmwareCommand,
  lock: number | null,
): ChildProcess {
  const [file = process.execPath, ...parameters] = [
    ...launcher,
    process.execPath,
    '--permission',
    ...[...readable, `${storeDirectory}/*`].map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-write=${storeDirectory}/*`, // the asterisk permits a directory that does not exist yet
    '--allow-addons',
    '--allow-worker',
    '--disable-sigusr1',
    '--disable-warning=SecurityWarning', // printed at every start: "flag must be used with caution"
    `--v8-pool-size=${V8_THREADS}`,
    // With other V8 flags than these limits, Node compiles its own modules at each start instead of using its code cache.
    ...heapFlags(serves, heapMegabytes),
    program,
  ]
  return spawn(file, parameters, {
    cwd: existsSync(storeDirectory) ? storeDirectory : '/', // a core file would be written there
    env: FIRMWARE_ENVIRONMENT,
    // The fourth is the channel to the boot manager, CHANNEL_DESCRIPTOR. The last is the pipe to the chat or to the firmware,
    // LINK_DESCRIPTOR.
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', lock ?? 'ignore', 'pipe'],
    // A session of its own: Ctrl-C reaches the boot manager only, and the firmware has no terminal.
    detached: true,
  })
}

/** The boot manager's end of the pipe to the chat or to the firmware. */
export const linkOf = (process: ChildProcess): Duplex => process.stdio.at(LINK_DESCRIPTOR) as Duplex

export const heapFlags = (serves: FirmwareCommand['serves'], heapMegabytes: number): string[] => [
  `--max-old-space-size=${heapMegabytes}`,
  `--max-semi-space-size=${nurseryFor(heapMegabytes, NURSERY_MEGABYTES_MAX[serves])}`,
]

const nurseryFor = (heapMegabytes: number, most: number): number =>
  Math.floor(Math.min(Math.max(heapMegabytes * NURSERY_SHARE, NURSERY_MEGABYTES_MIN), most))

/** A process that loads its program before it is known whether it is the one to run. */
export interface Early {
  command: FirmwareCommand
  process: ChildProcess
}

export function launchEarly(command: FirmwareCommand): Early {
  const process = launch(command, null)
  process.on('error', () => {}) // `reuse` detects that it does not run
  return { command, process }
}

/** Returns the early process if it runs and has the same command, else null. Ends a process with another command. */
export function reuse(early: Early | null, command: FirmwareCommand): ChildProcess | null {
  if (early === null) return null
  const { process } = early
  if (process.pid !== undefined && process.exitCode === null && process.signalCode === null) {
    if (JSON.stringify(early.command) === JSON.stringify(command)) return process
    process.kill('SIGKILL')
  }
  return null
}
