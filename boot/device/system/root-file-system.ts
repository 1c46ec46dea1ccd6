/**
 * The read-only root file system in one of two partitions, followed by the tree of hashes with which the kernel verifies each
 * read (dm-verity). The command line of a kernel image names its root file system: `coffer.root=<blocks of the file system>:<root
 * hash>`, which image/init opens.
 */

import { createHash } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'

interface RootName {
  blocks: number
  /** SHA-256, lowercase hexadecimal. */
  hash: string
}

export const ROOT_BLOCK_BYTES = 4096

/** Null if the command line names none. */
export function readRootName(commandLine: string): RootName | null {
  const [, blocks, hash] = /(?:^|\s)coffer\.root=(\d{1,9}):([0-9a-f]{64})(?:[\s\0]|$)/.exec(commandLine) ?? []
  return blocks === undefined || hash === undefined ? null : { blocks: Number(blocks), hash }
}

/** True if the root file system at `path` has this name: the first block of its tree has the root hash. */
export function isRoot(path: string, { blocks, hash }: RootName): boolean {
  const top = Buffer.alloc(ROOT_BLOCK_BYTES)
  const file = openSync(path, 'r')
  try {
    const read = readSync(file, top, 0, top.length, blocks * ROOT_BLOCK_BYTES)
    return read === top.length && createHash('sha256').update(top).digest('hex') === hash
  } finally {
    closeSync(file)
  }
}
