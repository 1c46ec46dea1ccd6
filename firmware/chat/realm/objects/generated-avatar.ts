/** Picture of an account that has not set one: five by five squares, symmetric. Contract section 11.16. */

import { type Color, png } from './avatar-png.ts'

const SQUARES = 5
const HALF = 3 // columns drawn from the seed; the others mirror them
const MARGIN = 0.5 // in squares, on each side
const BACKGROUND: Color = [240, 240, 240]

export const AVATAR_PX = 100
export const AVATAR_MEDIUM_PX = 500

/** `seed`: at least 16 bytes, always the same for an account. */
export function generatedAvatar(seed: Uint8Array, sizePx: number): Uint8Array<ArrayBuffer> {
  const cell = sizePx / (SQUARES + 2 * MARGIN)
  const places = Array.from({ length: sizePx }, (_, position) => Math.floor(position / cell - MARGIN))
  const empty = new Uint8Array(sizePx)
  const filled = Array.from({ length: SQUARES }, (_, row) =>
    Uint8Array.from(places, (column) => {
      if (column < 0 || column >= SQUARES) return 0
      return isFilled(seed, row * HALF + Math.min(column, SQUARES - 1 - column)) ? 1 : 0
    }),
  )
  return png(sizePx, [BACKGROUND, colorOf(seed[0] ?? 0)], (y) => filled[places[y] ?? -1] ?? empty)
}

/** One bit of the seed for each square, starting at the second byte. */
const isFilled = (seed: Uint8Array, square: number): boolean =>
  (((seed[1 + (square >> 3)] ?? 0) >> (square & 7)) & 1) === 1

const SATURATION = 0.5
const LIGHTNESS = 0.5

/** One hue per value, all equally dark against the background. CSS Color 4, section 7.1. */
function colorOf(value: number): Color {
  const hue = (value * 360) / 256
  const channel = (offset: number): number => {
    const k = (offset + hue / 30) % 12
    const a = SATURATION * Math.min(LIGHTNESS, 1 - LIGHTNESS)
    return Math.round(255 * (LIGHTNESS - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))))
  }
  return [channel(0), channel(8), channel(4)]
}
