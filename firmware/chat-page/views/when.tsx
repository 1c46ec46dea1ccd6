/** Asks for a future time: later today, tomorrow, next week, or any other. */

import { useSignal } from '@preact/signals'
import { Action, Dialog, Field } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { noteFailure } from '../connection.ts'
import { dateAndTime } from '../words/format.ts'
import { words } from '../words/words.ts'
import { Problem } from './problem.tsx'

const HOUR_MS = 3_600_000
const MORNING = 9 // o'clock

export function WhenDialog(props: {
  title: string
  action: string
  close: () => void
  /** Unix time in seconds. */
  choose: (timeS: number) => Promise<unknown>
}) {
  const { title, action, close, choose } = props
  const text = useSignal(forField(new Date(Date.now() + HOUR_MS)))
  const run = useRun()
  const take = async (time: Date) => {
    if (Number.isNaN(time.getTime())) return
    if (await run.start(words.saving, () => choose(Math.floor(time.getTime() / 1000)))) close()
    else noteFailure(run.error.value)
  }
  return (
    <Dialog title={title} close={close}>
      <div class="row">
        {suggestions(new Date()).map((time) => (
          <Action key={time.getTime()} kind="small" onClick={() => void take(time)}>
            {dateAndTime(time)}
          </Action>
        ))}
      </div>
      <form
        class="line"
        onSubmit={(event) => {
          event.preventDefault()
          void take(new Date(text.value))
        }}
      >
        <Field label={words.when} bind={text} type="datetime-local" required />
        <Action submit kind="primary" busy={run.busy.value}>
          {action}
        </Action>
      </form>
      <Problem error={run.error.value} />
      <Action onClick={close}>{words.cancel}</Action>
    </Dialog>
  )
}

function suggestions(now: Date): Date[] {
  const morning = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING)
  const toMonday = (8 - now.getDay()) % 7 || 7
  const all = [new Date(now.getTime() + HOUR_MS), morning(1)]
  return toMonday === 1 ? all : [...all, morning(toMonday)]
}

/** Formats a time for the browser's input field, in the local time zone. */
export function forField(time: Date): string {
  const two = (value: number) => String(value).padStart(2, '0')
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`
  return `${date}T${two(time.getHours())}:${two(time.getMinutes())}`
}
