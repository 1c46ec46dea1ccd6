/** A tree as a tar archive, in the ustar form: POSIX.1-2017, pax, "ustar Interchange Format". The same tree gives the same bytes. */

import { modeOf, sortedEntries, type Tree, type TreeEntry } from '../tree.ts'

const BLOCK_BYTES = 512
const NAME_BYTES_MAX = 100
const ROOT = 0

/** The form that Debian's packages and images of containers both take. */
interface TarOptions {
  /** Put before every path: `./` in a package of Debian's. */
  prefix: string
  /** Modification time of every file, in seconds since 1970. */
  time: number
  /** Who owns a path, when that is not root. */
  ownerOf?: (path: string) => number
  modeOf?: (path: string) => number | undefined
}

export function makeTar(tree: Tree, { prefix, time, ownerOf = () => ROOT, modeOf: ownMode }: TarOptions): Buffer {
  const parts = sortedEntries(tree).flatMap(([path, entry]) => {
    const content = entry.type === 'file' ? entry.bytes : Buffer.alloc(0)
    const name = `${prefix}${path}${entry.type === 'directory' ? '/' : ''}`
    const mode = ownMode?.(path) ?? (entry.type === 'link' ? 0o777 : modeOf(entry))
    return [header(name, entry, { mode, owner: ownerOf(path), time }), content, padding(content.length)]
  })
  if (prefix === './') parts.unshift(header('./', { type: 'directory' }, { mode: 0o755, owner: ROOT, time }))
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)])
}

const TYPES = { file: '0', link: '2', directory: '5' } as const

interface Attributes {
  mode: number
  owner: number
  time: number
}

function header(name: string, entry: TreeEntry, { mode, owner, time }: Attributes): Buffer {
  const target = entry.type === 'link' ? entry.target : ''
  for (const text of [name, target])
    if (Buffer.byteLength(text) > NAME_BYTES_MAX) throw new Error(`${text} is too long for the archive`)
  const block = Buffer.alloc(BLOCK_BYTES)
  block.write(name, 0)
  block.write(octal(mode, 7), 100)
  block.write(octal(owner, 7), 108)
  block.write(octal(owner, 7), 116)
  block.write(octal(entry.type === 'file' ? entry.bytes.length : 0, 11), 124)
  block.write(octal(time, 11), 136)
  block.write(' '.repeat(8), 148) // the sum is made over spaces in its own place
  block.write(TYPES[entry.type], 156)
  block.write(target, 157)
  block.write('ustar\u000000', 257)
  if (owner === ROOT) {
    block.write('root', 265)
    block.write('root', 297)
  }
  const sum = block.reduce((sum, byte) => sum + byte, 0)
  block.write(`${octal(sum, 6)}\0 `, 148)
  return block
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0')

const padding = (length: number): Buffer => Buffer.alloc((BLOCK_BYTES - (length % BLOCK_BYTES)) % BLOCK_BYTES)
