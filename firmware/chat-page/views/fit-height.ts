import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'

const BORDERS_PX = 2

/** Fits the height of a text field to its text when one of `inputs` changes. The style sheet limits it. */
export function useFitHeight(field: RefObject<HTMLTextAreaElement | null>, inputs: readonly unknown[]): void {
  useLayoutEffect(() => {
    const box = field.current
    if (box === null) return
    box.style.height = 'auto'
    box.style.height = `${box.scrollHeight + BORDERS_PX}px`
  }, inputs)
}
