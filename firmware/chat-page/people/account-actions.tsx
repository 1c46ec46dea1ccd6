/** Acts of administrators on an account: name, address, role, password link, deactivation. */

import { useSignal } from '@preact/signals'
import { Action, Select } from '../../web/controls.tsx'
import { call } from '../api.ts'
import type { RealmView } from '../model/realm.ts'
import { isOwner } from '../model/rights.ts'
import type { Participant } from '../model/types.ts'
import { Setting } from '../settings/setting.tsx'
import { DangerAction, FormDialog } from '../views/form-dialog.tsx'
import { words } from '../words/words.ts'
import { PasswordLinkButton } from './password-link.tsx'

const OWNER = 100

export function AccountActions(props: { realm: RealmView; person: Participant; changed: () => void }) {
  const { realm, person, changed } = props
  const { user_id: id, is_bot: isBot, is_active: isActive } = person
  // Only owners change owners.
  if (person.role === OWNER && !isOwner(realm)) return null
  if (isActive === false) return <Reactivation id={id} changed={changed} />
  const change = (values: Record<string, unknown>) =>
    isBot ? call('PATCH', `/bots/${id}`, values) : call('PATCH', `/users/${id}`, values)
  const roles = Object.entries(words.roles)
    .map(([role, text]) => [Number(role), text] as const)
    .filter(([role]) => role !== OWNER || isOwner(realm))
  return (
    <section class="form">
      <h2>{words.administration}</h2>
      <Setting
        row={{ name: 'full_name', label: words.name, input: 'text' }}
        value={person.full_name}
        save={(name) => change({ full_name: name })}
      />
      <Setting
        row={{ name: 'role', label: words.role, input: roles }}
        value={person.role}
        save={(role) => change({ role })}
      />
      {!isBot && (
        <Setting
          row={{ name: 'new_email', label: words.email, input: 'text' }}
          value={person.delivery_email ?? person.email}
          save={(email) => change({ new_email: email })}
        />
      )}
      {!isBot && (
        <Setting
          row={{ name: 'status_text', label: words.statusText, input: 'text' }}
          value={realm.statuses.get(id)?.status_text ?? ''}
          save={(text) => call('POST', `/users/${id}/status`, { status_text: text })}
        />
      )}
      <div class="row">
        {!isBot && <PasswordLinkButton person={person} />}
        <Deactivation realm={realm} person={person} changed={changed} />
      </div>
    </section>
  )
}

function Reactivation({ id, changed }: { id: number; changed: () => void }) {
  const isAsked = useSignal(false)
  const act = async () => {
    await call('POST', `/users/${id}/reactivate`)
    changed()
  }
  return (
    <section class="form">
      <h2>{words.administration}</h2>
      <div>
        <Action
          onClick={() => {
            isAsked.value = true
          }}
        >
          {words.reactivate}
        </Action>
      </div>
      {isAsked.value && (
        <FormDialog
          title={words.reactivate}
          action={words.reactivate}
          act={act}
          close={() => {
            isAsked.value = false
          }}
        >
          <p>{words.reactivateText}</p>
        </FormDialog>
      )}
    </section>
  )
}

const KEEP = 'keep'
const DELETE_ALL = 'delete'

function Deactivation(props: { realm: RealmView; person: Participant; changed: () => void }) {
  const { realm, person, changed } = props
  const { user_id: id, full_name: name, is_bot: isBot } = person
  const content = useSignal(KEEP)
  const act = async () => {
    if (isBot) await call('DELETE', `/bots/${id}`)
    else await call('DELETE', `/users/${id}`, content.value === KEEP ? {} : { actions: EVERYTHING })
    changed()
  }
  if (id === realm.ownId) return null
  return (
    <DangerAction title={words.deactivateNamed(name)} action={words.deactivate} act={act}>
      <p>{isBot ? words.deactivateBotText : words.deactivateText}</p>
      {!isBot && (
        <Select
          label={words.theirContent}
          bind={content}
          options={[
            [KEEP, words.keepContent],
            [DELETE_ALL, words.deleteContent],
          ]}
        />
      )}
    </DangerAction>
  )
}

/** Contract section 3.4.1. */
const EVERYTHING = {
  delete_profile: true,
  delete_public_channel_messages: true,
  delete_private_channel_messages: true,
  delete_direct_messages: true,
}
