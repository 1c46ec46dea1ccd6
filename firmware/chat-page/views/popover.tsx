/** A button that opens a popover in the browser's top layer: nothing clips it, and Escape or a click elsewhere closes it. */

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

const GAP_PX = 4
const MARGIN_PX = 8

export function Popover(props: {
  label: string
  text: ComponentChildren
  kind?: string
  /** `close` returns the focus to the button. */
  children: (close: () => void) => ComponentChildren
}) {
  const { label, text, kind = 'icon', children } = props
  const isOpen = useSignal(false)
  const button = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const id = useId()
  const place = () => {
    const [box, from] = [panel.current, button.current?.getBoundingClientRect()]
    if (box === null || from === undefined) return
    const { width, height } = box.getBoundingClientRect()
    const below = from.bottom + GAP_PX
    const top = below + height > innerHeight - MARGIN_PX ? from.top - height - GAP_PX : below
    box.style.top = `${Math.max(MARGIN_PX, top)}px`
    box.style.left = `${Math.max(MARGIN_PX, Math.min(from.right - width, innerWidth - width - MARGIN_PX))}px`
  }
  useLayoutEffect(() => {
    if (!isOpen.value || panel.current === null) return
    place()
    // Content that is loaded later changes the size of the panel.
    const observer = new ResizeObserver(place)
    observer.observe(panel.current)
    return () => observer.disconnect()
  }, [isOpen.value])
  const close = () => {
    panel.current?.hidePopover()
    button.current?.focus()
  }
  return (
    <>
      <button
        type="button"
        ref={button}
        class={kind}
        aria-label={label}
        title={label}
        aria-expanded={isOpen.value}
        aria-controls={isOpen.value ? id : undefined}
        onClick={() => panel.current?.togglePopover()}
      >
        {text}
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        class="popover"
        onToggle={(event) => {
          isOpen.value = (event as unknown as ToggleEvent).newState === 'open'
          if (!isOpen.value) return
          requestAnimationFrame(() => {
            panel.current?.querySelector<HTMLElement>('input, button, a')?.focus()
          })
        }}
      >
        {isOpen.value && children(close)}
      </div>
    </>
  )
}
