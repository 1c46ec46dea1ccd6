/** Parameters that creating and changing a channel share. Contract sections 2.3, 7.2. */

import { z } from 'zod'
import { boolean, json, jsonOrText, type Parameter } from '../pipeline/parameters.ts'
import { CHANNEL_GROUP_SETTINGS, type ChannelGroupSetting } from '../realm/model/group-settings.ts'
import { type GroupValue, type GroupValueUpdate, groupValue, groupValueUpdate } from '../realm/model/group-value.ts'
import type { Channel } from '../realm/model/records.ts'
import type { NewChannelSettings } from '../realm/organization/channels/create.ts'

const TOPICS_POLICIES = ['inherit', 'allow_empty_topic', 'disable_empty_topic', 'empty_topic_only'] as const
export const topicsPolicy = jsonOrText(z.enum(TOPICS_POLICIES))
  .where((value) => TOPICS_POLICIES.includes(value as never), `must be one of ${TOPICS_POLICIES.join(', ')}`)
  .map((value) => value as Channel['topicsPolicy'])

/** Days. Null follows the organization's setting; -1 keeps messages forever. */
export const retentionDays = jsonOrText(z.union([z.int(), z.string()]))
  .where(
    (days) => days === 'realm_default' || days === 'unlimited' || (typeof days === 'number' && days > 0),
    'must be a number of days, realm_default or unlimited',
  )
  .map((days) => (days === 'realm_default' ? null : days === 'unlimited' ? -1 : (days as number)))

export const folderId = json(z.int().nullable())

const GROUP_NAMES = Object.keys(CHANNEL_GROUP_SETTINGS) as ChannelGroupSetting[]

/** One parameter for each group setting. `can_remove_subscribers_group` also has its old name, with the suffix `_id`. */
const parametersOf = <T>(parameterOf: (name: ChannelGroupSetting) => Parameter<T | undefined>) =>
  Object.fromEntries(
    GROUP_NAMES.map((name) => [
      name,
      name === 'can_remove_subscribers_group' ? parameterOf(name).alias(`${name}_id`) : parameterOf(name),
    ]),
  ) as Record<ChannelGroupSetting, Parameter<T | undefined>>

export const groupParameters = parametersOf<GroupValue>(() => json(groupValue).optional())

/** The old name of `can_remove_subscribers_group` took a plain group id. */
const updateOrId = z.union([groupValueUpdate, z.int().transform((id): GroupValueUpdate => ({ new: id }))])

export const groupUpdateParameters = parametersOf<GroupValueUpdate>((name) =>
  json(name === 'can_remove_subscribers_group' ? updateOrId : groupValueUpdate).optional(),
)

export const givenGroups = <T>(input: Readonly<Record<ChannelGroupSetting, T | undefined>>) =>
  Object.fromEntries(
    GROUP_NAMES.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])),
  ) as Partial<Record<ChannelGroupSetting, T>>

export const newChannelParameters = {
  invite_only: boolean().default(false),
  is_web_public: boolean().default(false),
  is_default_stream: boolean().default(false),
  history_public_to_subscribers: boolean().optional(),
  message_retention_days: retentionDays.optional(),
  topics_policy: topicsPolicy.optional(),
  folder_id: folderId.default(null),
  ...groupParameters,
}

type NewChannelGiven = {
  [K in keyof typeof newChannelParameters]: (typeof newChannelParameters)[K] extends Parameter<infer T> ? T : never
}

export const newChannelSettings = (input: NewChannelGiven): NewChannelSettings => ({
  isPrivate: input.invite_only,
  isWebPublic: input.is_web_public,
  isDefault: input.is_default_stream,
  historyPublicToSubscribers: input.history_public_to_subscribers,
  messageRetentionDays: input.message_retention_days,
  topicsPolicy: input.topics_policy,
  folderId: input.folder_id,
  groups: givenGroups(input),
})

export const ORDINARY: NewChannelSettings = {
  isPrivate: false,
  isWebPublic: false,
  isDefault: false,
  historyPublicToSubscribers: undefined,
  messageRetentionDays: undefined,
  topicsPolicy: undefined,
  folderId: null,
  groups: {},
}
