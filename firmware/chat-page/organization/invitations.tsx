/** Open invitations, and new ones: by e-mail address, or as a link for several people. */

import { type Signal, useSignal } from '@preact/signals'
import { Action, Field, Select, TextArea } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { noteFailure } from '../connection.ts'
import type { RealmView } from '../model/realm.ts'
import { mayInRealm } from '../model/rights.ts'
import { channelName, personName } from '../names.ts'
import { attempt } from '../problems.ts'
import { LinkBox } from '../views/link-box.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { wordFor, words } from '../words/words.ts'
import type { OrganizationProps } from './organization.tsx'

/** Contract section 2.5. */
interface Invitation {
  id: number
  invited_by_user_id: number
  expiry_date: number | null
  invited_as: number
  is_multiuse: boolean
  email?: string
  link_url?: string
}

export function InvitationsSection({ realm }: OrganizationProps) {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ invites: Invitation[] }>('GET', '/invites', {}, { signal }),
  )
  const act = async (acting: Promise<unknown>) => {
    await attempt(acting)
    await load()
  }
  return (
    <>
      <InviteForm realm={realm} changed={() => void load()} />
      <section class="form">
        <h2>{words.openInvitations}</h2>
        <Problem error={failure.value} />
        {value.value === null && !failure.value && <p class="hint">{words.loading}</p>}
        {value.value?.invites.length === 0 && <p class="soft">{words.noInvitations}</p>}
        <ul class="rows">
          {value.value?.invites.map((one) => (
            <InvitationRow key={`${one.is_multiuse} ${one.id}`} realm={realm} invitation={one} act={act} />
          ))}
        </ul>
      </section>
    </>
  )
}

function InvitationRow(props: {
  realm: RealmView
  invitation: Invitation
  act: (acting: Promise<unknown>) => Promise<void>
}) {
  const { realm, invitation, act } = props
  const { id, email = words.linkForSeveral, is_multiuse: isLink, link_url: link, expiry_date: end } = invitation
  const revoke = () => (isLink ? call('DELETE', `/invites/multiuse/${id}`) : call('DELETE', `/invites/${id}`))
  return (
    <li class="row-entry">
      <div class="what">
        <strong>{email}</strong>
        <p class="soft">
          {words.invitationAbout(
            wordFor(words.roles, invitation.invited_as) ?? '',
            personName(realm, invitation.invited_by_user_id),
            end === null ? null : new Date(end * 1000),
          )}
        </p>
        {link && <p class="id">{link}</p>}
      </div>
      <div class="row">
        {!isLink && (
          <Action
            kind="small"
            label={`${words.sendLinkAgain}: ${email}`}
            onClick={() => void act(call('POST', `/invites/${id}/resend`))}
          >
            {words.sendLinkAgain}
          </Action>
        )}
        <Action kind="small danger" label={words.revokeNamed(email)} onClick={() => void act(revoke())}>
          {words.revoke}
        </Action>
      </div>
    </li>
  )
}

const MINUTES_A_DAY = 1440
const MEMBER = '400'

function InviteForm({ realm, changed }: { realm: RealmView; changed: () => void }) {
  const ways = Object.entries(words.inviteWays).filter(([way]) =>
    mayInRealm(realm, way === 'link' ? 'create_multiuse_invite_group' : 'can_invite_users_group'),
  )
  const way = useSignal(ways[0]?.[0] ?? 'email')
  const emails = useSignal('')
  const role = useSignal(MEMBER)
  const days = useSignal('10')
  const chosen = useSignal<readonly number[]>([])
  const links = useSignal<readonly { email: string; invite_link: string }[]>([])
  const run = useRun()
  const ownRole = realm.people.get(realm.ownId)?.role ?? 0
  const roles = Object.entries(words.roles).filter(([one]) => Number(one) >= ownRole)
  const invite = async () => {
    const terms = {
      ...{ invite_as: role.value, stream_ids: chosen.value, include_realm_default_subscriptions: true },
      invite_expires_in_minutes: days.value === '' ? null : Number(days.value) * MINUTES_A_DAY,
    }
    const work = async () => {
      if (way.value === 'link') {
        const { invite_link: link } = await call<{ invite_link: string }>('POST', '/invites/multiuse', terms)
        links.value = [{ email: words.linkForSeveral, invite_link: link }]
      } else {
        const values = { ...terms, invitee_emails: emails.value }
        const { invite_links: made } = await call<{ invite_links: { email: string; invite_link: string }[] }>(
          'POST',
          '/invites',
          values,
        )
        links.value = made
        emails.value = ''
      }
    }
    if (!(await run.start(words.saving, work))) noteFailure(run.error.value)
    changed()
  }
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        if (way.value === 'link' || emails.value.trim() !== '') void invite()
      }}
    >
      <p class="soft">{words.inviteLead}</p>
      <Select label={words.inviteWay} bind={way} options={ways} />
      {way.value === 'email' && <TextArea label={words.inviteEmails} bind={emails} hint={words.inviteEmailsHint} />}
      <Select label={words.role} bind={role} options={roles} />
      <Field label={words.inviteDays} bind={days} type="number" min={1} hint={words.inviteDaysHint} />
      <ChannelChoices realm={realm} chosen={chosen} />
      <Problem error={run.error.value} />
      <div>
        <Action submit kind="primary" busy={run.busy.value}>
          {words.invite}
        </Action>
      </div>
      {links.value.map(({ email, invite_link: link }) => (
        <div class="stack" key={link}>
          <strong>{email}</strong>
          <LinkBox label={email} link={link} />
        </div>
      ))}
    </form>
  )
}

function ChannelChoices({ realm, chosen }: { realm: RealmView; chosen: Signal<readonly number[]> }) {
  const ids = [...realm.channels.keys()].sort((a, b) => channelName(realm, a).localeCompare(channelName(realm, b)))
  if (ids.length === 0) return null
  return (
    <fieldset>
      <legend>{words.channels}</legend>
      <div class="choices">
        {ids.map((id) => (
          <label key={id} class="choice">
            <input
              type="checkbox"
              checked={chosen.value.includes(id)}
              onChange={({ currentTarget: box }) => {
                const others = chosen.value.filter((one) => one !== id)
                chosen.value = box.checked ? [...others, id] : others
              }}
            />
            {channelName(realm, id)}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
