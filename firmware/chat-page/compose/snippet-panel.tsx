import { loadMore } from '../views/area.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import type { SnippetMenuProps } from './snippets.tsx'

/** Loads the script of the saved snippets first. */
export function SnippetPanel(props: SnippetMenuProps) {
  const { value, failure } = useLoaded(loadMore)
  if (value.value === null)
    return failure.value ? <Problem error={failure.value} /> : <p class="hint">{words.loading}</p>
  const { SnippetMenu } = value.value
  return <SnippetMenu {...props} />
}
