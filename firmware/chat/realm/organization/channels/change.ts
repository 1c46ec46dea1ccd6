/** Changes channels. Contract row E44, sections 7.1 and 7.2; V41 to V43, V47. */

import { badRequest, forbidden } from '../../../base/error.ts'
import { markUnreadableRead } from '../../messages/access-lost.ts'
import { asText } from '../../messages/links.ts'
import { CHANNEL_GROUP_SETTINGS, type ChannelGroupSetting } from '../../model/group-settings.ts'
import { type GroupValueUpdate, sameGroupValue } from '../../model/group-value.ts'
import { fold } from '../../model/names.ts'
import { realmSetting } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import type { Channel, User } from '../../model/records.ts'
import { atLeast, ROLES } from '../../model/roles.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import { expectFolder, publishFolderOf } from '../../objects/channel-folders.ts'
import { channelView } from '../../objects/channel-view.ts'
import { publishDefaultChannels } from '../../objects/default-channels.ts'
import { renderDescription } from '../../objects/rendering.ts'
import { trackVisibility } from '../../objects/visibility-events.ts'
import { viewersOf } from '../../permissions/channel-find.ts'
import { canRead, readsTest } from '../../permissions/channel-rights.ts'
import { channelGroupValues, mayInRealm } from '../../permissions/group-rights.ts'
import { updatedGroupValues } from '../../permissions/group-update.ts'
import { archive, findAdministered, unarchive } from './archive.ts'
import { checkedChannelDescription, checkedChannelName } from './create.ts'
import { noticeChannelEvent, silently } from './notices.ts'

/** Undefined members stay unchanged. */
interface ChannelChanges {
  name: string | undefined
  description: string | undefined
  isPrivate: boolean | undefined
  isWebPublic: boolean | undefined
  historyPublicToSubscribers: boolean | undefined
  isDefault: boolean | undefined
  isArchived: boolean | undefined
  messageRetentionDays: number | null | undefined
  topicsPolicy: Channel['topicsPolicy'] | undefined
  folderId: number | null | undefined
  groups: Partial<Record<ChannelGroupSetting, GroupValueUpdate>>
}

export function changeChannel(realm: Realm, me: User, id: number, changes: ChannelChanges): void {
  realm.transaction((tx) => {
    const found = findAdministered(realm, me, id)
    if (changes.isArchived === false) unarchive(realm, tx, me, found)
    const before = realm.state.channel.require(id)
    put(realm, tx, before, changed(realm, me, before, changes))
    noticeChanges(realm, tx, me, before, realm.state.channel.require(id))
    if (changes.isArchived === true) archive(realm, tx, found)
  })
}

function changed(realm: Realm, me: User, before: Channel, changes: ChannelChanges): Channel {
  const access = changedAccess(realm, me, before, changes)
  const groups = changedGroups(realm, me, before, changes.groups)
  const { name, description, messageRetentionDays, topicsPolicy, folderId, isDefault = before.isDefault } = changes
  if (isDefault !== before.isDefault && !atLeast(me.role, ROLES.administrator))
    throw forbidden('Insufficient permission')
  if (isDefault && access.isPrivate) throw badRequest('A default channel cannot be private.')
  if (isDefault && before.isArchived) throw badRequest('Archived channels cannot be made default.')
  if (messageRetentionDays !== undefined && me.role !== ROLES.owner) throw forbidden('Must be an organization owner')
  if (topicsPolicy !== undefined) expectTopicsPolicy(realm, me, before, topicsPolicy)
  if (folderId !== undefined && folderId !== null && folderId !== before.folderId) expectFolder(realm, folderId)
  return {
    ...before,
    ...access,
    ...(name !== undefined && { name: freeName(realm, before, name) }),
    ...(description !== undefined && describe(realm, before, description)),
    ...(messageRetentionDays !== undefined && { messageRetentionDays }),
    ...(topicsPolicy !== undefined && { topicsPolicy }),
    ...(folderId !== undefined && { folderId }),
    isDefault,
    groupSettings: { ...before.groupSettings, ...groups },
  }
}

type ChannelAccess = Pick<Channel, 'isPrivate' | 'isWebPublic' | 'historyPublicToSubscribers'>

/**
 * A change of privacy needs the right to create a channel of the new kind. A channel that becomes private gets protected history, as a new
 * one does, unless the request says otherwise.
 */
function changedAccess(realm: Realm, me: User, before: Channel, changes: ChannelChanges): ChannelAccess {
  const { isPrivate = before.isPrivate, isWebPublic = before.isWebPublic && !isPrivate } = changes
  const isOther = isPrivate !== before.isPrivate
  const { historyPublicToSubscribers = isOther ? !isPrivate : before.historyPublicToSubscribers } = changes
  if (isPrivate && isWebPublic) throw badRequest('A private channel cannot be web-public')
  if (!isPrivate && !historyPublicToSubscribers) throw badRequest('Only private channels can have protected history')
  if (isOther && !mayInRealm(realm, `can_create_${isPrivate ? 'private' : 'public'}_channel_group`, me))
    throw forbidden('Insufficient permission')
  if (isWebPublic && !before.isWebPublic) {
    if (!realmSetting(organizationOf(realm.state), 'enable_spectator_access'))
      throw badRequest('Web-public channels are not enabled.')
    if (!mayInRealm(realm, 'can_create_web_public_channel_group', me)) throw forbidden('Insufficient permission')
  }
  const access = { isPrivate, isWebPublic, historyPublicToSubscribers }
  if (isSameAccess(access, before)) return access
  expectContentAccess(realm, me, before)
  if (!isPrivate && isForReports(realm, before)) throw badRequest('Moderation request channel must be private.')
  return access
}

const isForReports = (realm: Realm, { id }: Channel): boolean =>
  realmSetting(organizationOf(realm.state), 'moderation_request_channel_id') === id

const isSameAccess = (a: ChannelAccess, b: ChannelAccess): boolean =>
  a.isPrivate === b.isPrivate &&
  a.isWebPublic === b.isWebPublic &&
  a.historyPublicToSubscribers === b.historyPublicToSubscribers

function changedGroups(realm: Realm, me: User, channel: Channel, updates: ChannelChanges['groups']) {
  const names = Object.keys(updates)
  if (names.length > 0) expectContentAccess(realm, me, channel)
  if (names.some((name) => name.startsWith('can_delete_'))) {
    if (!mayInRealm(realm, 'can_set_delete_message_policy_group', me)) throw forbidden('Insufficient permission')
  }
  return updatedGroupValues(realm, CHANNEL_GROUP_SETTINGS, channelGroupValues(realm, channel), updates)
}

/** Keeps channel administrators from giving others access to messages that they may not read themselves. */
function expectContentAccess(realm: Realm, me: User, channel: Channel): void {
  if (!canRead(realm, me, channel)) throw badRequest('Channel content access is required.')
}

function expectTopicsPolicy(realm: Realm, me: User, channel: Channel, policy: Channel['topicsPolicy']): void {
  if (!mayInRealm(realm, 'can_set_topics_policy_group', me)) throw forbidden('Insufficient permission')
  if (policy !== 'empty_topic_only' || channel.topicsPolicy === policy) return
  if (realm.store.topics.list(channel.recipientId).some(({ name }) => name !== ''))
    throw badRequest("Only channels whose messages are all in the 'general chat' topic can have this policy")
}

function freeName(realm: Realm, channel: Channel, input: string): string {
  const name = checkedChannelName(input)
  const known = realm.state.channelByName.get(fold(name))
  if (known !== undefined && known.id !== channel.id) throw badRequest('Channel name already in use.')
  return name
}

function describe(realm: Realm, before: Channel, input: string): Pick<Channel, 'description' | 'renderedDescription'> {
  const description = checkedChannelDescription(input)
  const isSame = description === before.description // the stored HTML has the links of that time
  return {
    description,
    renderedDescription: isSame ? before.renderedDescription : renderDescription(realm, description),
  }
}

function put(realm: Realm, tx: Transaction, before: Channel, after: Channel): void {
  const to = isSeenAlike(realm, before, after) ? putPlain(realm, tx, after) : putWithSight(realm, tx, before, after)
  if (after.folderId !== before.folderId) publishFolderOf(realm, tx, after, to)
  for (const change of changesBetween(realm, before, after))
    tx.publish({
      type: 'stream',
      to,
      make: ({ can }) =>
        after.isArchived && !can.archived_channels
          ? null
          : { op: 'update', stream_id: after.id, name: before.name, ...change },
    })
  if (after.isDefault !== before.isDefault) publishDefaultChannels(realm, tx)
}

/** True if the same users can see and read the channel: that depends only on its access and its group settings. */
const isSeenAlike = (realm: Realm, before: Channel, after: Channel): boolean =>
  isSameAccess(before, after) && changedGroupNames(realm, before, after).length === 0

/** Returns the recipients of the change events, as does `putWithSight`. */
function putPlain(realm: Realm, tx: Transaction, after: Channel): number[] {
  tx.put('channel', after)
  return viewersOf(realm, after)
}

/** Users who gain access get the complete channel, users who lose it get its deletion. The others are returned. */
function putWithSight(realm: Realm, tx: Transaction, before: Channel, after: Channel): number[] {
  const people = [...realm.state.user.all()].filter(({ isActive }) => isActive)
  const publishSight = trackVisibility(
    realm,
    people.map(({ id }) => id),
    [before],
  )
  const knowing = new Set(viewersOf(realm, before))
  const [couldRead, canStillRead] = [readsTest(realm, before), readsTest(realm, after)]
  const losing = people.filter((user) => couldRead(user) && !canStillRead(user))
  tx.put('channel', after)
  for (const user of losing)
    if (realm.store.flags.historyOf(user.id).length > 0) markUnreadableRead(realm, tx, user, [after])
  publishSight(tx, before.isPrivate && !after.isPrivate ? { cause: 'made_public' } : {})
  return viewersOf(realm, after).filter((id) => knowing.has(id))
}

function changedGroupNames(realm: Realm, before: Channel, after: Channel): ChannelGroupSetting[] {
  const [old, now] = [channelGroupValues(realm, before), channelGroupValues(realm, after)]
  return (Object.keys(now) as ChannelGroupSetting[]).filter((name) => !sameGroupValue(old[name], now[name]))
}

interface PropertyChange {
  property: string
  value: unknown
  rendered_description?: string
  history_public_to_subscribers?: boolean
  is_web_public?: boolean
}

const PLAIN = {
  name: 'name',
  message_retention_days: 'messageRetentionDays',
  topics_policy: 'topicsPolicy',
  folder_id: 'folderId',
} as const satisfies Record<string, keyof Channel>

/** Deprecated properties derived from group settings: published together with them. */
const DERIVED = ['can_remove_subscribers_group_id', 'stream_post_policy', 'is_announcement_only'] as const

function* changesBetween(realm: Realm, before: Channel, after: Channel): Generator<PropertyChange> {
  for (const [property, name] of Object.entries(PLAIN))
    if (after[name] !== before[name]) yield { property, value: after[name] }
  if (after.description !== before.description)
    yield { property: 'description', value: after.description, rendered_description: after.renderedDescription }
  if (!isSameAccess(after, before)) {
    const { isPrivate, historyPublicToSubscribers, isWebPublic } = after
    const others = { history_public_to_subscribers: historyPublicToSubscribers, is_web_public: isWebPublic }
    yield { property: 'invite_only', value: isPrivate, ...others }
  }
  const changed = changedGroupNames(realm, before, after)
  const now = channelGroupValues(realm, after)
  for (const property of changed) yield { property, value: now[property] }
  if (changed.length === 0) return
  const [oldView, view] = [channelView(realm, before), channelView(realm, after)]
  for (const property of DERIVED)
    if (view[property] !== undefined && view[property] !== oldView[property]) yield { property, value: view[property] }
}

function noticeChanges(realm: Realm, tx: Transaction, me: User, before: Channel, after: Channel): void {
  const notice = (text: string) =>
    noticeChannelEvent(realm, tx, realm.state.channel.require(after.id), `${silently(me)} ${text}`)
  if (after.name !== before.name) notice(`renamed channel **${asText(before.name)}** to **${asText(after.name)}**.`)
  if (after.description !== before.description)
    notice(
      `changed the description for this channel.\n\n* **Old description:**\n${quoted(before.description)}` +
        `\n* **New description:**\n${quoted(after.description)}`,
    )
  if (!isSameAccess(after, before))
    notice(
      `changed the access permissions for this channel from **${accessName(before)}** to **${accessName(after)}**.`,
    )
}

const quoted = (text: string): string => `\`\`\`\`\` quote\n${text === '' ? '*No description.*' : text}\n\`\`\`\`\``

function accessName({ isPrivate, isWebPublic, historyPublicToSubscribers }: ChannelAccess): string {
  if (!isPrivate) return isWebPublic ? 'Web-public' : 'Public'
  return historyPublicToSubscribers ? 'Private, shared history' : 'Private, protected history'
}
