/**
 * Reads cpio archives in the newc form, as a stream and strictly: plain files with plain names, then the trailer, then
 * nothing but zeros. newc: cpio(5), "New ASCII Format".
 */

import { CofferError } from '../base/error.ts'
import { type ByteSource, byteSource } from './byte-source.ts'

export interface Member {
  name: string
  /** Below 2^32. Nothing of the content has been read yet: refuse here what is too large. */
  size: number
  /** To be read to its end before the next member is asked for. */
  content: AsyncIterable<Uint8Array>
}

export const NAME_BYTES_MAX = 64 // of a member; without the NUL that ends it

const MAGIC = '070701'
const MAGIC_BYTES = 6
const FIELD_DIGITS = 8
/** In their order behind the magic. */
const FIELDS = [
  'ino',
  'mode',
  'uid',
  'gid',
  'nlink',
  'mtime',
  'filesize',
  'devmajor',
  'devminor',
  'rdevmajor',
  'rdevminor',
  'namesize',
  'check',
] as const
const HEADER_BYTES = MAGIC_BYTES + FIELDS.length * FIELD_DIGITS
const ALIGNMENT = 4
const TRAILER = 'TRAILER!!!'
// Archives are filled up to a whole block; the largest that anybody chooses on purpose.
const FILL_BYTES_MAX = 64 * 1024

const TYPE_MASK = 0o170000
const PLAIN_FILE = 0o100000
const TYPES: ReadonlyMap<number, string> = new Map([
  [0o010000, 'a pipe'],
  [0o020000, 'a character device'],
  [0o040000, 'a directory'],
  [0o060000, 'a block device'],
  [0o120000, 'a symbolic link'],
  [0o140000, 'a socket'],
])
const MODE_MAX = 0o177777

type Header = Record<(typeof FIELDS)[number], number>

/** The members in their order, trailer and end verified. Throws `invalid` at the first thing that is not as it must be. */
export async function* readArchive(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Member, void> {
  const source = byteSource(chunks)
  try {
    for (let first = true; ; first = false) {
      const header = await readHeader(source, first)
      const name = await readName(source, header.namesize)
      if (name === TRAILER) {
        if (header.filesize !== 0) throw malformed('The trailer of the archive has content')
        await expectEnd(source)
        return
      }
      checkName(name)
      checkKind(name, header)
      const content = readContent(source, name, header.filesize)
      yield { name, size: header.filesize, content }
      if (!(await content.next()).done) throw new Error(`the content of ${name} was not read to its end`)
      await skipPadding(source, header.filesize, `the content of ${name}`)
    }
  } finally {
    await source.close()
  }
}

async function readHeader(source: ByteSource, first: boolean): Promise<Header> {
  const magic = latin1(await source.take(MAGIC_BYTES))
  if (magic.length === 0)
    throw malformed(
      first ? 'The image is empty' : 'The archive ends without its trailer: it was cut between two members',
    )
  if (magic !== MAGIC) throw malformed(explainMagic(magic, first))
  const digits = latin1(await source.take(HEADER_BYTES - MAGIC_BYTES))
  if (digits.length < HEADER_BYTES - MAGIC_BYTES) throw malformed('The archive ends within the header of a member')
  const header = {} as Header
  for (const [index, field] of FIELDS.entries()) {
    const text = digits.slice(index * FIELD_DIGITS, (index + 1) * FIELD_DIGITS)
    if (!/^[0-9A-Fa-f]{8}$/.test(text))
      throw malformed(`The field ${field} of a member's header is not ${FIELD_DIGITS} hexadecimal digits`)
    header[field] = Number.parseInt(text, 16)
  }
  // With this magic it is no checksum but always zero.
  if (header.check !== 0) throw malformed("The field check of a member's header is not zero")
  return header
}

function explainMagic(magic: string, first: boolean): string {
  const place = first ? 'The image' : 'What follows a member'
  if (magic.length < MAGIC_BYTES) {
    if (!first && MAGIC.startsWith(magic)) return 'The archive ends within the magic number of a member'
    return `${place} is shorter than the magic number of an archive`
  }
  if (magic === '070702') return `${place} is in the crc form of cpio, not in newc`
  if (magic === '070707') return `${place} is in the odc form of cpio, not in newc`
  if (magic.startsWith('\x71\xc7') || magic.startsWith('\xc7\x71'))
    return `${place} is in the binary form of cpio, not in newc`
  if (magic.startsWith('\x1f\x8b')) return `${place} is compressed`
  return first ? 'The image is not a cpio archive' : 'What follows a member is neither a member nor the trailer'
}

/** Text of printable ASCII. */
async function readName(source: ByteSource, bytes: number): Promise<string> {
  if (bytes < 2) throw malformed('A member has no name')
  if (bytes > NAME_BYTES_MAX + 1) throw malformed(`The name of a member is longer than ${NAME_BYTES_MAX} bytes`)
  const text = latin1(await source.take(bytes))
  if (text.length < bytes) throw malformed('The archive ends within the name of a member')
  if (!text.endsWith('\0')) throw malformed('The name of a member does not end in NUL')
  const name = text.slice(0, -1)
  if (name.includes('\0')) throw malformed('The name of a member holds a NUL')
  if (!/^[\x20-\x7e]*$/.test(name))
    throw malformed('The name of a member holds characters that are not printable ASCII')
  await skipPadding(source, HEADER_BYTES + bytes, 'the name of a member')
  return name
}

function checkName(name: string): void {
  if (name.startsWith('/')) throw malformed(`The name ${name} is absolute`)
  if (name.split('/').includes('..')) throw malformed(`The name ${name} leads out of the archive`)
  if (name.startsWith('.')) throw malformed(`The name ${name} begins with a dot`)
  if (name.includes('/')) throw malformed(`The name ${name} leads into a directory`)
  if (!isPlainName(name))
    throw malformed(`The name ${name} has characters other than letters, digits, ".", "_" and "-"`)
}

export const isPlainName = (name: string): boolean =>
  /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(name) && name.length <= NAME_BYTES_MAX

function checkKind(name: string, { mode, nlink }: Header): void {
  if (mode > MODE_MAX) throw malformed(`The member ${name} has an impossible mode`)
  const type = mode & TYPE_MASK
  if (type !== PLAIN_FILE)
    throw malformed(`The member ${name} is ${TYPES.get(type) ?? 'of no known type'}, not a plain file`)
  if (nlink !== 1) throw malformed(`The member ${name} is a hard link`)
}

async function* readContent(source: ByteSource, name: string, size: number): AsyncGenerator<Uint8Array, void> {
  let left = size
  while (left > 0) {
    const piece = await source.next(left)
    if (piece === null) throw malformed(`The archive ends within the content of ${name}`)
    left -= piece.length
    yield piece
  }
}

async function skipPadding(source: ByteSource, bytes: number, what: string): Promise<void> {
  const padding = await source.take(-bytes & (ALIGNMENT - 1))
  if (padding.length < (-bytes & (ALIGNMENT - 1))) throw malformed(`The archive ends within the padding of ${what}`)
  if (padding.some((byte) => byte !== 0)) throw malformed(`The padding of ${what} is not zero`)
}

async function expectEnd(source: ByteSource): Promise<void> {
  let bytes = 0
  for (;;) {
    const piece = await source.next(FILL_BYTES_MAX)
    if (piece === null) return
    if (piece.some((byte) => byte !== 0)) throw malformed('Data follow the trailer of the archive')
    bytes += piece.length
    if (bytes > FILL_BYTES_MAX) throw malformed(`More than ${FILL_BYTES_MAX} zeros follow the trailer of the archive`)
  }
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')

const malformed = (message: string) => new CofferError('invalid', message)
