/** Makes a link with which a person sets a new password. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import type { Participant } from '../model/types.ts'
import { FormDialog } from '../views/form-dialog.tsx'
import { LinkBox } from '../views/link-box.tsx'
import { words } from '../words/words.ts'

export function PasswordLinkButton({ person: { user_id: id, full_name: name } }: { person: Participant }) {
  const isAsked = useSignal(false)
  const link = useSignal<string | null>(null)
  const make = async () => {
    const answer = await call<{ link: string }>('POST', `/users/${id}/password_link`)
    link.value = answer.link
  }
  return (
    <>
      <Action
        onClick={() => {
          isAsked.value = true
        }}
      >
        {words.passwordLink}
      </Action>
      {link.value !== null && <LinkBox label={words.passwordLinkOf(name)} link={link.value} />}
      {isAsked.value && (
        <FormDialog
          title={words.passwordLinkOf(name)}
          action={words.create}
          act={make}
          close={() => {
            isAsked.value = false
          }}
        >
          <p>{words.passwordLinkText}</p>
        </FormDialog>
      )}
    </>
  )
}
