/**
 * Whether two classes of inputs take the same time. After Reparaz, Balasch, Verbauwhede, "Dude, is my code constant
 * time?" (2017): samples of both classes in random order, Welch's t-test, also on the fastest part of the samples,
 * because interrupts add noise only at the slow end; and each sample against its neighbors, see `slowerThanNearby`.
 */

/** Where both classes are alike, one of the six t of a subject is above it in at most one subject of 24,000. */
export const T_LIMIT = 4.5

/** The parts of the pooled samples, fastest first, that are tested; the largest t of all counts. */
const PARTS = [1, 0.99, 0.95, 0.8, 0.5]

/** Each sample is compared with as many before it and behind it: near enough that the processor was as fast for them. */
const NEARBY = 2

/** Differences that are tried on the samples, in nanoseconds. */
const TRIED_NS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000]

interface Comparison {
  /** Largest |t|. */
  t: number
  /** The smallest difference, of those tried, that is found when it is added to half of the samples, in nanoseconds. */
  findsNs: number
  /** Median of all samples, in nanoseconds. */
  medianNs: number
}

/** Runs `measure`, which returns the milliseconds of one operation, for each class in random order. */
export function compareClasses(measure: (inputClass: 0 | 1) => number, samples: number): Comparison {
  const warmUp = Math.min(1000, samples)
  for (let i = 0; i < warmUp; i++) measure(i % 2 === 0 ? 0 : 1)
  const classes = randomClasses(samples)
  const times = new Float64Array(samples)
  for (let i = 0; i < samples; i++) times[i] = measure(classes[i] as 0 | 1)
  return {
    t: largestT(times, classes),
    findsNs: smallestFound(times),
    medianNs: times.toSorted()[samples >> 1]! * 1e6,
  }
}

export function largestT(times: Float64Array, classes: Uint8Array): number {
  const sorted = times.toSorted()
  const ofParts = PARTS.map((part) => welchT(times, classes, sorted[Math.ceil(part * sorted.length) - 1]!))
  return Math.max(...ofParts.map(Math.abs), Math.abs(welchT(slowerThanNearby(times), classes, 2 * NEARBY)))
}

/** Smallest difference found in noise: classes are drawn at random, so the true ones cannot be told apart. */
function smallestFound(times: Float64Array): number {
  const classes = randomClasses(times.length)
  const isFound = (ns: number) =>
    largestT(
      times.map((time, i) => time + classes[i]! * (ns / 1e6)),
      classes,
    ) > T_LIMIT
  return TRIED_NS.find(isFound) ?? Number.POSITIVE_INFINITY
}

const randomClasses = (samples: number) => Uint8Array.from({ length: samples }, () => (Math.random() < 0.5 ? 0 : 1))

/**
 * How many of its neighbors each sample is slower than, less those it is faster than. However long an interruption, it counts
 * as one, and what slows the processor down for a while does so for both classes: on a busy machine much smaller differences
 * show. Classes are random, so whatever is made of the times without knowing them may be tested.
 */
function slowerThanNearby(times: Float64Array): Float64Array {
  return times.map((time, i) => {
    let score = 0
    for (let j = Math.max(0, i - NEARBY); j <= i + NEARBY && j < times.length; j++) score += Math.sign(time - times[j]!)
    return score
  })
}

function welchT(times: Float64Array, classes: Uint8Array, slowest: number): number {
  const count = [0, 0]
  const mean = [0, 0]
  const squares = [0, 0] // sums of squared distances from the mean, after Welford
  for (let i = 0; i < times.length; i++) {
    const time = times[i]!
    if (time > slowest) continue
    const c = classes[i]!
    count[c]!++
    const distance = time - mean[c]!
    mean[c]! += distance / count[c]!
    squares[c]! += distance * (time - mean[c]!)
  }
  if (count[0]! < 2 || count[1]! < 2) return 0
  const error = [0, 1].map((c) => squares[c]! / (count[c]! - 1) / count[c]!)
  const scale = Math.sqrt(error[0]! + error[1]!)
  return scale === 0 ? 0 : (mean[0]! - mean[1]!) / scale
}
