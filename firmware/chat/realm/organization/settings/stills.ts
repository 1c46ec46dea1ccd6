/**
 * The first picture of an animated one, for clients that show it until somebody points at it: the file without its others. No
 * pixel is decoded. GIF: GIF89a. APNG: W3C PNG, third edition, section 11.3.5. WebP: RFC 9649 section 2.7.
 */

import { imageHeader } from '../../messages/images.ts'

/** Null: it does not move, or is no picture of these kinds. */
export function stillOf(file: Uint8Array): Uint8Array | null {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.length)
  switch (imageHeader(bytes)?.type) {
    case 'gif':
      return stillOfGif(bytes)
    case 'png':
      return stillOfPng(bytes)
    case 'webp':
      return stillOfWebp(bytes)
    default:
      return null
  }
}

const GIF_HEADER_BYTES = 13
const [EXTENSION, IMAGE, TRAILER] = [0x21, 0x2c, 0x3b]

/** All up to the end of its first image. */
function stillOfGif(bytes: Buffer): Uint8Array | null {
  let first = 0
  for (let at = GIF_HEADER_BYTES + tableBytes(bytes[10]!); at < bytes.length; ) {
    if (bytes[at] === EXTENSION) at = afterBlocks(bytes, at + 2)
    else if (bytes[at] === IMAGE) {
      if (first > 0) return Buffer.concat([bytes.subarray(0, first), Uint8Array.of(TRAILER)])
      at = afterBlocks(bytes, at + 11 + tableBytes(bytes[at + 9] ?? 0)) // a descriptor, its table, a size of codes
      first = at
    } else break
  }
  return null
}

/** Of the table of colors that these flags tell of. */
const tableBytes = (flags: number): number => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0)

/** Each block begins with its length, the last has none. */
function afterBlocks(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at] !== 0) at += 1 + bytes[at]!
  return at + 1
}

const SIGNATURE_BYTES = 8
const OF_ANIMATIONS = ['acTL', 'fcTL', 'fdAT']

/** What shows it where animations are not known. */
function stillOfPng(bytes: Buffer): Uint8Array | null {
  const kept = [bytes.subarray(0, SIGNATURE_BYTES)]
  let frames = 0
  for (let at = SIGNATURE_BYTES; at + 12 <= bytes.length; ) {
    const type = bytes.toString('latin1', at + 4, at + 8)
    const end = at + 12 + bytes.readUInt32BE(at) // a length, a type, a checksum
    if (type === 'fcTL') frames++
    if (!OF_ANIMATIONS.includes(type)) kept.push(bytes.subarray(at, end))
    at = end
  }
  return frames > 1 ? Buffer.concat(kept) : null
}

const RIFF_BYTES = 12

/** An animation of one frame. */
function stillOfWebp(bytes: Buffer): Uint8Array | null {
  const kept = [bytes.subarray(0, RIFF_BYTES)]
  let frames = 0
  for (let at = RIFF_BYTES; at + 8 <= bytes.length; ) {
    const type = bytes.toString('latin1', at, at + 4)
    const length = bytes.readUInt32LE(at + 4)
    const end = at + 8 + length + (length % 2)
    if (type === 'ANMF') frames++
    if (type !== 'ANMF' || frames === 1) kept.push(bytes.subarray(at, end))
    at = end
  }
  if (frames < 2) return null
  const still = Buffer.concat(kept)
  still.writeUInt32LE(still.length - 8, 4)
  return still
}
