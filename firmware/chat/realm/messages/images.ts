/**
 * Reads type and size of an image from its header, without decoding pixels. PNG: W3C PNG section 11.2.1. GIF: GIF89a section 18. WebP: RFC
 * 9649. JPEG: ITU-T T.81 annex B; its orientation: Exif 2.3 section 4.6.4.
 */

import { crc32 } from 'node:zlib'
import { defined } from '../../../base/defined.ts'

interface ImageHeader {
  type: 'png' | 'jpeg' | 'gif' | 'webp'
  /** As displayed: a rotated photo has width and height swapped. */
  width: number
  height: number
}

/** Enough to find the size behind the metadata that cameras write first. */
export const IMAGE_HEADER_BYTES = 256 * 1024

/** Clients can still decode this many; a file of a few KB may claim far more. */
const PIXELS_MAX = 64 * 1024 * 1024

/** Returns null for other types, and for images without pixels or with too many. */
export function imageHeader(file: Uint8Array): ImageHeader | null {
  const bytes = Buffer.from(file.buffer, file.byteOffset, Math.min(file.length, IMAGE_HEADER_BYTES))
  for (const read of [readPng, readGif, readWebp, readJpeg]) {
    const found = read(bytes)
    if (found === null) continue
    const pixels = found.width * found.height
    return pixels > 0 && pixels <= PIXELS_MAX ? found : null
  }
  return null
}

const IHDR_BYTES = 13
const IHDR_END = 33 // including the checksum
/** Allowed bit depths by color type: W3C PNG table 11.1. */
const PNG_DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
}
const PNG_SIGNATURE = '89504e470d0a1a0a'
const GIF_SIGNATURES = ['GIF87a', 'GIF89a']

function readPng(bytes: Buffer): ImageHeader | null {
  if (bytes.length < 24 || bytes.toString('hex', 0, 8) !== PNG_SIGNATURE) return null
  if (bytes.toString('latin1', 12, 16) !== 'IHDR' || bytes.readUInt32BE(8) !== IHDR_BYTES || bytes.length < IHDR_END)
    return null
  if (crc32(bytes.subarray(12, IHDR_END - 4)) !== bytes.readUInt32BE(IHDR_END - 4)) return null
  const [depth, color, ...methods] = bytes.subarray(24, 29)
  if (
    !PNG_DEPTHS[defined(color)]?.includes(defined(depth)) ||
    methods[0] !== 0 ||
    methods[1] !== 0 ||
    defined(methods[2]) > 1
  )
    return null
  return { type: 'png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function readGif(bytes: Buffer): ImageHeader | null {
  if (bytes.length < 10 || !GIF_SIGNATURES.includes(bytes.toString('latin1', 0, 6))) return null
  return { type: 'gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

function readWebp(bytes: Buffer): ImageHeader | null {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF') return null
  if (bytes.toString('latin1', 8, 12) !== 'WEBP') return null
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { type: 'webp', width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) }
    case 'VP8L': {
      if (bytes[20] !== 0x2f) return null
      const sizes = bytes.readUInt32LE(21) // 14 bits each
      return { type: 'webp', width: 1 + (sizes & 0x3fff), height: 1 + ((sizes >> 14) & 0x3fff) }
    }
    case 'VP8 ':
      if (bytes.toString('hex', 23, 26) !== '9d012a') return null
      return { type: 'webp', width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    default:
      return null
  }
}

function readJpeg(bytes: Buffer): ImageHeader | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null
  let turned = false
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return null
    const marker = bytes[at + 1] ?? 0
    if (marker === 0xff) {
      at++ // fill bytes before a marker
      continue
    }
    const length = bytes.readUInt16BE(at + 2)
    if (length < 2) return null
    if (marker === 0xe1) turned ||= liesOnItsSide(bytes.subarray(at + 4, at + 2 + length))
    if (isFrame(marker)) {
      const [height, width] = [bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7)]
      return { type: 'jpeg', ...(turned ? { width: height, height: width } : { width, height }) }
    }
    at += 2 + length
  }
  return null
}

/** SOF0 to SOF15. DHT, JPG and DAC have numbers in the same range. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

const ORIENTATION_TAG = 0x0112
const TURNED_FROM = 5 // orientations 5 to 8 swap width and height

function liesOnItsSide(segment: Buffer): boolean {
  if (segment.toString('latin1', 0, 6) !== 'Exif\0\0') return false
  const tiff = segment.subarray(6)
  if (tiff.length < 8) return false
  const order = tiff.toString('latin1', 0, 2)
  if (order !== 'II' && order !== 'MM') return false
  const u16 = (at: number) => (order === 'II' ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const directory = order === 'II' ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  if (directory + 2 > tiff.length) return false
  const entries = u16(directory)
  for (let entry = 0; entry < entries; entry++) {
    const at = directory + 2 + 12 * entry
    if (at + 12 > tiff.length) return false
    if (u16(at) === ORIENTATION_TAG) return u16(at + 8) >= TURNED_FROM && u16(at + 8) <= 8
  }
  return false
}
