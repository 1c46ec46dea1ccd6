/**
 * The hash tree behind the root file system, by which the kernel checks each block that it reads. dm-verity, format
 * version 1, without a superblock: Linux, Documentation/admin-guide/device-mapper/verity.rst.
 *
 * There is no salt, so that one block tells which root a tree is of: its first one, the top, has the root hash.
 */

import { createHash } from 'node:crypto'
import { ROOT_BLOCK_BYTES } from '../boot/device/system/root-file-system.ts'

export interface VerifiedRoot {
  /** The file system, and its tree right behind it. */
  bytes: Buffer
  /** Blocks of the file system, without its hash tree. */
  blocks: number
  /** Lowercase hexadecimal. */
  rootHash: string
}

const HASH_BYTES = 32 // SHA-256

export function addHashTree(fileSystem: Buffer): VerifiedRoot {
  const data = padded(fileSystem)
  const levels: Buffer[] = [] // the top first
  let hashes = hashBlocks(data)
  while (hashes.length > HASH_BYTES) {
    const level = padded(hashes)
    levels.unshift(level)
    hashes = hashBlocks(level)
  }
  return {
    bytes: Buffer.concat([data, ...levels]),
    blocks: data.length / ROOT_BLOCK_BYTES,
    rootHash: hashes.toString('hex'),
  }
}

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, new Uint8Array(-bytes.length & (ROOT_BLOCK_BYTES - 1))])

function hashBlocks(bytes: Buffer): Buffer {
  const hashes = Buffer.alloc((bytes.length / ROOT_BLOCK_BYTES) * HASH_BYTES)
  for (let at = 0, to = 0; at < bytes.length; at += ROOT_BLOCK_BYTES, to += HASH_BYTES)
    createHash('sha256')
      .update(bytes.subarray(at, at + ROOT_BLOCK_BYTES))
      .digest()
      .copy(hashes, to)
  return hashes
}
