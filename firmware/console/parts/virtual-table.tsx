/**
 * A table of any number of rows that draws only visible ones. All rows have the same height, which gives the position of each.
 * `inSight` receives the visible range, to load details.
 */

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

const ROW_PX = 44 // 2.75rem at the usual size; measured anew with the first row
const AHEAD = 12 // rows above and below, so that scrolling shows no gaps

export function VirtualTable(props: {
  caption: string
  head: ComponentChildren
  length: number
  row: (index: number) => ComponentChildren
  inSight?: (from: number, to: number) => void
}) {
  const { caption, head, length, row, inSight } = props
  const box = useRef<HTMLDivElement>(null)
  const body = useRef<HTMLTableSectionElement>(null)
  const top = useSignal(0)
  const height = useSignal(700)
  const rowPx = useSignal(ROW_PX)
  // If the list has become shorter, it may end above the previous scroll position.
  const start = Math.max(0, Math.min(top.value, length * rowPx.value - height.value))
  const from = Math.max(0, Math.floor(start / rowPx.value) - AHEAD)
  const to = Math.min(length, Math.ceil((start + height.value) / rowPx.value) + AHEAD)

  useEffect(() => {
    const element = box.current
    if (element === null) return
    const measure = new ResizeObserver(() => {
      height.value = element.clientHeight
      const drawn = body.current?.querySelector('tr[data-row]')?.getBoundingClientRect().height
      if (drawn) rowPx.value = drawn
    })
    measure.observe(element)
    return () => measure.disconnect()
  }, [height, rowPx])

  useEffect(() => inSight?.(from, to), [from, to, length, inSight])

  const indexes = Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at)
  return (
    <section
      ref={box}
      class="scroll"
      aria-label={caption}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
      tabIndex={0}
      onScroll={() => {
        top.value = box.current?.scrollTop ?? 0
      }}
    >
      <table class="rows" aria-rowcount={length + 1}>
        <caption>{caption}</caption>
        <thead>{head}</thead>
        <tbody ref={body}>
          {from > 0 && <Spacer px={from * rowPx.value} />}
          {indexes.map((index) => (
            <tr key={index} data-row={index} aria-rowindex={index + 2}>
              {row(index)}
            </tr>
          ))}
          {to < length && <Spacer px={(length - to) * rowPx.value} />}
        </tbody>
      </table>
    </section>
  )
}

/** One cell only: several would add columns that a narrow window hides. */
function Spacer({ px }: { px: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
    <tr aria-hidden="true" style={{ height: `${px}px` }}>
      <td class="spacer" />
    </tr>
  )
}
