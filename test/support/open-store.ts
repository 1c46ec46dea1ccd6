/** The store of a Coffer that runs, seen from outside: SQLite lets nobody else in while the firmware has it open. */

import assert from 'node:assert/strict'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FILES = ['store.db', 'store.db-wal']
const ATTEMPTS_MAX = 1000

/**
 * Copies both files of the database as they are at one moment. They are read, for libuv's copies, of `fs.copyFile` and
 * `fs.cp`, never end when a file becomes shorter meanwhile, as the log does at a checkpoint.
 */
export function copyOpenStore(from: string, to: string): void {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const before = stampsOf(from)
    for (const name of FILES) copyIfThere(join(from, name), join(to, name))
    if (stampsOf(from) === before) return
  }
  assert.fail(`${from} is written to without a pause`)
}

function copyIfThere(from: string, to: string): void {
  try {
    writeFileSync(to, readFileSync(from))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    rmSync(to, { force: true })
  }
}

const stampsOf = (directory: string): string =>
  FILES.map((name) => {
    const found = statSync(join(directory, name), { bigint: true, throwIfNoEntry: false })
    return found && `${found.ino} ${found.size} ${found.mtimeNs}`
  }).join()
