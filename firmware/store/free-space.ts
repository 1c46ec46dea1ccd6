import { statfsSync } from 'node:fs'
import { storePath } from './store.ts'

/** Of the disk that the store lies on, for users without privileges. Throws an error of the file system. */
export function freeBytesBeside(dataDirectory: string): number {
  const { bavail, bsize } = statfsSync(storePath(dataDirectory)) // a path that this process may read
  return bavail * bsize
}
