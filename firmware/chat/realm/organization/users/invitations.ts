/**
 * Invitations: for one email address each, or a link that any number of people may use. Coffer sends no mail: inviters get the links and
 * pass them on. Contract sections 2.5 and 3.8, V13.
 */

import { badRequest, ChatError, forbidden, invalidParameter } from '../../../base/error.ts'
import { noticePerson } from '../../messages/notices.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import { BOUNDS } from '../../model/record-bounds.ts'
import type { Invitation, User } from '../../model/records.ts'
import { atLeast, ROLES, type Role } from '../../model/roles.ts'
import { openText, sealText } from '../../model/secrets.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import { address, addressKey } from '../../model/user-names.ts'
import { hashOf, randomKey } from '../../objects/keys.ts'
import { findChannel } from '../../permissions/channel-find.ts'
import { canAddSubscribers } from '../../permissions/channel-rights.ts'
import { mayInRealm } from '../../permissions/group-rights.ts'
import { isReserved } from '../../permissions/user-addresses.ts'
import { refusalOf } from '../settings/domains.ts'
import { expectMayAddTo } from './invitation-groups.ts'

const OPEN_MAX = BOUNDS.invitation.organization
const LINKS_OF_MESSAGE_MAX = 25 // each line has an address and a link; a message has at most 10,000 code points
const WELCOME_CHARACTERS_MAX = 8000

interface InvitationTerms {
  /** Null: does not expire. */
  minutes: number | null
  role: Role
  channelIds: readonly number[]
  groupIds: readonly number[]
  includeDefaults: boolean
  /** Null: the organization's message; '': no message. */
  welcomeText: string | null
}

/** Throws `INVITATION_FAILED`, also if only some of the addresses were invited. `urlOfKey` makes a link. Returns the invitations. */
export function invite(
  realm: Realm,
  me: User,
  addresses: string,
  { notifyInviter, ...terms }: InvitationTerms & { notifyInviter: boolean },
  urlOfKey: (key: string) => string,
): { email: string; invite_link: string }[] {
  const { links, skipped } = realm.transaction((tx) => {
    if (!mayInvite(realm, me, false)) throw forbidden('Insufficient permission')
    const checked = checkedTerms(realm, me, terms)
    const emails = readAddresses(realm, addresses)
    const skipped = [...emails].flatMap((email) => accountProblem(realm, email) ?? [])
    if (skipped.length === emails.size) throw failed("We weren't able to invite anyone.", skipped)
    for (const [email] of skipped) emails.delete(email)
    expectRoom(realm, tx, emails.size)
    const links = [...emails].map((email) => {
      const { key } = add(realm, tx, me, { ...checked, email, notifyInviter })
      return { email, invite_link: urlOfKey(key) }
    })
    const lines = links.map(({ email, invite_link: link }) => `* ${email}: ${link}`)
    sayLinks(realm, tx, me, lines)
    publishChanged(realm, tx, me.id)
    return { links, skipped }
  })
  if (skipped.length > 0)
    throw failed('Some of those addresses already have an account. All others are invited.', skipped, true)
  return links
}

export function makeLink(realm: Realm, me: User, terms: InvitationTerms, urlOfKey: (key: string) => string): string {
  return realm.transaction((tx) => {
    if (!mayInvite(realm, me, true)) throw forbidden('Insufficient permission')
    const checked = checkedTerms(realm, me, terms)
    expectRoom(realm, tx, 1)
    const { key } = add(realm, tx, me, { ...checked, email: null, notifyInviter: false })
    publishChanged(realm, tx, me.id)
    return urlOfKey(key)
  })
}

export const invitationsFor = (realm: Realm, me: User, urlOfKey: (key: string) => string) =>
  [...realm.state.invitation.all()]
    .filter((one) => isOpen(realm, one) && (one.inviterId === me.id || atLeast(me.role, ROLES.administrator)))
    .sort((a, b) => a.id - b.id)
    .map((one) => form(realm, me, one, urlOfKey))

/** Contract section 2.5. Omits links to a role above the viewer's: the viewer could use such a link to get that role. */
const form = (realm: Realm, me: User, one: Invitation, urlOfKey: (key: string) => string) => ({
  id: one.id,
  invited_by_user_id: one.inviterId,
  invited: one.time,
  expiry_date: one.expires,
  invited_as: one.role,
  is_multiuse: one.email === null,
  ...(one.email === null
    ? { link_url: mayGive(me, one.role) ? urlOfKey(openText(realm, one.sealedKey) ?? '') : '' }
    : { email: one.email, notify_referrer_on_join: one.notifyInviter }),
})

export function revokeInvitation(realm: Realm, me: User, id: number, isMultiuse: boolean): void {
  realm.transaction((tx) => {
    const one = findManaged(realm, me, id, isMultiuse)
    tx.remove('invitation', one.id)
    publishChanged(realm, tx, one.inviterId)
  })
}

export function revokeInvitationsOf(realm: Realm, tx: Transaction, userId: number): void {
  const own = [...realm.state.invitation.all()].filter(({ inviterId }) => inviterId === userId)
  for (const { id } of own) tx.remove('invitation', id)
  if (own.length > 0) publishChanged(realm, tx, userId)
}

/** Sends the link to the caller again and restarts the invitation's lifetime. */
export function repeatInvitation(realm: Realm, me: User, id: number, urlOfKey: (key: string) => string): void {
  realm.transaction((tx) => {
    const one = findManaged(realm, me, id, false)
    expectMayGive(me, one.role)
    const time = nowOf(realm)
    tx.put('invitation', { ...one, time, expires: endOf(time, one.minutes) })
    sayLinks(realm, tx, me, [`* ${one.email}: ${urlOfKey(openText(realm, one.sealedKey) ?? '')}`])
    publishChanged(realm, tx, one.inviterId)
  })
}

/** Returns the open invitation with this key, if its inviter could still create it. */
export function findByKey(realm: Realm, key: string): Invitation | undefined {
  const one = realm.state.invitationByHash.get(hashOf(key))
  if (one === undefined || !isOpen(realm, one)) return undefined
  const inviter = realm.state.user.get(one.inviterId)
  return inviter?.isActive && mayInvite(realm, inviter, one.email === null) && mayGive(inviter, one.role)
    ? one
    : undefined
}

const mayInvite = (realm: Realm, inviter: User, isMultiuse: boolean): boolean =>
  mayInRealm(realm, isMultiuse ? 'create_multiuse_invite_group' : 'can_invite_users_group', inviter)

const mayGive = (inviter: User, role: Role): boolean => atLeast(inviter.role, role)

function expectMayGive(me: User, role: Role): void {
  if (!mayGive(me, role)) throw forbidden('Cannot invite others to a role above your own')
}

/** Returns the invitation's welcome message if the inviter may still set one. Null: the organization's message. */
export const welcomeTextOf = (inviter: User, { welcomeText }: Invitation): string | null =>
  mayWelcome(inviter) ? welcomeText : null

const mayWelcome = ({ role }: User): boolean => atLeast(role, ROLES.administrator)

/** Contract V13. */
export function publishChanged(realm: Realm, tx: Transaction, inviterId: number): void {
  const to = [...realm.state.user.all()].filter(
    ({ id, role, isActive, bot }) =>
      isActive && bot === null && (id === inviterId || atLeast(role, ROLES.administrator)),
  )
  tx.publish({ type: 'invites_changed', to: to.map(({ id }) => id), make: () => ({}) })
}

const isOpen = (realm: Realm, { expires }: Invitation): boolean => expires === null || expires > nowOf(realm)

const endOf = (time: number, minutes: number | null): number | null => (minutes === null ? null : time + minutes * 60)

function add(
  realm: Realm,
  tx: Transaction,
  me: User,
  input: InvitationTerms & Pick<Invitation, 'email' | 'notifyInviter'>,
): { key: string } {
  const key = randomKey(realm.random)
  const time = nowOf(realm)
  tx.put('invitation', {
    id: tx.nextId('invitation'),
    hash: hashOf(key),
    sealedKey: sealText(realm, key),
    inviterId: me.id,
    time,
    expires: endOf(time, input.minutes),
    ...input,
  })
  return { key }
}

function expectRoom(realm: Realm, tx: Transaction, wanted: number): void {
  for (const one of [...realm.state.invitation.all()]) if (!isOpen(realm, one)) tx.remove('invitation', one.id)
  if (realm.state.invitation.size + wanted > OPEN_MAX) throw tooMany()
}

function checkedTerms(realm: Realm, me: User, terms: InvitationTerms): InvitationTerms {
  if (terms.minutes !== null && terms.minutes <= 0)
    throw invalidParameter('invite_expires_in_minutes', 'invite_expires_in_minutes must be greater than 0')
  expectMayGive(me, terms.role)
  if (terms.welcomeText !== null) {
    if (!mayWelcome(me)) throw forbidden('Must be an organization administrator')
    if ([...terms.welcomeText].length > WELCOME_CHARACTERS_MAX)
      throw invalidParameter(
        'welcome_message_custom_text',
        `welcome_message_custom_text must have at most ${WELCOME_CHARACTERS_MAX} characters`,
      )
  }
  const channelIds = [...new Set(terms.channelIds)]
  for (const id of channelIds) {
    const channel = findChannel(realm, me, id)
    if (channel.isArchived) throw badRequest('Invalid channel ID')
    if (!canAddSubscribers(realm, me, channel))
      throw badRequest('You do not have permission to subscribe other users to channels.')
  }
  const groupIds = [...new Set(terms.groupIds)]
  for (const id of groupIds) expectMayAddTo(realm, me, id)
  return { ...terms, channelIds, groupIds }
}

/** Reads addresses, or names with an address in `<>`, separated by commas or line breaks. Throws `INVITATION_FAILED`. */
function readAddresses(realm: Realm, input: string): Set<string> {
  const texts = input
    .split(/[,\n]/)
    .map((text) => text.trim())
    .filter((text) => text !== '')
  if (texts.length === 0) throw badRequest('You must specify at least one email address.')
  if (texts.length > OPEN_MAX) throw tooMany()
  const emails = new Map<string, string>()
  const bad: Problem[] = []
  for (const text of texts) {
    const email = address(/<([^<>]*)>$/.exec(text)?.[1] ?? text)
    const refusal = email === null ? null : refusalOf(realm, email)
    if (email === null) bad.push([text, 'Invalid address.', false])
    else if (refusal !== null) bad.push([text, REFUSALS[refusal], false])
    else emails.set(addressKey(email), email)
  }
  if (bad.length > 0) throw failed('Some of it is no address, so nobody is invited.', bad)
  return new Set(emails.values())
}

const REFUSALS = {
  outside: 'Outside your domain.',
  disposable: 'Please use your real email address.',
} as const

type Problem = [email: string, why: string, isDeactivated: boolean]

function accountProblem({ state }: Realm, email: string): [Problem] | null {
  const key = addressKey(email)
  const user = state.userByDeliveryEmail.get(key) ?? state.userByEmail.get(key)
  if (isReserved(organizationOf(state), email)) return [[email, 'Reserved address.', false]]
  if (user === undefined) return null
  return [[email, user.isActive ? 'Already has an account.' : 'Account has been deactivated.', !user.isActive]]
}

const failed = (message: string, errors: readonly Problem[], isAnyoneInvited = false, isTooMany = false) =>
  new ChatError('INVITATION_FAILED', message, {
    errors,
    sent_invitations: isAnyoneInvited,
    license_limit_reached: false,
    daily_limit_reached: isTooMany,
  })

const tooMany = () => failed(`More than ${OPEN_MAX} invitations would be open.`, [], false, true)

/** Inviters manage their invitations. Administrators manage all, except that invitations to be an owner need an owner. */
function findManaged(realm: Realm, me: User, id: number, isMultiuse: boolean): Invitation {
  const one = realm.state.invitation.get(id)
  if (one === undefined || (one.email === null) !== isMultiuse || !isOpen(realm, one)) throw noSuch()
  if (one.inviterId === me.id) return one
  if (!atLeast(me.role, ROLES.administrator)) throw noSuch()
  if (one.role === ROLES.owner && !atLeast(me.role, ROLES.owner)) throw forbidden('Must be an organization owner')
  return one
}

const noSuch = () => badRequest('No such invitation')

function sayLinks(realm: Realm, tx: Transaction, me: User, lines: readonly string[]): void {
  for (let from = 0; from < lines.length; from += LINKS_OF_MESSAGE_MAX) {
    const some = lines.slice(from, from + LINKS_OF_MESSAGE_MAX).join('\n')
    noticePerson(realm, tx, me, `No mail is sent from here. Please pass on the links of your invitations:\n\n${some}`)
  }
}
