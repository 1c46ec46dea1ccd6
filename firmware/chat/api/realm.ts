/** Settings of the organization, and its deactivation. Contract section 3.7, rows E103, E104, E119, E124. */

import { z } from 'zod'
import { badRequest, forbidden } from '../base/error.ts'
import {
  json,
  jsonOrTextOf,
  naturalNumber,
  nullable,
  type Parameter,
  prose,
  text,
  textOf,
} from '../pipeline/parameters.ts'
import { noticePerson, welcomeBot } from '../realm/messages/notices.ts'
import { REALM_GROUP_SETTINGS } from '../realm/model/group-settings.ts'
import { groupValueUpdate } from '../realm/model/group-value.ts'
import { REALM_SETTINGS, type RealmSetting, WELCOME_CHARACTERS_MAX } from '../realm/model/realm-settings.ts'
import type { User } from '../realm/model/records.ts'
import { ROLES } from '../realm/model/roles.ts'
import { NOT_IN_REALM_DEFAULTS } from '../realm/model/user-settings.ts'
import { deactivateOrganization } from '../realm/objects/organization.ts'
import {
  changeRealmGroups,
  changeRealmSettings,
  changeUserDefaults,
  expectChannels,
  type GivenGroups,
  type GivenRealmSettings,
} from '../realm/organization/settings/change.ts'
import { type AnyDeclaration, declare } from './declare.ts'
import { settingParameters } from './settings.ts'

const changeable = Object.entries<RealmSetting>(REALM_SETTINGS).filter(([, { who }]) => who !== null)

const realmParameters: Record<string, Parameter<unknown>> = Object.fromEntries(
  changeable.map(([name, { schema, raw }]) => [name, (raw ? textOf(schema) : jsonOrTextOf(schema)).optional()]),
)
const groupParameters: Record<string, Parameter<unknown>> = Object.fromEntries(
  Object.keys(REALM_GROUP_SETTINGS).map((name) => [name, json(groupValueUpdate).optional()]),
)

/** Settings that only owners may change: columns Who of contract 2.6 and Own of 7.2. */
const OF_OWNERS: readonly string[] = [
  ...changeable.filter(([, { who }]) => who === 'owners').map(([name]) => name),
  ...Object.entries(REALM_GROUP_SETTINGS)
    .filter(([, { ownersOnly }]) => ownersOnly)
    .map(([name]) => name),
  'authentication_methods',
  'string_id',
]

const defaultParameters: Record<string, Parameter<unknown>> = Object.fromEntries(
  Object.entries(settingParameters).filter(([name]) => !(NOT_IN_REALM_DEFAULTS as readonly string[]).includes(name)),
)

const pick = (input: Readonly<Record<string, unknown>>, names: object) =>
  Object.fromEntries(Object.keys(names).map((name) => [name, input[name]]))

export const realmDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'PATCH',
    path: '/realm',
    usesReserve: true,
    who: 'administrator',
    audit: {},
    parameters: {
      ...realmParameters,
      ...groupParameters,
      authentication_methods: json(z.record(z.string(), z.boolean())).optional(),
      string_id: text().optional(),
    },
    handle: ({ realm, me, input, sent }) => {
      expectOwnerFor(me, sent)
      if (input.string_id !== undefined) throw badRequest('Must be a demo organization.')
      expectSignIn(input.authentication_methods as Record<string, boolean> | undefined)
      const settings = pick(input, realmParameters) as GivenRealmSettings
      const groups = pick(input, groupParameters) as GivenGroups
      return realm.transaction((turn) => {
        expectChannels(realm, me, settings)
        const changed = {
          ...changeRealmSettings(realm, turn, settings),
          ...changeRealmGroups(realm, turn, groups),
        }
        return Object.fromEntries(
          Object.entries(changed).map(([name, value]) => [name, typeof value === 'string' ? 'updated' : value]),
        )
      })
    },
  }),
  declare({
    method: 'PATCH',
    path: '/realm/user_settings_defaults',
    usesReserve: true,
    who: 'administrator',
    audit: {},
    parameters: defaultParameters,
    handle: ({ realm, input }) => {
      realm.transaction((turn) => changeUserDefaults(realm, turn, input as Parameters<typeof changeUserDefaults>[2]))
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/realm/test_welcome_bot_custom_message',
    who: 'administrator',
    parameters: {
      welcome_message_custom_text: prose()
        .map((input) => input.trim())
        .where((input) => input !== '', 'cannot be blank')
        .where(
          (input) => [...input].length <= WELCOME_CHARACTERS_MAX,
          `must have at most ${WELCOME_CHARACTERS_MAX} characters`,
        ),
    },
    handle: ({ realm, me, input }) => ({
      message_id: realm.transaction((turn) =>
        noticePerson(realm, turn, me, input.welcome_message_custom_text, welcomeBot(realm)),
      ),
    }),
  }),
  declare({
    method: 'POST',
    path: '/realm/deactivate',
    usesReserve: true,
    who: 'owner',
    audit: {},
    parameters: { deletion_delay_days: nullable(naturalNumber()) },
    handle: ({ realm, input }) => {
      if (input.deletion_delay_days !== undefined)
        throw badRequest('Only the administrator of the server deletes the data of an organization')
      deactivateOrganization(realm)
      return {}
    },
  }),
]

function expectOwnerFor(me: User, sent: ReadonlySet<string>): void {
  if (me.role !== ROLES.owner && OF_OWNERS.some((name) => sent.has(name)))
    throw forbidden('Must be an organization owner')
}

/** Email is the only authentication method and cannot be disabled. */
function expectSignIn(methods: Record<string, boolean> | undefined): void {
  for (const [name, isEnabled] of Object.entries(methods ?? { Email: true })) {
    if (name !== 'Email') throw badRequest(`Invalid authentication method: ${name}`)
    if (!isEnabled) throw badRequest('At least one authentication method must be enabled.')
  }
}
