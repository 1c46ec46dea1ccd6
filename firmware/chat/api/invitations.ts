/** Invitations, and accepting them. Contract section 3.8, rows E125 to E129 and E143. */

import { z } from 'zod'
import type { Exchange } from '../../http/server/exchange.ts'
import { boolean, integer, integers, json, prose, text } from '../pipeline/parameters.ts'
import { urlOf } from '../realm/model/organization-url.ts'
import type { Realm } from '../realm/model/realm.ts'
import { isRole, ROLES } from '../realm/model/roles.ts'
import { organizationOf } from '../realm/model/state.ts'
import {
  invitationsFor,
  invite,
  makeLink,
  repeatInvitation,
  revokeInvitation,
} from '../realm/organization/users/invitations.ts'
import { expectInvitation, join } from '../realm/organization/users/join.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'

const DEFAULT_MINUTES = 14_400 // ten days; contract section 9
const MINUTES_MAX = 100 * 366 * 1440 // keeps the time of expiry in a sensible range

const invitationSegment = { invite_id: integer() }

const terms = {
  invite_expires_in_minutes: json(z.int().max(MINUTES_MAX).nullable()).default(DEFAULT_MINUTES),
  invite_as: integer().where(isRole, 'must be 100, 200, 300, 400 or 600').default(ROLES.member),
  group_ids: integers().default([]),
  include_realm_default_subscriptions: boolean().default(false),
  welcome_message_custom_text: prose().optional(),
}

interface GivenTerms {
  invite_expires_in_minutes: number | null
  invite_as: number
  stream_ids: number[]
  group_ids: number[]
  include_realm_default_subscriptions: boolean
  welcome_message_custom_text: string | undefined
}

const termsOf = (input: GivenTerms) => ({
  minutes: input.invite_expires_in_minutes,
  role: isRole(input.invite_as) ? input.invite_as : ROLES.member,
  channelIds: input.stream_ids,
  groupIds: input.group_ids,
  includeDefaults: input.include_realm_default_subscriptions,
  welcomeText: input.welcome_message_custom_text ?? null,
})

/** The key stands behind the `#` of the sign-up page, where browsers do not send it to a server. Zulip has `/join/` as well. */
const linksOf = ({ realm, exchange }: { realm: Realm; exchange: Exchange }) => {
  const url = urlOf(organizationOf(realm.state), exchange.header('host'))
  return (key: string): string => `${url}/join/#${key}/`
}

export const invitationDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/invites',
    who: 'human',
    handle: (request) => ({ invites: invitationsFor(request.realm, request.me, linksOf(request)) }),
  }),
  declare({
    method: 'POST',
    path: '/invites',
    who: 'human',
    audit: { facts: ['invite_as'] },
    parameters: {
      invitee_emails: text(),
      ...terms,
      stream_ids: integers(),
      notify_referrer_on_join: boolean().default(true),
    },
    handle: (request) => {
      const { realm, me, input } = request
      const all = { ...termsOf(input), notifyInviter: input.notify_referrer_on_join }
      return { invite_links: invite(realm, me, input.invitee_emails, all, linksOf(request)) }
    },
  }),
  declare({
    method: 'POST',
    path: '/invites/multiuse',
    who: 'human',
    audit: { facts: ['invite_as'] },
    parameters: { ...terms, stream_ids: integers().default([]) },
    handle: (request) => ({
      invite_link: makeLink(request.realm, request.me, termsOf(request.input), linksOf(request)),
    }),
  }),
  declare({
    method: 'DELETE',
    path: '/invites/:invite_id',
    who: 'human',
    audit: {},
    segments: invitationSegment,
    handle: ({ realm, me, path }) => {
      revokeInvitation(realm, me, path.invite_id, false)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/invites/multiuse/:invite_id',
    who: 'human',
    audit: {},
    segments: invitationSegment,
    handle: ({ realm, me, path }) => {
      revokeInvitation(realm, me, path.invite_id, true)
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/invites/:invite_id/resend',
    who: 'human',
    audit: {},
    segments: invitationSegment,
    handle: (request) => {
      repeatInvitation(request.realm, request.me, request.path.invite_id, linksOf(request))
      return {}
    },
  }),
  declareOpen({
    method: 'GET',
    path: '/join/:key',
    who: 'nobody',
    segments: { key: text() },
    handle: ({ realm, path }) => {
      const { email, role } = expectInvitation(realm, path.key)
      return { realm_name: organizationOf(realm.state).name, email, invited_as: role }
    },
  }),
  declareOpen({
    method: 'POST',
    path: '/join/:key',
    who: 'nobody',
    audit: { signsIn: { claim: null } },
    segments: { key: text() },
    parameters: { full_name: text(), password: text(), email: text().optional() },
    handle: async ({ realm, passwords, path, input, client }) => {
      const { full_name: fullName, password, email } = input
      const { user, apiKey } = await join(realm, passwords, path.key, { fullName, password, email, client })
      return { api_key: apiKey, email: user.email, user_id: user.id }
    },
  }),
]
