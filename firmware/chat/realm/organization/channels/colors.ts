/** Colors of subscriptions: `#rrggbb`, chosen by each user. Contract section 2.3. */

import { defined } from '../../../../base/defined.ts'
import type { Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'

/** Distinguishable on white and on black by hue and lightness. Assigned in this order. */
const PALETTE = [
  '#5a9bd4',
  '#7ac36a',
  '#f15a60',
  '#faa75b',
  '#9e67ab',
  '#ce7058',
  '#d77fb4',
  '#4bb6a8',
  '#b8a13c',
  '#6f78d2',
  '#8ab34f',
  '#c9544d',
  '#54a4b8',
  '#e0a33e',
  '#8f6fc0',
  '#3fa06a',
  '#d0668e',
  '#8b8f98',
  '#5f8f3e',
  '#b86fd6',
  '#cf8a3f',
  '#4f83c9',
  '#b3656a',
  '#77a39a',
] as const

/** Accepts `#rgb` and `#rrggbb` in either case and returns `#rrggbb` in lower case. Null for other texts. */
export function readColor(text: string): string | null {
  const [, short] = /^#([0-9a-f]{3})$/i.exec(text) ?? []
  if (short !== undefined) return `#${[...short].map((digit) => digit + digit).join('')}`.toLowerCase()
  return /^#[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : null
}

export function freeColor(realm: Realm, user: User): string {
  const subscriptions = realm.state.subscriptionsOf.get(user.id)
  const taken = new Set([...subscriptions.values()].map(({ color }) => color))
  return PALETTE.find((color) => !taken.has(color)) ?? defined(PALETTE[subscriptions.size % PALETTE.length])
}
