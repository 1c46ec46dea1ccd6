/** The root file system as a squashfs, mksquashfs(1). The layer that seldom changes is compressed once and kept. */

import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { run } from './run.ts'
import { modeOf, sortedEntries, type Tree, writeTree } from './tree.ts'

const BLOCK_BYTES = 128 * 1024 // larger ones save little, and each read of a page checks and unpacks one
const COMPRESSION = ['-comp', 'lz4', '-Xhc'] // an emulated processor unpacks zstd for seconds at each start

/** `base` and, in directories that `base` does not have, `app`. `time` is of every file, in seconds. */
export function makeSquashfs(base: Tree, app: Tree, scratch: string, cache: string, time: number): Buffer {
  const always = ['-all-root', '-no-xattrs', '-no-progress', '-quiet', '-all-time', `${time}`, '-mkfs-time', `${time}`]
  const kept = `${cache}/${fingerprint(base, [...COMPRESSION, `${BLOCK_BYTES}`, ...always])}.sqfs`
  if (!existsSync(kept)) {
    mkdirSync(cache, { recursive: true })
    writeTree(base, `${scratch}/base`)
    const unfinished = `${kept}.${process.pid}`
    rmSync(unfinished, { force: true })
    run('mksquashfs', [`${scratch}/base`, unfinished, ...COMPRESSION, '-b', `${BLOCK_BYTES}`, '-no-exports', ...always])
    renameSync(unfinished, kept)
  }
  copyFileSync(kept, `${scratch}/root.sqfs`)
  writeTree(app, `${scratch}/app`)
  run('mksquashfs', [`${scratch}/app`, `${scratch}/root.sqfs`, '-no-recovery', ...always]) // appends
  return readFileSync(`${scratch}/root.sqfs`)
}

function fingerprint(tree: Tree, options: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(options))
  for (const [path, entry] of sortedEntries(tree)) {
    const content = entry.type === 'file' ? entry.bytes : entry.type === 'link' ? entry.target : ''
    hash.update(JSON.stringify([path, entry.type, modeOf(entry), content.length])).update(content)
  }
  return hash.digest('hex').slice(0, 32)
}
