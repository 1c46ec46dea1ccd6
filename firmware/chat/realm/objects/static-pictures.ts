/** Pictures that are the same in every organization. Contract section 3.9. */

import { createHash } from 'node:crypto'
import { type Color, png } from './avatar-png.ts'
import { AVATAR_PX, generatedAvatar } from './generated-avatar.ts'

export const defaultIcon = (): Uint8Array<ArrayBuffer> =>
  generatedAvatar(createHash('sha256').update('coffer icon').digest(), AVATAR_PX)

const BUBBLE_PX = 64
const COLORS: readonly Color[] = [
  [255, 255, 255, 0],
  [70, 110, 200],
  [255, 255, 255],
]
const [CLEAR, BLUE, WHITE] = [0, 1, 2]

const BODY = { left: 4, right: 60, top: 6, bottom: 48, radius: 14 }
const TAIL = { left: 16, top: 46, px: 16 } // a right triangle below the body; its vertical side is on the left
const DOTS = { columns: [18, 32, 46], row: 27, radius: 4.5 }

/** `:zulip:`: a speech bubble with three dots on a transparent background. */
export const speechBubble = (): Uint8Array<ArrayBuffer> =>
  png(BUBBLE_PX, COLORS, (y) => Uint8Array.from({ length: BUBBLE_PX }, (_, x) => colorAt(x + 0.5, y + 0.5)))

function colorAt(x: number, y: number): number {
  if (DOTS.columns.some((column) => Math.hypot(x - column, y - DOTS.row) <= DOTS.radius)) return WHITE
  return isInBody(x, y) || isInTail(x, y) ? BLUE : CLEAR
}

/** A rounded rectangle: all points within `radius` of the rectangle that is smaller by `radius` on each side. */
function isInBody(x: number, y: number): boolean {
  const { left, right, top, bottom, radius } = BODY
  const aside = Math.max(left + radius - x, 0, x - (right - radius))
  const above = Math.max(top + radius - y, 0, y - (bottom - radius))
  return Math.hypot(aside, above) <= radius
}

function isInTail(x: number, y: number): boolean {
  const [column, row] = [x - TAIL.left, y - TAIL.top]
  return column >= 0 && row >= 0 && column + row <= TAIL.px
}
