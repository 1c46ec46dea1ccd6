/** Everybody in the organization: people, bots, and deactivated accounts. */

import { useSignal } from '@preact/signals'
import { matches } from '../model/completion.ts'
import { addressOfArea } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import type { Participant } from '../model/types.ts'
import type { AreaProps } from '../views/area.tsx'
import { EmojiFace } from '../views/emoji-picker.tsx'
import { FilterField } from '../views/filter-field.tsx'
import { ViewTitle } from '../views/frame.tsx'
import { Face, PresenceMark } from '../views/parts.tsx'
import { wordFor, words } from '../words/words.ts'

const SHOWN_MAX = 500 // of each list; the field finds the others

export function PeopleView({ realm }: AreaProps) {
  const text = useSignal('')
  const all = [...realm.people.values()]
    .filter((one) => matches(one.full_name, text.value.trim()))
    .sort((a, b) => a.full_name.localeCompare(b.full_name))
  const isActive = (one: Participant) => one.is_active !== false
  return (
    <div class="view">
      <ViewTitle title={words.people} />
      <FilterField label={words.findPeople} bind={text} />
      <List realm={realm} title={words.activePeople} people={all.filter((one) => isActive(one) && !one.is_bot)} />
      <List realm={realm} title={words.bots} people={all.filter((one) => isActive(one) && one.is_bot)} />
      <List realm={realm} title={words.deactivatedPeople} people={all.filter((one) => !isActive(one))} />
      {all.length === 0 && <p class="empty">{words.nobodyFound}</p>}
    </div>
  )
}

function List({ realm, title, people }: { realm: RealmView; title: string; people: readonly Participant[] }) {
  if (people.length === 0) return null
  return (
    <section class="group">
      <h2>
        {title} {people.length}
      </h2>
      <ul class="rows">
        {people.slice(0, SHOWN_MAX).map((one) => (
          <li key={one.user_id}>
            <a class="row-link" href={addressOfArea('user', one.user_id)}>
              <span>
                <Face person={one} size="small" />
                <PresenceMark realm={realm} id={one.user_id} />
                {one.full_name}
                <StatusMark realm={realm} id={one.user_id} />
              </span>
              <span class="soft">{one.is_bot ? '' : wordFor(words.roles, one.role ?? 0)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function StatusMark({ realm, id }: { realm: RealmView; id: number }) {
  const { emoji_code: code = '', reaction_type: type = '', status_text: text = '' } = realm.statuses.get(id) ?? {}
  return (
    <>
      {code !== '' && <EmojiFace realm={realm} type={type} code={code} />}
      {text !== '' && <span class="soft">{text}</span>}
    </>
  )
}
