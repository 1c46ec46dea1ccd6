/** Small chart of a value over time, with a text for screen readers. */

import { HEIGHT, sparkPath, WIDTH } from '../series.ts'

export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <path d={sparkPath(values)} />
    </svg>
  )
}
