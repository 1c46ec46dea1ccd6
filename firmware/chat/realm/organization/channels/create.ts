/** Creates channels. Contract sections 2.3, 7.2 and row E52. */

import { badRequest, forbidden } from '../../../base/error.ts'
import { CHANNEL_GROUP_SETTINGS, type ChannelGroupSetting } from '../../model/group-settings.ts'
import type { GroupValue } from '../../model/group-value.ts'
import { fold } from '../../model/names.ts'
import { realmSetting } from '../../model/read-settings.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import type { Channel, GroupSettings, User } from '../../model/records.ts'
import { atLeast, ROLES } from '../../model/roles.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import { expectFolder, publishFolderOf } from '../../objects/channel-folders.ts'
import { publishDefaultChannels } from '../../objects/default-channels.ts'
import { checkedDescription } from '../../objects/descriptions.ts'
import { renderDescription } from '../../objects/rendering.ts'
import { publishCreation } from '../../objects/visibility-events.ts'
import { viewersOf } from '../../permissions/channel-find.ts'
import { expectGroupValue } from '../../permissions/group-check.ts'
import { mayInRealm } from '../../permissions/group-rights.ts'

const CHANNEL_NAME_CHARACTERS_MAX = 60

export interface NewChannelSettings {
  isPrivate: boolean
  isWebPublic: boolean
  isDefault: boolean
  historyPublicToSubscribers: boolean | undefined
  /** In days. Null: the organization's setting; -1: unlimited. */
  messageRetentionDays: number | null | undefined
  topicsPolicy: Channel['topicsPolicy'] | undefined
  folderId: number | null
  groups: Partial<Record<ChannelGroupSetting, GroupValue>>
}

/** Throws `BAD_REQUEST` for invalid settings and a name that is taken, or an error if the creator lacks a right. */
export function createChannel(
  realm: Realm,
  tx: Transaction,
  creator: User,
  { name, description }: { name: string; description: string },
  settings: NewChannelSettings,
): Channel {
  expectMayCreate(realm, creator, settings)
  const channel: Channel = {
    id: tx.nextId('channel'),
    recipientId: tx.nextId('recipient'),
    name: checkedChannelName(name),
    description: checkedChannelDescription(description),
    renderedDescription: renderDescription(realm, checkedChannelDescription(description)),
    dateCreated: nowOf(realm),
    creatorId: creator.id,
    isPrivate: settings.isPrivate,
    isWebPublic: settings.isWebPublic,
    historyPublicToSubscribers: settings.historyPublicToSubscribers ?? !settings.isPrivate,
    isArchived: false,
    messageRetentionDays: settings.messageRetentionDays ?? null,
    topicsPolicy: settings.topicsPolicy ?? 'inherit',
    folderId: settings.folderId,
    firstMessageId: null,
    isDefault: settings.isDefault,
    groupSettings: settings.groups as GroupSettings,
  }
  if (realm.state.channelByName.get(fold(channel.name)) !== undefined)
    throw badRequest(`Channel '${channel.name}' already exists`)
  tx.put('channel', channel)
  const viewers = viewersOf(realm, channel)
  publishFolderOf(realm, tx, channel, viewers)
  publishCreation(realm, tx, channel, viewers)
  if (channel.isDefault) publishDefaultChannels(realm, tx)
  return channel
}

function expectMayCreate(realm: Realm, creator: User, settings: NewChannelSettings): void {
  const { isPrivate, isWebPublic, isDefault, historyPublicToSubscribers, groups } = settings
  const isAdministrator = atLeast(creator.role, ROLES.administrator)
  if (isPrivate && isWebPublic) throw badRequest('A private channel cannot be web-public')
  if (isPrivate && isDefault) throw badRequest('A default channel cannot be private.')
  if (!isPrivate && historyPublicToSubscribers === false)
    throw badRequest('Only private channels can have protected history')
  if (isWebPublic && !realmSetting(organizationOf(realm.state), 'enable_spectator_access'))
    throw badRequest('Web-public channels are not enabled.')
  const kind = isPrivate ? 'private' : isWebPublic ? 'web_public' : 'public'
  if (!mayInRealm(realm, `can_create_${kind}_channel_group`, creator)) throw forbidden('Insufficient permission')
  if (isDefault && !isAdministrator) throw forbidden('Insufficient permission')
  if (settings.messageRetentionDays !== undefined && creator.role !== ROLES.owner)
    throw forbidden('Must be an organization owner')
  if (settings.topicsPolicy !== undefined && !mayInRealm(realm, 'can_set_topics_policy_group', creator))
    throw forbidden('Insufficient permission')
  if (settings.folderId !== null) expectFolder(realm, settings.folderId)
  if (groups.can_delete_any_message_group !== undefined || groups.can_delete_own_message_group !== undefined) {
    if (!mayInRealm(realm, 'can_set_delete_message_policy_group', creator)) throw forbidden('Insufficient permission')
  }
  for (const [name, value] of Object.entries(groups))
    expectGroupValue(realm, name, CHANNEL_GROUP_SETTINGS[name as ChannelGroupSetting], value)
}

/** Trims. Throws `BAD_REQUEST`. */
export function checkedChannelName(input: string): string {
  const name = input.trim()
  if (name === '') throw badRequest("Channel name can't be empty.")
  if ([...name].length > CHANNEL_NAME_CHARACTERS_MAX)
    throw badRequest(`Channel name too long (limit: ${CHANNEL_NAME_CHARACTERS_MAX} characters).`)
  return name
}

/** On a single line: clients show it next to the name. Throws `BAD_REQUEST`. */
export const checkedChannelDescription = (input: string): string =>
  checkedDescription(input.trim().replace(/\s*\n\s*/g, ' '))
