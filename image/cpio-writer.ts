/** A file system tree as the kernel unpacks it at start: newc cpio, in Zstandard, everything owned by root. RFC 8878. */

import { constants, zstdCompressSync } from 'node:zlib'
import { modeOf, sortedEntries, type Tree } from './tree.ts'

const LEVEL = 9 // the highest ones take half a minute for a tenth

const FORMATS = { directory: 0o040000, file: 0o100000, link: 0o120000 } as const

/** The same tree gives the same bytes. */
export function makeCpio(tree: Tree): Buffer {
  const parts = sortedEntries(tree).map(([path, entry], index) => {
    const content = entry.type === 'file' ? entry.bytes : Buffer.from(entry.type === 'link' ? entry.target : '')
    const mode = FORMATS[entry.type] | (entry.type === 'link' ? 0o777 : modeOf(entry))
    return member(path, index + 1, mode, content)
  })
  const archive = Buffer.concat([...parts, member('TRAILER!!!', 0, 0, Buffer.alloc(0))].flat())
  return zstdCompressSync(archive, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } })
}

function member(path: string, inode: number, mode: number, content: Uint8Array): Uint8Array[] {
  const name = Buffer.from(`${path}\0`)
  const owner = [0, 0]
  const links = 1
  const modified = 0
  const devices = [0, 0, 0, 0]
  const check = 0
  const fields = [inode, mode, ...owner, links, modified, content.length, ...devices, name.length, check]
  const head = Buffer.concat([Buffer.from(`070701${fields.map(hex).join('')}`), name])
  return [head, padding(head), content, padding(content)]
}

const hex = (field: number): string => field.toString(16).padStart(8, '0')

const padding = ({ length }: Uint8Array): Uint8Array => new Uint8Array(-length & 3)
