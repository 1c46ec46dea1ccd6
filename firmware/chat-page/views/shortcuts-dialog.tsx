import { useEffect, useRef } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { words } from '../words/words.ts'

export function ShortcutList({ close }: { close: () => void }) {
  const list = useRef<HTMLElement>(null)
  useEffect(() => list.current?.focus(), [])
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      <section ref={list} class="scrolled" tabIndex={0} aria-label={words.shortcuts}>
        <dl class="facts">
          {words.shortcutTexts.map(([keys, text]) => (
            <>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{text}</dd>
            </>
          ))}
        </dl>
      </section>
      <Action onClick={close}>{words.dismiss}</Action>
    </>
  )
}
