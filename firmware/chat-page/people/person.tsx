/** Profile of one account. Administrators change it here. */

import type { ComponentChildren } from 'preact'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { addressOfArea, directWith } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { isAdministrator, isMember } from '../model/rights.ts'
import type { Participant } from '../model/types.ts'
import { channelName, lastActive, linkTo, linkToChannel, personName } from '../names.ts'
import { attempt } from '../problems.ts'
import { type DefinedField, type ProfileValues, shownValue } from '../settings/profile-fields.ts'
import type { AreaProps } from '../views/area.tsx'
import { EmojiFace } from '../views/emoji-picker.tsx'
import { ViewTitle } from '../views/frame.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Face, PresenceMark } from '../views/parts.tsx'
import { Problem } from '../views/problem.tsx'
import { dayShort, timeIn } from '../words/format.ts'
import { wordFor, words } from '../words/words.ts'
import { AccountActions } from './account-actions.tsx'

interface Details {
  user: Participant & { profile_data?: ProfileValues }
  fields: readonly DefinedField[]
  channels: readonly number[]
}

async function readDetails(realm: RealmView, id: number, signal: AbortSignal): Promise<Details> {
  const options = { signal }
  const values = { include_custom_profile_fields: true, client_gravatar: false }
  const [{ user }, { custom_fields: fields }, channels] = await Promise.all([
    call<{ user: Details['user'] }>('GET', `/users/${id}`, values, options),
    call<{ custom_fields: DefinedField[] }>('GET', '/realm/profile_fields', {}, options),
    isMember(realm)
      ? call<{ subscribed_channel_ids: number[] }>('GET', `/users/${id}/channels`, {}, options)
      : { subscribed_channel_ids: [] },
  ])
  return { user, fields, channels: channels.subscribed_channel_ids }
}

export function PersonView({ realm, path }: AreaProps) {
  const id = Number(path[0])
  const { value, failure, load } = useLoaded((signal) => readDetails(realm, id, signal))
  const known = realm.people.get(id)
  const person = value.value === null ? known : { ...value.value.user, ...known }
  if (person === undefined)
    return (
      <div class="view">
        <ViewTitle title={words.unknownPerson} />
        <Problem error={failure.value} />
      </div>
    )
  const isActive = (value.value?.user.is_active ?? person.is_active) !== false
  return (
    <div class="view">
      <ViewTitle title={person.full_name} />
      <Problem error={failure.value} />
      <section class="form">
        <div class="profile">
          <Face person={person} size="huge" />
          <div class="stack">
            <p class="row">
              {!person.is_bot && <span class="tag">{wordFor(words.roles, person.role ?? 0)}</span>}
              {person.is_bot && <span class="tag">{words.bot}</span>}
              {!isActive && <span class="tag">{words.deactivated}</span>}
            </p>
            <LastActive realm={realm} id={id} />
            <Status realm={realm} id={id} />
            <div class="row">
              {isActive && (
                <a class="button" href={linkTo(realm, directWith([id], realm.ownId))}>
                  {id === realm.ownId ? words.notes : words.writeMessage}
                </a>
              )}
              {id === realm.ownId ? (
                <a class="button" href={addressOfArea('settings', 'profile')}>
                  {words.settings}
                </a>
              ) : (
                <MuteButton realm={realm} id={id} />
              )}
            </div>
          </div>
        </div>
        <Facts realm={realm} person={person} details={value.value} />
      </section>
      {isAdministrator(realm) && (
        <AccountActions realm={realm} person={{ ...person, is_active: isActive }} changed={() => void load()} />
      )}
    </div>
  )
}

function LastActive({ realm, id }: { realm: RealmView; id: number }) {
  const text = lastActive(realm, id)
  if (text === null) return null
  return (
    <p class="row soft">
      <PresenceMark realm={realm} id={id} />
      {text}
    </p>
  )
}

function Status({ realm, id }: { realm: RealmView; id: number }) {
  const { emoji_code: code = '', reaction_type: type = '', status_text: text = '' } = realm.statuses.get(id) ?? {}
  if (code === '' && text === '') return null
  return (
    <p>
      {code !== '' && <EmojiFace realm={realm} type={type} code={code} />} {text}
    </p>
  )
}

function MuteButton({ realm, id }: { realm: RealmView; id: number }) {
  const isMuted = realm.mutedUsers.has(id)
  const change = () => attempt(call(isMuted ? 'DELETE' : 'POST', `/users/me/muted_users/${id}`))
  return <Action onClick={() => void change()}>{isMuted ? words.unmute : words.mute}</Action>
}

function Facts({ realm, person, details }: { realm: RealmView; person: Participant; details: Details | null }) {
  const { delivery_email: email, timezone, date_joined: joined, bot_owner_id: owner } = person
  const own = details?.user.profile_data ?? {}
  const channels = details?.channels ?? []
  const rows: [string, ComponentChildren][] = [
    [words.email, email ?? null],
    [words.localTime, timezone ? timeIn(new Date(), timezone) : null],
    [words.memberSince, joined ? dayShort(new Date(joined)) : null],
    [words.owner, owner ? <a href={addressOfArea('user', owner)}>{personName(realm, owner)}</a> : null],
    ...(details?.fields ?? []).map((field): [string, ComponentChildren] => {
      const value = own[field.id]?.value
      return [field.name, value === undefined ? null : shownValue(field, value, (id) => personName(realm, id))]
    }),
    [
      words.channels,
      channels.length > 0 ? (
        <ul class="tags">
          {channels.map((id) => (
            <li key={id}>
              <a href={linkToChannel(realm, id)}>{channelName(realm, id)}</a>
            </li>
          ))}
        </ul>
      ) : null,
    ],
  ]
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== null)
        .map(([label, value]) => (
          <>
            <dt>{label}</dt>
            <dd dir="auto">{value}</dd>
          </>
        ))}
    </dl>
  )
}
