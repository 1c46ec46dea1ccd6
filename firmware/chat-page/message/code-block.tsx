import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Action, Code } from '../../web/controls.tsx'
import { words } from '../words/words.ts'

/** One for all blocks: their colors come in the order of the blocks. */
let colors: Promise<typeof import('../on-demand/code-colors.ts')> | undefined

/** Code with its language, colors and a button that copies it. */
export function CodeBlock({ text, language }: { text: string; language: string | undefined }) {
  const copied = useSignal(false)
  const figure = useRef<HTMLElement>(null)
  useEffect(() => {
    const node = figure.current?.querySelector('pre')?.firstChild
    if (language === undefined || !(node instanceof Text)) return undefined
    const controller = new AbortController()
    colors ??= import('../on-demand/code-colors.ts')
    colors
      .then(({ colorCode }) => colorCode(node, language, controller.signal))
      .catch(() => {
        colors = undefined // offline: it stays plain
      })
    return () => controller.abort()
  }, [language, text])
  return (
    <figure class="code-block" ref={figure}>
      <figcaption>
        <span>{language ?? words.code}</span>
        <Action
          kind="link"
          onClick={async () => {
            await navigator.clipboard.writeText(text)
            copied.value = true
          }}
        >
          {copied.value ? words.copied : words.copy}
        </Action>
      </figcaption>
      <Code label={language ?? words.code} text={text} />
    </figure>
  )
}
