/**
 * The firmware, or another process of Coffer, confined by Node's permission model (Node.js documentation, "Permissions"). It can
 * read its program and use the network. A process with a directory can read and write that, and use threads and the SQLite addon.
 * It has no other files, no child processes and no debugger. It waits for its `start` message.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Duplex } from 'node:stream'
import { CHAT_DESCRIPTOR, LINK_DESCRIPTOR, OUTGOING_DESCRIPTOR } from '../../firmware/channel/channel.ts'

// Share of the heap for new objects. A larger nursery means fewer copies of objects that pending requests hold, but it takes three
// times its size. The firmware's limit on memory leaves that much room. V8 rounds up to a power of two.
const NURSERY_SHARE = 1 / 32
const NURSERY_MEGABYTES_MIN = 4
const NURSERY_MEGABYTES_MAX = { firmware: 8, chat: 16, outgoing: 2 }

export type ServedProcess = keyof typeof NURSERY_MEGABYTES_MAX

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
  serves: ServedProcess
  /** Prefix of the command line, such as a change of the user. */
  launcher: readonly string[]
  program: string
  /** Additional readable files and directories (ending in a slash). */
  readable: readonly string[]
  /** The only writable directory; null for a process without files, threads and native code. The chat's contains its databases. */
  storeDirectory: string | null
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
    ...readable.map((path) => `--allow-fs-read=${path}`),
    ...(storeDirectory === null ? [] : permissionsFor(storeDirectory)),
    '--disable-sigusr1',
    '--disable-warning=SecurityWarning', // printed at every start: "flag must be used with caution"
    `--v8-pool-size=${V8_THREADS}`,
    // With other V8 flags than these limits, Node compiles its own modules at each start instead of using its code cache.
    ...heapFlags(serves, heapMegabytes),
    program,
  ]
  return spawn(file, parameters, {
    cwd: storeDirectory !== null && existsSync(storeDirectory) ? storeDirectory : '/', // a core file would be written there
    env: FIRMWARE_ENVIRONMENT,
    // The fourth is the channel to the boot manager, CHANNEL_DESCRIPTOR. After the lock come pipes: of the firmware one to each other
    // process, of these one to the firmware.
    stdio: [
      'ignore',
      'pipe',
      'pipe',
      'pipe',
      lock ?? 'ignore',
      'pipe',
      ...(serves === 'firmware' ? (['pipe'] as const) : []),
    ],
    // A session of its own: Ctrl-C reaches the boot manager only, and the firmware has no terminal.
    detached: true,
  })
}

/** The asterisk permits a directory that does not exist yet. */
const permissionsFor = (directory: string): string[] => [
  `--allow-fs-read=${directory}/*`,
  `--allow-fs-write=${directory}/*`,
  '--allow-addons',
  '--allow-worker',
]

/** The boot manager's end of the pipe from another process to the firmware. */
export const linkOf = (process: ChildProcess): Duplex => process.stdio.at(LINK_DESCRIPTOR) as Duplex

const DESCRIPTORS = { chat: CHAT_DESCRIPTOR, outgoing: OUTGOING_DESCRIPTOR }

/** The boot manager's end of the pipe from the firmware to another process. */
export const pipeTo = (name: keyof typeof DESCRIPTORS, firmware: ChildProcess): Duplex =>
  firmware.stdio.at(DESCRIPTORS[name]) as Duplex

export const heapFlags = (serves: ServedProcess, heapMegabytes: number): string[] => [
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
