/** Subscribers of a channel. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { addressOfArea } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { isAdministrator, isInGroup, mayInRealm } from '../model/rights.ts'
import { personName } from '../names.ts'
import { PeoplePicker } from '../people/people-picker.tsx'
import { attempt } from '../problems.ts'
import { FormDialog } from '../views/form-dialog.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Face } from '../views/parts.tsx'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import type { ChannelDetails } from './types.ts'

const SHOWN_MAX = 200

export function Subscribers({ realm, channel }: { realm: RealmView; channel: ChannelDetails; revision: number }) {
  const { stream_id: id, name } = channel
  const { value, failure, load } = useLoaded((signal) =>
    call<{ subscribers: number[] }>('GET', `/streams/${id}/members`, {}, { signal }),
  )
  const isAdding = useSignal(false)
  const people = useSignal<readonly number[]>([])
  const all = (value.value?.subscribers ?? []).toSorted((a, b) =>
    personName(realm, a).localeCompare(personName(realm, b)),
  )
  const isChannelAdministrator = isAdministrator(realm) || isInGroup(realm, channel.can_administer_channel_group)
  const mayAdd =
    isChannelAdministrator ||
    isInGroup(realm, channel.can_add_subscribers_group) ||
    (!channel.invite_only && mayInRealm(realm, 'can_add_subscribers_group'))
  const mayRemove = isChannelAdministrator || isInGroup(realm, channel.can_remove_subscribers_group)
  const add = async () => {
    await call('POST', '/users/me/subscriptions', { subscriptions: [{ name }], principals: people.value })
    people.value = []
    await load()
  }
  const remove = async (person: number) => {
    await attempt(call('DELETE', '/users/me/subscriptions', { subscriptions: [name], principals: [person] }))
    await load()
  }
  return (
    <section class="form">
      <div class="row apart">
        <h2>{words.subscribers(all.length)}</h2>
        {mayAdd && (
          <Action
            kind="small"
            onClick={() => {
              isAdding.value = true
            }}
          >
            {words.addPeople}
          </Action>
        )}
      </div>
      <Problem error={failure.value} />
      <ul class="rows">
        {all.slice(0, SHOWN_MAX).map((person) => (
          <li key={person} class="row-entry">
            <Face person={realm.people.get(person)} size="small" />
            <div class="what">
              <a href={addressOfArea('user', person)}>{personName(realm, person)}</a>
            </div>
            {(mayRemove || person === realm.ownId) && (
              <Action
                kind="icon"
                label={words.removeFromList(personName(realm, person))}
                onClick={() => void remove(person)}
              >
                ✕
              </Action>
            )}
          </li>
        ))}
      </ul>
      {all.length > SHOWN_MAX && <p class="soft">{words.andOthers(all.length - SHOWN_MAX)}</p>}
      {isAdding.value && (
        <FormDialog
          title={words.addPeople}
          action={words.add}
          act={() => people.value.length > 0 && add()}
          close={() => {
            isAdding.value = false
          }}
        >
          <PeoplePicker realm={realm} label={words.findPeople} chosen={people} without={new Set(all)} />
        </FormDialog>
      )}
    </section>
  )
}
