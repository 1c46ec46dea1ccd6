/** Choosing, saving and removing a picture. */

import { useRef } from 'preact/hooks'
import { useRun } from '../../web/run.ts'
import { noteFailure } from '../connection.ts'
import { words } from '../words/words.ts'

/** The field is hidden: `choose` opens it, and `set` gets the file. */
export function usePictureField(label: string, set: (file: File) => Promise<unknown>) {
  const input = useRef<HTMLInputElement>(null)
  const run = useRun()
  const change = async (act: () => Promise<unknown>) => {
    if (!(await run.start(words.saving, act))) noteFailure(run.error.value)
  }
  return {
    ...{ busy: run.busy.value, error: run.error.value, change },
    choose: () => input.current?.click(),
    field: (
      <input
        ref={input}
        class="hidden"
        type="file"
        accept="image/*"
        tabIndex={-1}
        aria-label={label}
        onChange={({ currentTarget: field }) => {
          const file = field.files?.[0]
          if (file !== undefined) void change(() => set(file))
          field.value = ''
        }}
      />
    ),
  }
}
