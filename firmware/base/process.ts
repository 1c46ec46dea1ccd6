/** How a process of ours behaves under the boot manager. */

import type { Log } from './log.ts'

const EXIT_BUG = 70 // EX_SOFTWARE of sysexits.h

/** The boot manager decides when we end; a signal to the whole process group must not forestall the clean stop. */
export function ignoreSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
}

/**
 * Ends the process on an unexpected error and logs its kind and place. Messages may quote secrets, so they are logged only while
 * `isStarting`, before any request or passphrase has come.
 */
export function exitOnBugs(log: Log, isStarting: () => boolean): void {
  process.on('uncaughtException', (error) => {
    const places = (error.stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line))
    const message = isStarting() && quotesNothing(error) ? ` (${error.message})` : ''
    log.error('general', `unexpected ${error.name}${message}: ${places.map((place) => place.trim()).join(', ')}`)
    process.exit(EXIT_BUG)
  })
}

/** An error of the system, or of the engine about the program; `JSON.parse` and Node's checks of arguments quote what they got. */
const quotesNothing = (error: NodeJS.ErrnoException): boolean =>
  error.code === undefined
    ? ['TypeError', 'ReferenceError', 'RangeError'].includes(error.name)
    : error.syscall !== undefined

/** Why a port cannot be opened, in words for the person who set it; undefined for any other error. */
export function portProblem(error: NodeJS.ErrnoException, portSetting: string): string | undefined {
  const { code, port, address } = error as { code?: string; port?: number; address?: string }
  const reasons: Record<string, string> = {
    EADDRINUSE: `port ${port} at ${address} is in use; ${portSetting} chooses another`,
    EADDRNOTAVAIL: `${address} is not an address of this machine; COFFER_HOST chooses another`,
    EACCES: `port ${port} is reserved for the system; ${portSetting} chooses another`,
  }
  return reasons[code ?? '']
}
