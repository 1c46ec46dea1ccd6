/** Errors of SQLite and the file system, as errors of the appliance. */

import { CofferError } from '../base/error.ts'

const FAILURES: [RegExp, string][] = [
  [/^(SQLITE_FULL|ENOSPC|EDQUOT)/, 'The disk is full'],
  [/^SQLITE_(CORRUPT|NOTADB)/, 'The store is damaged'],
  [/^(SQLITE_READONLY|EROFS|EACCES|EPERM|ERR_ACCESS_DENIED|SQLITE_PERM)/, 'The store cannot be written'],
  [/^(SQLITE_(BUSY|LOCKED|PROTOCOL))/, 'The store is in use by another process'],
  [/^(SQLITE_|E[A-Z]+$)/, 'The disk failed'],
]

/** A `storage` error with the original as its cause; what did not come from the disk is returned as it is. */
export function storageFailure(error: unknown): unknown {
  if (error instanceof CofferError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const failure = FAILURES.find(([codes]) => codes.test(code))
  return failure === undefined ? error : new CofferError('storage', failure[1], error)
}

/** Runs what touches the disk. */
export function onDisk<T>(action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw storageFailure(error)
  }
}
