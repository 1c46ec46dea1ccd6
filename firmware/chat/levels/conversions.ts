/** Conversions that rules of changes.ts use where more than a name has changed. */

import { badRequest, ChatError } from '../base/error.ts'
import { NarrowError } from '../narrow/terms.ts'
import { REALM_GROUP_SETTINGS, type RealmGroupSetting } from '../realm/model/group-settings.ts'
import { groupsOf } from '../realm/model/groups-of-realm.ts'
import type { Realm } from '../realm/model/realm.ts'
import { LEGACY_NOTIFICATION_SETTINGS } from '../realm/model/user-settings.ts'
import { CREATE_POLICY, type Policy, policyOf, WILDCARD_MENTION_POLICY } from '../realm/permissions/group-policies.ts'
import { realmGroupValue, systemGroupId } from '../realm/permissions/group-rights.ts'
import type { EventContext, Json, ReadRequest } from './rules.ts'

/** Converts `https://example.com/{id}` to `https://example.com/%(id)s`. Other template expressions stay. */
export const formatString = (template: string): string => template.replaceAll('%', '%%').replace(/\{(\w+)\}/g, '%($1)s')

export const urlTemplate = (format: string): string => format.replace(/%\((\w+)\)s/g, '{$1}').replaceAll('%%', '%')

const TOPIC_POLICY: Policy = [...CREATE_POLICY.filter(([, number]) => number !== 7), ['role:everyone', 5]]

export const createPolicyOf = (realm: Realm, name: RealmGroupSetting): number => policy(realm, WITHOUT_OWNERS, name)
const WITHOUT_OWNERS = CREATE_POLICY.filter(([, number]) => number !== 7) // added later
export const topicPolicyOf = (realm: Realm, name: RealmGroupSetting): number => policy(realm, TOPIC_POLICY, name)

/** Number of the narrowest group that contains all users who may use wildcard mentions. */
export const wildcardPolicyOf = (realm: Realm): number =>
  policy(realm, WILDCARD_MENTION_POLICY, 'can_mention_many_users_group')

function policy(realm: Realm, numbers: Policy, name: RealmGroupSetting): number {
  const people = [...realm.state.user.all()].filter(({ isActive, isSystemBot }) => isActive && !isSystemBot)
  return policyOf(numbers, groupsOf(realm), REALM_GROUP_SETTINGS[name], realmGroupValue(realm, name), people)
}

/** Converts `wildcard_mention_policy` into an update of the group setting. Throws `BAD_REQUEST`. */
export function wildcardGroup(raw: string, realm: Realm): string {
  const known = WILDCARD_MENTION_POLICY.find(([, number]) => String(number) === raw)
  if (known === undefined) throw badRequest('Invalid wildcard_mention_policy')
  return JSON.stringify({ new: systemGroupId(realm, known[0]) })
}

/** Adds the legacy event for clients without `user_settings_object`: contract V62. */
export function legacySetting(event: Json, { realm, shape, to }: EventContext): Json[] {
  const [userId] = to === 'everyone' ? [] : to
  const user = userId === undefined ? undefined : realm.state.user.get(userId)
  if (shape.can.user_settings_object || user === undefined) return [event]
  const { property, value, language_name } = event
  const isNotification =
    (LEGACY_NOTIFICATION_SETTINGS as readonly string[]).includes(property) || property.startsWith('enable_')
  const legacy = isNotification
    ? { type: 'update_global_notifications', user: user.email, notification_name: property, setting: value }
    : { type: 'update_display_settings', user: user.email, setting_name: property, setting: value }
  return [event, { ...legacy, ...(language_name !== undefined && { language_name }) }]
}

const NEW_WORDS = new Set(['dm', 'dm-including'])

/** Throws `BAD_NARROW` for operators and operands that came with level 177. Malformed JSON is left to the endpoint. */
export const refuseNewNarrow: ReadRequest = (values) => {
  const terms = parsed(values.get('narrow'))
  if (!Array.isArray(terms)) return
  for (const term of terms) {
    const [operator, operand] = Array.isArray(term) ? term : [term?.operator, term?.operand]
    if (NEW_WORDS.has(operator)) throw new NarrowError(`unknown ${operator} operator`)
    if (operator === 'is' && operand === 'dm') throw new NarrowError('invalid operand of is')
  }
}

/** Sets a client capability: always if `value` is true, otherwise only if the client sends it. */
export const capability =
  (name: string, value: boolean): ReadRequest =>
  (values) => {
    const input = parsed(values.get('client_capabilities') ?? '{"notification_settings_null":false}')
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return
    if (value || name in input) values.set('client_capabilities', JSON.stringify({ ...input, [name]: value }))
  }

/** Removes an event type that the level does not know from the requested types, and with it its register section. */
export const unlisted =
  (type: string): ReadRequest =>
  (values) => {
    for (const name of ['event_types', 'fetch_event_types']) {
      const input = parsed(values.get(name))
      if (Array.isArray(input)) values.set(name, JSON.stringify(input.filter((one) => one !== type)))
    }
  }

function parsed(text: string | undefined): Json {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}

export function timedOut(): never {
  throw new ChatError('BAD_REQUEST', 'The request has taken too long; a part of it is done')
}
