/** The files of a file system, each with where it comes from, before they become a squashfs or an initramfs. */

import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

export interface FileEntry {
  type: 'file'
  bytes: Buffer
  executable: boolean
  /** The component it belongs to: a Debian package, an npm package, or Coffer. */
  origin: string
}

export type TreeEntry = { type: 'directory' } | { type: 'link'; target: string } | FileEntry

/** Path without a leading slash -> entry. */
export type Tree = Map<string, TreeEntry>

export const directory: TreeEntry = { type: 'directory' }

export const link = (target: string): TreeEntry => ({ type: 'link', target })

export const bytesOf = (bytes: Buffer, origin: string, executable = false): FileEntry => ({
  type: 'file',
  bytes,
  executable,
  origin,
})

export const fileOf = (source: string, origin: string, executable = false): FileEntry =>
  bytesOf(readFileSync(source), origin, executable)

/** In the order of their paths, every directory before what is in it. */
export function sortedEntries(tree: Tree): [string, TreeEntry][] {
  const complete: Tree = new Map(tree)
  for (const path of tree.keys())
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent))
      if (!complete.has(parent)) complete.set(parent, directory)
  return [...complete].sort(([a], [b]) => (a < b ? -1 : 1))
}

export const modeOf = (entry: TreeEntry): number => (entry.type === 'file' && !entry.executable ? 0o644 : 0o755)

/** Writes it to the disk, whatever the umask. */
export function writeTree(tree: Tree, root: string): void {
  mkdirSync(root, { recursive: true })
  chmodSync(root, 0o755)
  for (const [path, entry] of sortedEntries(tree)) {
    const target = `${root}/${path}`
    if (entry.type === 'link') {
      symlinkSync(entry.target, target)
      continue
    }
    if (entry.type === 'directory') mkdirSync(target)
    else writeFileSync(target, entry.bytes)
    chmodSync(target, modeOf(entry))
  }
}
