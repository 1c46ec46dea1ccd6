/** Edit history, readers, and a report of one message. */

import { useSignal } from '@preact/signals'
import { Action, Dialog, Select, TextArea } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { Content } from '../message/content.tsx'
import type { RealmView } from '../model/realm.ts'
import { personName } from '../names.ts'
import { FormDialog } from '../views/form-dialog.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { dateAndTime, listOf } from '../words/format.ts'
import { words } from '../words/words.ts'

interface DetailProps {
  realm: RealmView
  messageId: number
  close: () => void
}

interface Snapshot {
  topic: string
  rendered_content: string
  timestamp: number
  user_id?: number
}

export function HistoryDialog({ realm, messageId, close }: DetailProps) {
  const { value, failure } = useLoaded((signal) =>
    call<{ message_history: Snapshot[] }>(
      'GET',
      `/messages/${messageId}/history`,
      { allow_empty_topic_name: true },
      { signal },
    ),
  )
  return (
    <Dialog title={words.history} close={close}>
      <Problem error={failure.value} />
      {value.value === null && !failure.value && <p class="hint">{words.loading}</p>}
      <ol class="rows">
        {value.value?.message_history
          .toReversed()
          .map(({ timestamp, user_id: userId, topic, rendered_content: html }) => (
            <li key={timestamp} class="result">
              <p class="soft">
                {dateAndTime(new Date(timestamp * 1000))}
                {userId !== undefined && ` · ${personName(realm, userId)}`}
                {topic && ` · ${topic}`}
              </p>
              <div class="content" dir="auto">
                <Content html={html} />
              </div>
            </li>
          ))}
      </ol>
      <Action onClick={close}>{words.dismiss}</Action>
    </Dialog>
  )
}

export function ReadersDialog({ realm, messageId, close }: DetailProps) {
  const { value, failure } = useLoaded((signal) =>
    call<{ user_ids: number[] }>('GET', `/messages/${messageId}/read_receipts`, {}, { signal }),
  )
  const names = (value.value?.user_ids ?? []).map((id) => personName(realm, id)).sort((a, b) => a.localeCompare(b))
  return (
    <Dialog title={words.readBy} close={close}>
      <Problem error={failure.value} />
      {value.value === null && !failure.value && <p class="hint">{words.loading}</p>}
      {value.value !== null && <p>{names.length === 0 ? words.readByNobody : listOf(names)}</p>}
      <Action onClick={close}>{words.dismiss}</Action>
    </Dialog>
  )
}

const OTHER = 'other'
const DESCRIPTION_MAX = 1000

export function ReportDialog({ messageId, close }: Omit<DetailProps, 'realm'>) {
  const reason = useSignal('spam')
  const description = useSignal('')
  const report = () => {
    const text = description.value.trim().slice(0, DESCRIPTION_MAX)
    if (reason.value === OTHER && text === '') return false
    return call('POST', `/messages/${messageId}/report`, { report_type: reason.value, description: text })
  }
  return (
    <FormDialog title={words.report} action={words.report} act={report} close={close}>
      <p>{words.reportText}</p>
      <Select label={words.reportReason} bind={reason} options={Object.entries(words.reportReasons)} />
      <TextArea label={words.description} bind={description} />
    </FormDialog>
  )
}
