/** Files that the account has uploaded. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { ConfirmDialog } from '../views/form-dialog.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { fileSize } from '../words/format.ts'
import { words } from '../words/words.ts'

interface Attachment {
  id: number
  name: string
  path_id: string
  size: number
  create_time: number
  message_ids: number[]
}

export function FilesSection() {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ attachments: Attachment[]; upload_space_used: number }>('GET', '/attachments', {}, { signal }),
  )
  const asked = useSignal<Attachment | null>(null)
  const remove = async (id: number) => {
    await call('DELETE', `/attachments/${id}`)
    await load()
  }
  const removed = asked.value
  return (
    <section class="form">
      <Problem error={failure.value} />
      {value.value === null && !failure.value && <p class="hint">{words.loading}</p>}
      {value.value !== null && <p class="soft">{words.filesUsed(fileSize(value.value.upload_space_used))}</p>}
      <ul class="rows">
        {value.value?.attachments.map((one) => (
          <li key={one.id} class="row-entry">
            <div class="what">
              <a href={`/user_uploads/${one.path_id}`}>{one.name}</a>
              <p class="soft">
                {words.fileAbout(fileSize(one.size), new Date(one.create_time * 1000), one.message_ids.length)}
              </p>
            </div>
            <Action
              kind="small danger"
              label={words.removeNamed(one.name)}
              onClick={() => {
                asked.value = one
              }}
            >
              {words.remove}
            </Action>
          </li>
        ))}
      </ul>
      {removed !== null && (
        <ConfirmDialog
          title={words.removeNamed(removed.name)}
          action={words.remove}
          busy={words.deleting}
          act={() => remove(removed.id)}
          close={() => {
            asked.value = null
          }}
        >
          <p>{words.removeFileText}</p>
        </ConfirmDialog>
      )}
    </section>
  )
}
