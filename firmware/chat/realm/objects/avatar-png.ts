/** Encodes a picture with a palette as PNG. W3C PNG, third edition, sections 5 and 11: IHDR, PLTE, tRNS, IDAT, IEND. */

import { crc32, deflateSync } from 'node:zlib'

/** Each component is 0 to 255. Opaque without `alpha`. */
export type Color = readonly [red: number, green: number, blue: number, alpha?: number]

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)
const INDEXED = 3
const NO_FILTER = 0
const FAST = { level: 1 } // rows repeat: higher levels do not compress them further

/** `row` returns the palette index, below 256, of each pixel of row `y`, counted from the top. */
export function png(sizePx: number, colors: readonly Color[], row: (y: number) => Uint8Array): Uint8Array<ArrayBuffer> {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(sizePx, 0)
  header.writeUInt32BE(sizePx, 4)
  header[8] = 8 // bits per pixel
  header[9] = INDEXED
  const rows = new Uint8Array(sizePx * (sizePx + 1))
  for (let y = 0; y < sizePx; y++) {
    rows[y * (sizePx + 1)] = NO_FILTER
    rows.set(row(y), y * (sizePx + 1) + 1)
  }
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Uint8Array.from(colors.flatMap((color) => color.slice(0, 3)))),
    ...(colors.some(([, , , alpha]) => alpha !== undefined)
      ? [
          chunk(
            'tRNS',
            Uint8Array.from(colors, ([, , , alpha = 255]) => alpha),
          ),
        ]
      : []),
    chunk('IDAT', deflateSync(rows, FAST)),
    chunk('IEND', new Uint8Array()),
  ])
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
