/** Users who are typing now. Nothing is stored: an entry ends by itself if its end is not told. `chat/CONTRACT.md`, V49, V50. */

/** A server tells of any topic that somebody names, so there is a bound; the oldest entries go first. */
const TYPISTS_MAX = 200

/** A place is the key of a conversation, or `placeOfEdit`. */
export interface Typists {
  readonly expiryMs: number
  start(place: string, userId: number): void
  stop(place: string, userId: number): void
  at(place: string): number[]
  /** Unix time in milliseconds at which the next entry of the place ends; null without entries. */
  endMs(place: string): number | null
}

export const placeOfEdit = (messageId: number): string => `message ${messageId}`

export function createTypists(expiryMs: number, now: () => number = Date.now): Typists {
  /** The one that began first comes first. */
  const all = new Map<string, { place: string; userId: number; endMs: number }>()
  const keyOf = (place: string, userId: number) => `${userId} ${place}`
  const here = (place: string) => [...all.values()].filter((one) => one.place === place && one.endMs > now())
  return {
    expiryMs,
    start(place, userId) {
      const key = keyOf(place, userId)
      all.delete(key)
      all.set(key, { place, userId, endMs: now() + expiryMs })
      for (const oldest of all.keys()) if (all.size > TYPISTS_MAX) all.delete(oldest)
    },
    stop: (place, userId) => void all.delete(keyOf(place, userId)),
    at: (place) => here(place).map(({ userId }) => userId),
    endMs: (place) => here(place)[0]?.endMs ?? null,
  }
}
