import { useLayoutEffect, useRef } from 'preact/hooks'
import { Field, type Text } from '../../web/controls.tsx'
import { filterWanted } from '../wanted.ts'

/** Filters the list below it. The key that opens the view focuses it. */
export function FilterField({ label, bind }: { label: string; bind: Text }) {
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (!filterWanted.value) return
    filterWanted.value = false
    box.current?.querySelector('input')?.focus()
  }, [filterWanted.value])
  return (
    <div class="find" ref={box}>
      <Field label={label} bind={bind} type="search" />
    </div>
  )
}
