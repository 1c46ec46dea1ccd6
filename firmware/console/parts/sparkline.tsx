/** A small line of numbers over time, told in words as well. */

import { HEIGHT, sparkPath, WIDTH } from '../series.ts'

export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={sparkPath(values)} />
    </svg>
  )
}
