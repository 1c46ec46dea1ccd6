/** The subset of the tar format (POSIX.1-1988, ustar) that exports need: regular files, short names, no owner, no time. */

export const BLOCK_BYTES = 512
const NAME_BYTES_MAX = 100
const SIZE_MAX = 8 ** 11 - 1

/** Throws `RangeError` if the name or size exceeds the format. */
export function tarHeader(name: string, size: number): Uint8Array {
  if (Buffer.byteLength(name) > NAME_BYTES_MAX || size > SIZE_MAX) throw new RangeError('Not a file of an export')
  const header = Buffer.alloc(BLOCK_BYTES)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write(' '.repeat(8), 148) // the checksum, computed with spaces in its place
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

export const tarPadding = (size: number): Uint8Array => Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)

export const TAR_END: Uint8Array = Buffer.alloc(2 * BLOCK_BYTES)
