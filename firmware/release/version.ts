/** Versions of the software: `MAJOR.MINOR` or `MAJOR.MINOR.PATCH`, decimal. Contract section 9. */

/** An absent PATCH is 0. */
export type Version = readonly [major: number, minor: number, patch: number]

const VERSION = /^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})(?:\.(0|[1-9]\d{0,5}))?$/

/** Null when the text is no version. */
export function parseVersion(text: string): Version | null {
  const match = VERSION.exec(text)
  return match === null ? null : [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)]
}

/** Negative when `a` is older, 0 when they are the same. */
export const compareVersions = (a: Version, b: Version): number => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]

/** A text that is no version is neither older nor newer. */
export function isNewer(a: string, b: string): boolean {
  const [theirs, ours] = [parseVersion(a), parseVersion(b)]
  return theirs !== null && ours !== null && compareVersions(theirs, ours) > 0
}
