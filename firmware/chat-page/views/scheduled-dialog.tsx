/** Changes the text and the time of a scheduled message. */

import { useSignal } from '@preact/signals'
import { Field, TextArea } from '../../web/controls.tsx'
import { words } from '../words/words.ts'
import { FormDialog } from './form-dialog.tsx'
import { forField } from './when.tsx'

export function ScheduledDialog(props: {
  content: string
  /** Unix time in seconds. */
  timeS: number
  save: (values: { content: string; scheduled_delivery_timestamp: number }) => Promise<unknown>
  close: () => void
}) {
  const { content, timeS, save, close } = props
  const text = useSignal(content)
  const before = forField(new Date(timeS * 1000))
  const when = useSignal(before)
  const act = () => {
    const newS = when.value === before ? timeS : Math.floor(new Date(when.value).getTime() / 1000)
    return text.value.trim() !== '' && save({ content: text.value, scheduled_delivery_timestamp: newS })
  }
  return (
    <FormDialog title={words.editScheduled} action={words.save} act={act} close={close}>
      <TextArea label={words.message} bind={text} />
      <Field label={words.when} bind={when} type="datetime-local" required />
    </FormDialog>
  )
}
