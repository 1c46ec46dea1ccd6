/** Rates of counters over time, and the chart line of a series. */

import { defined } from '../base/defined.ts'

export type Numbers = Readonly<Record<string, number>>

export interface Sample {
  at: number
  numbers: Numbers
}

/** Increase of a counter per second between two samples; 0 if a restart has reset the counter. */
export function rates(taken: readonly Sample[], of: (numbers: Numbers) => number): number[] {
  return taken.slice(1).map((sample, at) => {
    const before = defined(taken[at])
    return Math.max(0, of(sample.numbers) - of(before.numbers)) / ((sample.at - before.at) / 1000)
  })
}

export const WIDTH = 100
export const HEIGHT = 30

/** SVG path of the values, from left to right with the largest on top. Needs at least two values. */
export function sparkPath(values: readonly number[]): string {
  if (values.length < 2) return ''
  const top = Math.max(...values)
  const bottom = Math.min(0, ...values)
  const height = top - bottom || 1
  return values
    .map((value, at) => {
      const x = (at / (values.length - 1)) * WIDTH
      const y = HEIGHT - ((value - bottom) / height) * HEIGHT
      return `${at === 0 ? 'M' : 'L'}${x.toFixed(2)} ${y.toFixed(2)}`
    })
    .join('')
}
