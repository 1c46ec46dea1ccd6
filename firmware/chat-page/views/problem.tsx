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

function textOf(error: unknown): string {
  if (error instanceof CallRefused) return error.code === 'EXPECTATION_MISMATCH' ? words.problemChanged : error.message
  return error instanceof TypeError ? words.problemOffline : String(error)
}
