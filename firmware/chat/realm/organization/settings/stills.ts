/**
 * Extracts the first frame of an animated picture, which clients show until the pointer is over it. Copies parts of the file and decodes no
 * pixel. GIF: GIF89a. APNG: W3C PNG, third edition, section 11.3.5. WebP: RFC 9649 section 2.7.
 */

import { imageHeader } from '../../messages/images.ts'

/** Returns null for pictures without animation and for other formats. */
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

function stillOfGif(bytes: Buffer): Uint8Array | null {
  let first = 0
  for (let at = GIF_HEADER_BYTES + tableBytes(bytes[10] ?? 0); at < bytes.length; ) {
    if (bytes[at] === EXTENSION) at = afterBlocks(bytes, at + 2)
    else if (bytes[at] === IMAGE) {
      if (first > 0) return Buffer.concat([bytes.subarray(0, first), Uint8Array.of(TRAILER)])
      at = afterBlocks(bytes, at + 11 + tableBytes(bytes[at + 9] ?? 0)) // image descriptor, color table, LZW minimum code size
      first = at
    } else break
  }
  return null
}

const tableBytes = (flags: number): number => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0)

/** Each block begins with its length; a length of 0 ends the sequence. */
function afterBlocks(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at] !== 0) at += 1 + (bytes[at] ?? 0)
  return at + 1
}

const SIGNATURE_BYTES = 8
const OF_ANIMATIONS = ['acTL', 'fcTL', 'fdAT']

/** Copies all chunks except those of the animation: the picture for viewers without APNG. */
function stillOfPng(bytes: Buffer): Uint8Array | null {
  const kept = [bytes.subarray(0, SIGNATURE_BYTES)]
  let frames = 0
  for (let at = SIGNATURE_BYTES; at + 12 <= bytes.length; ) {
    const type = bytes.toString('latin1', at + 4, at + 8)
    const end = at + 12 + bytes.readUInt32BE(at) // length, type and checksum
    if (type === 'fcTL') frames++
    if (!OF_ANIMATIONS.includes(type)) kept.push(bytes.subarray(at, end))
    at = end
  }
  return frames > 1 ? Buffer.concat(kept) : null
}

const RIFF_BYTES = 12

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
