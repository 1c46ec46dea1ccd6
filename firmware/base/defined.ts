/** Returns a value that exists by an invariant of the caller. Throws if the invariant is broken. */
export function defined<T>(value: T | null | undefined): T {
  if (value === undefined || value === null) throw new TypeError('A value is missing that must exist')
  return value
}
