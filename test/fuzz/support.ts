/** Shared by the fuzzers: grammars that make what is nearly right, damage that makes it wrong, and a bounded time. */

import fc from 'fast-check'

const TARGETS = 4 // that share the time: channel, HTTP, JSON, multipart
const RUNS_MAX = 1e9 // the time ends it

/** For all targets together; test/release/fuzz.test.ts takes as many once more. */
export const fuzzSeconds = Number(process.env.COFFER_FUZZ_SECONDS ?? (process.env.COFFER_SLOW === undefined ? 20 : 600))
export const seconds = fuzzSeconds / TARGETS

/** Runs until the time is over; a failure names the seed and the smallest input that fails. Returns how often it ran. */
export async function forAWhile<T>(
  arbitrary: fc.Arbitrary<T>,
  check: (input: T) => Promise<void> | void,
): Promise<number> {
  let runs = 0
  const property = fc.asyncProperty(arbitrary, async (input) => {
    runs++
    await check(input)
  })
  await fc.assert(property, {
    numRuns: RUNS_MAX,
    interruptAfterTimeLimit: seconds * 1000,
    markInterruptAsFailure: false,
  })
  return runs
}

const edit = fc.record({
  at: fc.nat(),
  length: fc.oneof({ weight: 4, arbitrary: fc.nat(8) }, { weight: 1, arbitrary: fc.nat(100_000) }),
  how: fc.constantFrom('flip', 'remove', 'repeat', 'insert'),
  bytes: fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc
      .constantFrom('\r\n', '\n', '\0', '\r\n\r\n', '--', '"', '{', '[', ':', ',', ' ', '\t', '%', '\\u', 'é', '\uffff')
      .map((text) => Buffer.from(text)),
  ),
})

export const damaged = (bytes: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(bytes, fc.oneof(fc.constant([]), fc.array(edit, { maxLength: 4 })))
    .map(([bytes, edits]) => edits.reduce(apply, Buffer.from(bytes)))

const GROWTH_BYTES_MAX = 100_000

function apply(
  bytes: Buffer,
  { at, length, how, bytes: more }: typeof edit extends fc.Arbitrary<infer E> ? E : never,
): Buffer {
  const start = at % (bytes.length + 1)
  const [before, middle, after] = [
    bytes.subarray(0, start),
    bytes.subarray(start, start + length),
    bytes.subarray(start + length),
  ]
  if (how === 'remove') return Buffer.concat([before, after])
  if (how === 'insert') return Buffer.concat([before, more, middle, after])
  if (how === 'flip') return Buffer.concat([before, middle.map((byte, place) => byte ^ (more[place] ?? 0)), after])
  const times = Math.min(length, Math.floor(GROWTH_BYTES_MAX / Math.max(1, middle.length)))
  return Buffer.concat([before, ...Array<Buffer>(times).fill(middle), after])
}

export function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, index) => Uint8Array.from(bytes.subarray(places[index], end)))
}

export const cuts = fc.array(fc.nat(), { maxLength: 6 })
