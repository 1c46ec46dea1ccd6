import type { ComponentChildren } from 'preact'
import { CallRefused } from '../api.ts'
import { words } from '../words/words.ts'

export function Problem({
  error,
  title = words.problemTitle,
  also,
}: {
  error: unknown
  title?: string
  also?: ComponentChildren
}) {
  return (
    <div role="alert">
      {error ? (
        <div class="notice bad">
          <strong>{title}</strong>
          <p>{textOf(error)}</p>
          {also}
        </div>
      ) : null}
    </div>
  )
}

const textOf = (error: unknown): string =>
  error instanceof CallRefused ? error.message : error instanceof TypeError ? words.problemOffline : String(error)
