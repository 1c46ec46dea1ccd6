/** What can stand against a step of an update, in words for the client, the console and the system information. */

/** May be shown to the client: names no path. */
export class SlotError extends Error {}

/** The version is in order, but it does not fit to what this machine runs. */
export class SlotConflict extends SlotError {}

/** Without paths. Throws what is neither a SlotError nor an error of the file system. */
export function explain(error: unknown): string {
  if (error instanceof SlotError) return error.message
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'the disk is full'
  if (code === 'ENOENT') return 'a file is missing'
  return `the disk failed: ${code}`
}
