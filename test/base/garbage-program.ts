/** Leaves strings between objects that stay in use, and wipes garbage: for garbage.test.ts. */

import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { collectGarbage, wipeGarbage } from '../../firmware/base/garbage.ts'

const LIVE_OBJECTS = 10 // beside each string, so that V8 would not move them away

/** A parent that knows the seed knows the strings, which come from outside in no form. */
export const secretOf = (seed: number, n: number): string =>
  createHash('sha256').update(`${seed} ${n}`).digest().toString('base64url')

if (import.meta.main) {
  const [seed, count] = process.argv.slice(2).map(Number) as [number, number]
  setFlagsFromString('--no-compact')
  let secrets: string[] | null = []
  const inUse: object[] = []
  for (let n = 0; n < count; n++) {
    secrets.push(secretOf(seed, n))
    for (let i = 0; i < LIVE_OBJECTS; i++) inUse.push({ n, i })
  }
  collectGarbage()
  collectGarbage() // all of it is old now
  const areAll = secrets.length === count
  secrets = null
  await wipeGarbage(async () => {})
  setInterval(() => inUse.length, 1000)
  process.send?.(areAll)
}
