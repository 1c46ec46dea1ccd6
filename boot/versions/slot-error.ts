/** Errors of update steps, with messages for clients, the terminal and the system information. */

/** The message may be shown to clients: it contains no path. */
export class SlotError extends Error {}

/** The version is valid, but conflicts with the running one. */
export class SlotConflict extends SlotError {}

/** Returns a message without paths. Rethrows errors that are neither a SlotError nor of the file system. */
export function explain(error: unknown): string {
  if (error instanceof SlotError) return error.message
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'the disk is full'
  if (code === 'ENOENT') return 'a file is missing'
  return `the disk failed: ${code}`
}
