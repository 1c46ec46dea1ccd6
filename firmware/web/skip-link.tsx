/** First link of a page: takes the keyboard to the content, past what each view repeats. */

import type { ComponentChildren } from 'preact'

export function SkipLink({ children }: { children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/useValidAnchor: following the fragment would change the view
    <a
      class="skip"
      href="#content"
      onClick={(event) => {
        event.preventDefault()
        document.getElementById('content')?.focus()
      }}
    >
      {children}
    </a>
  )
}
