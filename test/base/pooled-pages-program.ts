/** Leaves strings on pages that V8 has freed, lets a thread take some of them, and wipes garbage when told: for garbage.test.ts. */

import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { defined } from '../../firmware/base/defined.ts'
import { wipeGarbage } from '../../firmware/base/garbage.ts'
import { createPool } from '../../firmware/crypto/pool/pool.ts'
import { secretOf } from './garbage-program.ts'

const STRINGS = 400_000 // as many as the largest nursery holds
const SMALL_NURSERY_BYTES = 2 ** 20
const IDLE_MS = 500 // V8 frees pages of the nursery once little is allocated

const [seed, count] = process.argv.slice(2).map(Number) as [number, number]

const nurseryBytes = (): number =>
  defined(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')).space_size

function growNursery(): void {
  const inUse: object[] = []
  for (let n = 0; n < STRINGS; n++) inUse.push({ n })
}

function fillNursery(): void {
  const secrets = Array.from({ length: count }, (_, n) => Buffer.from(secretOf(seed, n)))
  for (let n = 0; n < STRINGS; n++) secrets[n % count]?.toString('latin1')
  for (const secret of secrets) secret.fill(0)
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (how: object) => void

const pool = createPool({ workers: 1, entry: new URL('page-taking-worker.ts', import.meta.url) })
await new Promise<void>((resolve) => pool.onTested(() => resolve()))
growNursery()
fillNursery()
while (nurseryBytes() > SMALL_NURSERY_BYTES) {
  await delay(IDLE_MS)
  collect({ type: 'minor', execution: 'sync' })
}
const pair = await pool.generate('Curve25519')
await pool.sign({ ref: 1, type: pair.type, load: () => pair.private }, 'EdDSA', new Uint8Array(1)) // after pages were taken
process.send?.('used')
await once(process, 'message')
await wipeGarbage(pool.overwriteGarbage)
process.send?.('wiped')
