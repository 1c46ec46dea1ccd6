/** Chooses people by name. */

import { type Signal, useSignal } from '@preact/signals'
import { Action, Field } from '../../web/controls.tsx'
import { matches } from '../model/completion.ts'
import type { RealmView } from '../model/realm.ts'
import { personName } from '../names.ts'
import { Icon } from '../views/icons.tsx'
import { Face } from '../views/parts.tsx'
import { words } from '../words/words.ts'

const SHOWN_MAX = 8

export function PeoplePicker(props: {
  realm: RealmView
  label: string
  chosen: Signal<readonly number[]>
  /** People who cannot be chosen. */
  without?: ReadonlySet<number>
}) {
  const { realm, label, chosen, without = new Set() } = props
  const text = useSignal('')
  const all = [...realm.people.values()]
    .filter(
      ({ user_id: id, is_active: isActive }) => isActive !== false && !without.has(id) && !chosen.value.includes(id),
    )
    .filter((one) => matches(one.full_name, text.value.trim()))
    .sort((a, b) => Number(a.is_bot) - Number(b.is_bot) || a.full_name.localeCompare(b.full_name))
  const choose = (id: number) => {
    chosen.value = [...chosen.value, id]
    text.value = ''
  }
  return (
    <div class="stack">
      {chosen.value.length > 0 && (
        <ul class="tags" aria-label={words.chosenPeople}>
          {chosen.value.map((id) => (
            <li key={id} class="tag">
              {personName(realm, id)}
              <Action
                kind="icon"
                label={words.removeFromList(personName(realm, id))}
                onClick={() => {
                  chosen.value = chosen.value.filter((one) => one !== id)
                }}
              >
                <Icon name="close" />
              </Action>
            </li>
          ))}
        </ul>
      )}
      <Field
        label={label}
        bind={text}
        type="search"
        hint={words.pickerHint}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || text.value === '') return
          event.preventDefault() // the form is not sent yet
          if (all[0] !== undefined) choose(all[0].user_id)
        }}
      />
      <ul class="rows" aria-label={words.people}>
        {all.slice(0, SHOWN_MAX).map((one) => (
          <li key={one.user_id}>
            <button type="button" class="row-link" onClick={() => choose(one.user_id)}>
              <span>
                <Face person={one} size="small" />
                {one.full_name}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
