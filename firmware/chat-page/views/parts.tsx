import { ownMedia } from '../message/links.ts'
import { availabilityOf } from '../model/presence.ts'
import type { RealmView } from '../model/realm.ts'
import type { Participant } from '../model/types.ts'
import { words } from '../words/words.ts'

/** Avatar of a user, whose name is beside it. Pictures of other hosts are not fetched. */
export function Face({
  person,
  size = 'large',
}: {
  person: Pick<Participant, 'full_name' | 'avatar_url'> | undefined
  size?: 'small' | 'large' | 'huge'
}) {
  const src = person?.avatar_url ? ownMedia(person.avatar_url, location.origin) : null
  return src === null ? (
    <span class={`face ${size}`} aria-hidden="true">
      {person?.full_name.slice(0, 1) ?? '?'}
    </span>
  ) : (
    <img class={`face ${size}`} src={src} alt="" loading="lazy" />
  )
}

/** Mark of a user's presence, which has its width also where it shows none. */
export function PresenceMark({ realm, id }: { realm: RealmView; id: number | undefined }) {
  const person = id === undefined ? undefined : realm.people.get(id)
  const isKnown = person !== undefined && !person.is_bot && person.is_active !== false
  const availability = isKnown ? availabilityOf(realm.presences, person.user_id, Date.now()) : null
  if (availability === null) return <span class="presence" />
  if (availability === 'offline') return <span class="presence away" />
  const text = words.availabilities[availability]
  return <span class={`presence ${availability}`} role="img" aria-label={text} title={text} />
}

export function Count({ value }: { value: number }) {
  if (value === 0) return null
  return (
    <span class="count">
      <span aria-hidden="true">{value}</span>
      <span class="hidden">{words.unread(value)}</span>
    </span>
  )
}
