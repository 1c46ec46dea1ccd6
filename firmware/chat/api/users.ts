/** Accounts. Contract section 3.4, rows E67 to E75. */

import { z } from 'zod'
import { runDetached } from '../../base/request-authorization.ts'
import { badRequest, invalidParameter } from '../base/error.ts'
import { boolean, integer, integers, json, jsonOrText, prose, text } from '../pipeline/parameters.ts'
import { expectFreeBotName, reactivateBot } from '../realm/bots/bots.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { isRole, ROLES } from '../realm/model/roles.ts'
import { isBot } from '../realm/objects/bot-view.ts'
import { spectatorObject, userFor } from '../realm/objects/user-view.ts'
import { setPassword } from '../realm/objects/users.ts'
import { deactivate, reactivate } from '../realm/organization/users/activity.ts'
import {
  addPerson,
  changeAddress,
  changeName,
  changeRole,
  expectFreeName,
  expectMayDeactivate,
  expectOthers,
} from '../realm/organization/users/change.ts'
import { erase, planErasure } from '../realm/organization/users/erasing.ts'
import { changeProfile, givenValues } from '../realm/organization/users/profile-values.ts'
import { accessOf, spectatorAccess } from '../realm/permissions/user-access.ts'
import { findForSpectator, findOwnUser, findUser } from '../realm/permissions/user-find.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'
import { reader } from './spectators.ts'

const COMMENT_CHARACTERS_MAX = 2000

/** A user id or an email address. */
export const userSegment = { user_id: jsonOrText(z.int()) }

const view = {
  client_gravatar: boolean().default(true),
  include_custom_profile_fields: boolean().default(false),
}
interface GivenView {
  client_gravatar: boolean
  include_custom_profile_fields: boolean
}

const formFor = (realm: Realm, me: User | null, user: User, input: GivenView) =>
  me === null
    ? spectatorObject(realm, user)
    : userFor(realm, me, user, {
        clientGravatar: input.client_gravatar,
        includeProfileData: input.include_custom_profile_fields,
      })

/** Content that may be deleted with an account. Contract section 3.4.1. */
const ACTIONS = [
  'delete_profile',
  'delete_public_channel_messages',
  'delete_private_channel_messages',
  'delete_direct_messages',
] as const

export const userDeclarations: readonly AnyDeclaration[] = [
  declareOpen({
    method: 'GET',
    path: '/users',
    isExpensive: true,
    who: 'anyone',
    parameters: { user_ids: integers().optional(), ...view },
    handle: ({ realm, me: sender, input }) => {
      const me = reader(realm, sender)
      const wanted = input.user_ids && new Set(input.user_ids)
      const mayAccess = me === null ? spectatorAccess(realm) : accessOf(realm, me)
      const users = [...realm.state.user.all()].filter(
        (user) => !user.isSystemBot && (wanted?.has(user.id) ?? true) && mayAccess(user),
      )
      return { members: users.map((user) => formFor(realm, me, user, input)) }
    },
  }),
  declare({
    method: 'GET',
    path: '/users/me',
    who: 'account',
    handle: ({ realm, me }) => ({
      ...userFor(realm, me, me, { clientGravatar: false, includeProfileData: true }),
      max_message_id: realm.store.messages.maxId(),
    }),
  }),
  declareOpen({
    method: 'GET',
    path: '/users/:user_id', // also row E69: an address instead of the id
    who: 'anyone',
    segments: userSegment,
    parameters: view,
    handle: ({ realm, me: sender, path, input }) => {
      const me = reader(realm, sender)
      const user = me === null ? findForSpectator(realm, path.user_id) : findUser(realm, me, path.user_id)
      return { user: formFor(realm, me, user, input) }
    },
  }),
  declare({
    method: 'POST',
    path: '/users',
    who: 'administrator',
    audit: {},
    parameters: { email: text(), password: text(), full_name: text() },
    handle: async ({ realm, passwords, input }) => {
      const password = await passwords.digest(0, input.password)
      return realm.transaction((turn) => {
        expectFreeName(realm, input.full_name, null)
        const user = addPerson(realm, turn, {
          email: input.email.trim(),
          fullName: input.full_name,
          role: ROLES.member,
          isAddressTrusted: true,
          hasNeverSignedIn: true,
        })
        setPassword(turn, { ...password, userId: user.id })
        return { user_id: user.id }
      })
    },
  }),
  declare({
    method: 'PATCH',
    path: '/users/:user_id',
    usesReserve: true,
    who: 'administrator',
    audit: { facts: ['role'] },
    segments: userSegment,
    parameters: {
      full_name: text().optional(),
      role: integer().where(isRole, 'must be 100, 200, 300, 400 or 600').optional(),
      profile_data: json(givenValues).optional(),
      new_email: text().optional(),
    },
    handle: ({ realm, me, path, input }) => {
      realm.transaction((turn) => {
        let user = findOwnUser(realm, me, path.user_id)
        if (input.new_email !== undefined) {
          if (user.bot !== null) throw invalidParameter('new_email', 'The address of a bot comes from its short name')
          expectMayDeactivate(me, user) // the owner of the address may be able to sign in: row E3
          const isOwn = user.id === me.id || user.id === me.bot?.ownerId
          const address = { email: input.new_email, parameter: 'new_email', isAddressTrusted: !isOwn }
          user = changeAddress(realm, turn, user, address)
        }
        if (input.full_name !== undefined) user = changeName(realm, turn, user, input.full_name)
        if (input.profile_data !== undefined) user = changeProfile(realm, turn, me, user, input.profile_data)
        if (input.role !== undefined && isRole(input.role)) changeRole(realm, turn, me, user, input.role)
      })
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/users/:user_id',
    who: 'administrator',
    audit: {},
    segments: { user_id: integer() },
    parameters: {
      deactivation_notification_comment: prose()
        .where(
          (comment) => [...comment].length <= COMMENT_CHARACTERS_MAX,
          `must have at most ${COMMENT_CHARACTERS_MAX} characters`,
        )
        .optional(),
      actions: json(z.partialRecord(z.enum(ACTIONS), z.boolean())).default({}),
    },
    handle: async ({ realm, me, path, input }) => {
      const { actions } = input
      realm.transaction((turn) => {
        const user = expectPerson(findOwnUser(realm, me, path.user_id))
        expectMayDeactivate(me, user)
        if (user.isActive) expectOthers(realm, user)
        deactivate(realm, turn, user)
        planErasure(realm, turn, user, {
          publicMessages: actions.delete_public_channel_messages === true,
          privateMessages: actions.delete_private_channel_messages === true,
          directMessages: actions.delete_direct_messages === true,
          profile: actions.delete_profile === true,
        })
      })
      await runDetached(() => erase(realm)) // finishes even if the administrator loses the right
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/users/me',
    who: 'human',
    audit: {},
    handle: ({ realm, me }) => {
      realm.transaction((turn) => {
        expectOthers(realm, me)
        deactivate(realm, turn, me)
      })
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/users/:user_id/reactivate',
    who: 'administrator',
    audit: {},
    segments: { user_id: integer() },
    handle: ({ realm, me, path }) => {
      realm.transaction((turn) => {
        const user = findOwnUser(realm, me, path.user_id)
        expectMayDeactivate(me, user)
        if (user.isDeleted || realm.state.erasure.has(user.id)) throw badRequest('This account has been deleted')
        if (user.isActive) return
        expectFreeName(realm, user.fullName, user)
        if (isBot(user)) {
          expectFreeBotName(realm, user.fullName, user)
          reactivateBot(realm, turn, me, user)
        } else reactivate(realm, turn, user)
      })
      return {}
    },
  }),
]

/** Bots have their own endpoint, DELETE /bots. */
function expectPerson(user: User): User {
  if (user.bot !== null) throw badRequest('No such user')
  return user
}
