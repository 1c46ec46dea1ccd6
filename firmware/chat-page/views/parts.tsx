import { ownMedia } from '../message/links.ts'
import type { Participant } from '../model/types.ts'
import * as words from '../words/en.ts'

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

export function Count({ value }: { value: number }) {
  if (value === 0) return null
  return (
    <span class="count">
      <span aria-hidden="true">{value}</span>
      <span class="hidden">{words.unread(value)}</span>
    </span>
  )
}
