/** The picture of an account that has set none: five by five squares, the same on both sides. Contract section 11.16. */

import { type Colour, png } from './avatar-png.ts'

const SQUARES = 5
const HALF = 3 // columns that are drawn from the seed; the others mirror them
const MARGIN = 0.5 // of a square, around all of them
const BACKGROUND: Colour = [240, 240, 240]

export const AVATAR_PX = 100
export const AVATAR_MEDIUM_PX = 500

/** `seed`: 16 bytes or more, the same for one account every time. */
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
  return png(sizePx, [BACKGROUND, colourOf(seed[0]!)], (y) => filled[places[y]!] ?? empty)
}

/** One bit of the seed for each square, from its second byte on. */
const isFilled = (seed: Uint8Array, square: number): boolean => ((seed[1 + (square >> 3)]! >> (square & 7)) & 1) === 1

const SATURATION = 0.5
const LIGHTNESS = 0.5

/** A hue for each value; all of them as dark against the background. CSS Color 4, section 7.1. */
function colourOf(value: number): Colour {
  const hue = (value * 360) / 256
  const channel = (offset: number): number => {
    const k = (offset + hue / 30) % 12
    const a = SATURATION * Math.min(LIGHTNESS, 1 - LIGHTNESS)
    return Math.round(255 * (LIGHTNESS - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))))
  }
  return [channel(0), channel(8), channel(4)]
}
