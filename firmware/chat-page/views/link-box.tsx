/** A link to give to somebody, with a button that copies it. */

import { useSignal } from '@preact/signals'
import { Action, Code } from '../../web/controls.tsx'
import { attempt } from '../problems.ts'
import { words } from '../words/words.ts'

export function LinkBox({ label, link }: { label: string; link: string }) {
  const isCopied = useSignal(false)
  const copy = async () => {
    isCopied.value = await attempt(navigator.clipboard.writeText(link))
  }
  return (
    <div class="stack">
      <Code label={label} text={link} />
      <div class="row">
        <Action kind="small" onClick={() => void copy()}>
          {words.copy}
        </Action>
        <span role="status">{isCopied.value && words.copied}</span>
      </div>
    </div>
  )
}
