/** Default channel groups, which new members may choose. Contract section 2.5, row E62, V7, realm_default_stream_groups. */

import { badRequest } from '../../base/error.ts'
import { fold } from '../model/names.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, DefaultChannelGroup, User } from '../model/records.ts'
import { ROLES } from '../model/roles.ts'
import type { Transaction } from '../model/transaction.ts'
import { findChannelByName } from '../permissions/channel-find.ts'
import { checkedDescription } from './descriptions.ts'

const NAME_CHARACTERS_MAX = 60

export const defaultGroupViews = (realm: Realm) =>
  [...realm.state.defaultChannelGroup.all()]
    .sort((a, b) => a.id - b.id)
    .map(({ id, name, description, channelIds }) => ({ id, name, description, streams: channelIds }))

interface NewDefaultGroup {
  name: string
  description: string
  channelNames: readonly string[]
}

export function createDefaultGroup(realm: Realm, me: User, input: NewDefaultGroup): void {
  realm.transaction((tx) => {
    const name = checkedName(realm, input.name)
    const channelIds = findChannels(realm, me, input.channelNames).map((channel) => expectEligible(channel, name).id)
    const description = checkedDescription(input.description)
    put(realm, tx, { id: tx.nextId('defaultChannelGroup'), name, description, channelIds })
  })
}

export function changeDefaultGroup(
  realm: Realm,
  id: number,
  { name, description }: { name: string | undefined; description: string | undefined },
): void {
  if (name === undefined && description === undefined)
    throw badRequest('You must pass "new_description" or "new_group_name".')
  realm.transaction((tx) => {
    const group = findGroup(realm, id)
    if (name?.trim() === group.name) throw badRequest(`This default channel group is already named '${group.name}'`)
    put(realm, tx, {
      ...group,
      ...(name !== undefined && { name: checkedName(realm, name, id) }),
      ...(description !== undefined && { description: checkedDescription(description) }),
    })
  })
}

export function changeChannelsOfGroup(
  realm: Realm,
  me: User,
  id: number,
  op: 'add' | 'remove',
  channelNames: readonly string[],
): void {
  realm.transaction((tx) => {
    const group = findGroup(realm, id)
    const ids = new Set(group.channelIds)
    for (const channel of findChannels(realm, me, channelNames)) {
      if (op === 'add') expectEligible(channel, group.name)
      if (ids.has(channel.id) === (op === 'add')) {
        const where = op === 'add' ? 'already' : 'not'
        throw badRequest(`Channel '${channel.name}' is ${where} present in default channel group '${group.name}'`)
      }
      if (op === 'add') ids.add(channel.id)
      else ids.delete(channel.id)
    }
    put(realm, tx, { ...group, channelIds: [...ids] })
  })
}

export function removeDefaultGroup(realm: Realm, id: number): void {
  realm.transaction((tx) => {
    tx.remove('defaultChannelGroup', findGroup(realm, id).id)
    publish(realm, tx)
  })
}

export function leaveDefaultGroups(realm: Realm, tx: Transaction, channelId: number): void {
  const groups = [...realm.state.defaultChannelGroup.all()].filter(({ channelIds }) => channelIds.includes(channelId))
  for (const group of groups)
    tx.put('defaultChannelGroup', { ...group, channelIds: group.channelIds.filter((id) => id !== channelId) })
  if (groups.length > 0) publish(realm, tx)
}

function put(realm: Realm, tx: Transaction, group: DefaultChannelGroup): void {
  tx.put('defaultChannelGroup', { ...group, channelIds: [...group.channelIds].sort((a, b) => a - b) })
  publish(realm, tx)
}

function publish(realm: Realm, tx: Transaction): void {
  const members = [...realm.state.user.all()].filter(({ role, isActive }) => isActive && role !== ROLES.guest)
  publishDefaultGroups(realm, tx, members)
}

export function publishDefaultGroups(realm: Realm, tx: Transaction, users: readonly User[]): void {
  const default_stream_groups = defaultGroupViews(realm)
  const to = users.map(({ id }) => id)
  tx.publish({ type: 'default_stream_groups', to, make: () => ({ default_stream_groups }) })
}

function findGroup(realm: Realm, id: number): DefaultChannelGroup {
  const group = realm.state.defaultChannelGroup.get(id)
  if (group === undefined) throw badRequest(`Default channel group with id '${id}' does not exist.`)
  return group
}

const findChannels = (realm: Realm, me: User, names: readonly string[]): Channel[] => [
  ...new Set(names.map((name) => findChannelByName(realm, me, name))),
]

/** Default channels are not eligible: all new members are subscribed to them anyway. */
function expectEligible(channel: Channel, groupName: string): Channel {
  const { name, isDefault, isArchived } = channel
  if (isDefault) throw badRequest(`'${name}' is a default channel and cannot be added to '${groupName}'`)
  if (isArchived) throw badRequest(`Channel '${name}' is archived`)
  return channel
}

function checkedName(realm: Realm, input: string, ownId: number | null = null): string {
  const name = input.trim()
  if (name === '') throw badRequest('Invalid default channel group name')
  if ([...name].length > NAME_CHARACTERS_MAX)
    throw badRequest(`Default channel group name too long (limit: ${NAME_CHARACTERS_MAX} characters)`)
  for (const group of realm.state.defaultChannelGroup.all())
    if (group.id !== ownId && fold(group.name) === fold(name))
      throw badRequest(`Default channel group '${name}' already exists`)
  return name
}
