/**
 * A process of the firmware or of the chat, confined by Node's permission model (Node.js documentation, "Permissions"): it
 * reads its program, reads and writes its own directory, and has network, threads and the SQLite addon. No other file, no
 * child processes, no debugger. It does nothing before it is sent its `start` message.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Duplex } from 'node:stream'
import { LINK_DESCRIPTOR } from '../../firmware/channel/channel.ts'

// Of the heap, where new objects are made. The larger, the fewer times the collector copies what requests under way hold, and
// three times as much is taken: the firmware's is what its bound on memory leaves room for. V8 rounds up to a power of two.
const NURSERY_SHARE = 1 / 32
const NURSERY_MEGABYTES_MIN = 4
const NURSERY_MEGABYTES_MAX = { firmware: 8, chat: 16 }

// Those that collect garbage and compile beside the others: as many as cores they do not need to share.
const V8_THREADS = Math.min(Math.max(availableParallelism() - 1, 1), 4)

/**
 * Nothing of ours: no NODE_OPTIONS, no proxies, no credentials that happen to be there. The C library overwrites what is given
 * back to it, all of it, which nobody else could do for copies that the runtime and its libraries make of secrets: mallopt(3)
 * M_PERTURB. What each thread keeps for itself is exempt, and so none does. Two arenas are for all threads: each keeps what is
 * free in it, and with one for each thread that is a tenth of the firmware's memory.
 */
export const FIRMWARE_ENVIRONMENT = {
  GLIBC_TUNABLES: 'glibc.malloc.perturb=85:glibc.malloc.tcache_count=0:glibc.malloc.arena_max=2',
}

export interface FirmwareCommand {
  serves: keyof typeof NURSERY_MEGABYTES_MAX
  /** Put in front of everything, e.g. to change the user. */
  launcher: readonly string[]
  /** The file to run. */
  program: string
  /** Files and directories (ending in a slash) it may read besides its store. */
  readable: readonly string[]
  /** Its own; the chat's has its databases. */
  storeDirectory: string
  heapMegabytes: number
}

export function launch(
  { serves, launcher, program, readable, storeDirectory, heapMegabytes }: FirmwareCommand,
  lock: number | null,
): ChildProcess {
  const [file, ...parameters] = [
    ...launcher,
    process.execPath,
    '--permission',
    ...[...readable, `${storeDirectory}/*`].map((path) => `--allow-fs-read=${path}`),
    `--allow-fs-write=${storeDirectory}/*`, // the asterisk for a directory that is not there yet
    '--allow-addons',
    '--allow-worker',
    '--disable-sigusr1',
    '--disable-warning=SecurityWarning', // "flag must be used with caution", at every start
    `--v8-pool-size=${V8_THREADS}`,
    // With any other flags of V8 than these limits, Node compiles its own modules at each start, instead of taking them
    // from its code cache.
    ...heapFlags(serves, heapMegabytes),
    program,
  ]
  return spawn(file!, parameters, {
    cwd: existsSync(storeDirectory) ? storeDirectory : '/', // a core file would be written there
    env: FIRMWARE_ENVIRONMENT,
    // The fourth is the channel to us, CHANNEL_DESCRIPTOR; the last leads to the chat, or from there, LINK_DESCRIPTOR.
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', lock ?? 'ignore', 'pipe'],
    // A session of its own: Ctrl-C reaches the boot manager alone, and the firmware has no terminal.
    detached: true,
  })
}

/** Our end of its pipe to the chat, or to the firmware. */
export const linkOf = (process: ChildProcess): Duplex => process.stdio.at(LINK_DESCRIPTOR) as Duplex

export const heapFlags = (serves: FirmwareCommand['serves'], heapMegabytes: number): string[] => [
  `--max-old-space-size=${heapMegabytes}`,
  `--max-semi-space-size=${nurseryFor(heapMegabytes, NURSERY_MEGABYTES_MAX[serves])}`,
]

const nurseryFor = (heapMegabytes: number, most: number): number =>
  Math.floor(Math.min(Math.max(heapMegabytes * NURSERY_SHARE, NURSERY_MEGABYTES_MIN), most))

/** One that loads its program while it is still being found out whether it is the one to run. */
export interface Early {
  command: FirmwareCommand
  process: ChildProcess
}

export function launchEarly(command: FirmwareCommand): Early {
  const process = launch(command, null)
  process.on('error', () => {}) // reuse sees that it does not run
  return { command, process }
}

/** Null when there is none that runs and was started so; one that was started otherwise is ended. */
export function reuse(early: Early | null, command: FirmwareCommand): ChildProcess | null {
  if (early === null) return null
  const { process } = early
  if (process.pid !== undefined && process.exitCode === null && process.signalCode === null) {
    if (JSON.stringify(early.command) === JSON.stringify(command)) return process
    process.kill('SIGKILL')
  }
  return null
}
