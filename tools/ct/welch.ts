/**
 * Whether two classes of inputs take the same time. After Reparaz, Balasch, Verbauwhede, "Dude, is my code constant
 * time?" (2017): samples of both classes in random order, Welch's t-test, also on the fastest part of the samples,
 * because interrupts add noise only at the slow end.
 */

/** Above it the classes differ with near certainty. */
export const T_LIMIT = 4.5

/** The parts of the pooled samples, fastest first, that are tested; the largest t of all counts. */
const PARTS = [1, 0.99, 0.95, 0.8, 0.5]

/** Runs `measure`, which returns the time of one operation, for each class in random order. Largest |t|. */
export function compareClasses(measure: (inputClass: 0 | 1) => number, samples: number): number {
  const warmUp = Math.min(1000, samples)
  for (let i = 0; i < warmUp; i++) measure(i % 2 === 0 ? 0 : 1)
  const classes = Uint8Array.from({ length: samples }, () => (Math.random() < 0.5 ? 0 : 1))
  const times = new Float64Array(samples)
  for (let i = 0; i < samples; i++) times[i] = measure(classes[i] as 0 | 1)
  return largestT(times, classes)
}

export function largestT(times: Float64Array, classes: Uint8Array): number {
  const sorted = times.toSorted()
  const values = PARTS.map((part) => {
    const slowest = sorted[Math.ceil(part * sorted.length) - 1]!
    return Math.abs(welchT(times, classes, slowest))
  })
  return Math.max(...values)
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
