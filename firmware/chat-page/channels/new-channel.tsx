/** A form for a new channel. */

import { useSignal } from '@preact/signals'
import { Action, Field, Select, TextArea } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { noteFailure } from '../connection.ts'
import { channelAddress } from '../model/conversation.ts'
import { mayInRealm } from '../model/rights.ts'
import { PeoplePicker } from '../people/people-picker.tsx'
import { go } from '../place.ts'
import type { AreaProps } from '../views/area.tsx'
import { ViewTitle } from '../views/frame.tsx'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'

const NAME_MAX = 60

export function NewChannelView({ realm }: AreaProps) {
  const name = useSignal('')
  const description = useSignal('')
  const kinds = Object.entries(words.channelKinds).filter(([kind]) =>
    mayInRealm(realm, kind === 'public' ? 'can_create_public_channel_group' : 'can_create_private_channel_group'),
  )
  const kind = useSignal(kinds[0]?.[0] ?? 'public')
  const people = useSignal<readonly number[]>([])
  const run = useRun()
  const create = async () => {
    const wanted = name.value.trim()
    if (wanted === '') return
    let id = 0
    const made = async () => {
      const values = {
        ...{ name: wanted, description: description.value.trim(), subscribers: [realm.ownId, ...people.value] },
        ...{ invite_only: kind.value !== 'public', history_public_to_subscribers: kind.value !== 'hidden' },
      }
      ;({ id } = await call<{ id: number }>('POST', '/channels/create', values))
    }
    if (await run.start(words.saving, made)) go(channelAddress(id, wanted))
    else noteFailure(run.error.value)
  }
  return (
    <div class="view">
      <ViewTitle title={words.newChannel} />
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void create()
        }}
      >
        <Field label={words.name} bind={name} maxLength={NAME_MAX} required />
        <TextArea label={words.description} bind={description} />
        <Select label={words.whoReads} bind={kind} options={kinds} />
        <PeoplePicker realm={realm} label={words.addPeople} chosen={people} without={new Set([realm.ownId])} />
        <Problem error={run.error.value} />
        <div>
          <Action submit kind="primary" busy={run.busy.value}>
            {words.create}
          </Action>
        </div>
      </form>
    </div>
  )
}
