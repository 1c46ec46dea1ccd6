/** A small line of numbers over time, told in words as well. */

const WIDTH = 100
const HEIGHT = 30

/** The path of SVG for values drawn from left to right, the largest on top. Two values at least. */
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

export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={sparkPath(values)} />
    </svg>
  )
}
