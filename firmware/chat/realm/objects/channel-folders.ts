/** Folders in which clients group channels. Contract section 2.5, rows E63 to E66, V3 to V5. */

import { badRequest } from '../../base/error.ts'
import { fold } from '../model/names.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { Channel, ChannelFolder, User } from '../model/records.ts'
import { ROLES } from '../model/roles.ts'
import type { Transaction } from '../model/transaction.ts'
import { canSee } from '../permissions/channel-rights.ts'
import { checkedDescription } from './descriptions.ts'
import { renderDescription } from './rendering.ts'

export const FOLDER_NAME_CHARACTERS_MAX = 60

const folderView = (folder: ChannelFolder) => ({
  id: folder.id,
  name: folder.name,
  description: folder.description,
  rendered_description: folder.renderedDescription,
  date_created: folder.dateCreated,
  creator_id: folder.creatorId,
  order: folder.order,
  is_archived: folder.isArchived,
})

export const folderViews = (realm: Realm, viewer: User, archived: boolean) =>
  [...realm.state.channelFolder.all()]
    .filter((folder) => (archived || !folder.isArchived) && seesFolder(realm, viewer, folder))
    .sort((a, b) => a.order - b.order)
    .map(folderView)

function seesFolder(realm: Realm, viewer: User, { id }: ChannelFolder): boolean {
  if (viewer.role !== ROLES.guest) return true
  for (const channel of realm.state.channel.all())
    if (channel.folderId === id && canSee(realm, viewer, channel)) return true
  return false
}

/** Throws `BAD_REQUEST` if the folder is unknown or archived. */
export function expectFolder(realm: Realm, id: number): void {
  if (findFolder(realm, id).isArchived) throw badRequest('Invalid channel folder ID')
}

function findFolder(realm: Realm, id: number): ChannelFolder {
  const folder = realm.state.channelFolder.get(id)
  if (folder === undefined) throw badRequest('Invalid channel folder ID')
  return folder
}

export function createFolder(realm: Realm, me: User, input: { name: string; description: string }): number {
  return realm.transaction((tx) => {
    const name = checkedName(realm, input.name, null)
    const description = checkedDescription(input.description)
    const orders = [...realm.state.channelFolder.all()].map(({ order }) => order)
    const folder: ChannelFolder = {
      id: tx.nextId('channelFolder'),
      name,
      description,
      renderedDescription: renderDescription(realm, description),
      dateCreated: nowOf(realm),
      creatorId: me.id,
      order: Math.max(-1, ...orders) + 1,
      isArchived: false,
    }
    tx.put('channelFolder', folder)
    publish(tx, viewersOf(realm, folder), { op: 'add', channel_folder: folderView(folder) })
    return folder.id
  })
}

interface FolderChanges {
  name: string | undefined
  description: string | undefined
  isArchived: boolean | undefined
}

export function changeFolder(realm: Realm, id: number, changes: FolderChanges): void {
  realm.transaction((tx) => {
    const before = findFolder(realm, id)
    const { name = before.name, isArchived = before.isArchived } = changes
    const description = changes.description === undefined ? before.description : checkedDescription(changes.description)
    const after: ChannelFolder = {
      ...before,
      name: isArchived ? checkedForm(name) : checkedName(realm, name, id),
      description,
      renderedDescription: renderDescription(realm, description),
      isArchived,
    }
    if (isArchived && !before.isArchived && isInUse(realm, id))
      throw badRequest('You need to remove all the channels from this folder to archive it.')
    const data = {
      ...(after.name !== before.name && { name: after.name }),
      ...(description !== before.description && { description, rendered_description: after.renderedDescription }),
      ...(isArchived !== before.isArchived && { is_archived: isArchived }),
    }
    if (Object.keys(data).length === 0) return
    tx.put('channelFolder', after)
    publish(tx, viewersOf(realm, after), { op: 'update', channel_folder_id: id, data })
  })
}

const isInUse = (realm: Realm, id: number): boolean =>
  [...realm.state.channel.all()].some(({ folderId }) => folderId === id)

/** `order` must contain all folder ids, archived ones included. */
export function orderFolders(realm: Realm, order: readonly number[]): void {
  realm.transaction((tx) => {
    const ids = new Set(order)
    const { channelFolder } = realm.state
    if (ids.size !== order.length || ids.size !== channelFolder.size || order.some((id) => !channelFolder.has(id)))
      throw badRequest('Invalid order mapping.')
    const moved = order.filter((id, index) => channelFolder.require(id).order !== index)
    if (moved.length === 0) return
    for (const [index, id] of order.entries()) {
      const folder = channelFolder.require(id)
      if (folder.order !== index) tx.put('channelFolder', { ...folder, order: index })
    }
    tx.publish({ type: 'channel_folder', to: 'everyone', make: () => ({ op: 'reorder', order }) })
  })
}

/** Sends guests the folder of a channel that becomes visible to them; call it before the channel's event. */
export function publishFolderOf(
  realm: Realm,
  tx: Transaction,
  { folderId }: Channel,
  userIds: readonly number[],
): void {
  const folder = folderId === null ? undefined : realm.state.channelFolder.get(folderId)
  if (folder === undefined) return
  const guests = userIds.filter((id) => realm.state.user.get(id)?.role === ROLES.guest)
  if (guests.length > 0) publish(tx, guests, { op: 'add', channel_folder: folderView(folder) })
}

export function publishFoldersTo(realm: Realm, tx: Transaction, user: User): void {
  for (const folder of realm.state.channelFolder.all())
    publish(tx, [user.id], { op: 'add', channel_folder: folderView(folder) })
}

function publish(tx: Transaction, to: Iterable<number>, body: Readonly<Record<string, unknown>>): void {
  tx.publish({ type: 'channel_folder', to, make: () => body })
}

function* viewersOf(realm: Realm, folder: ChannelFolder): Generator<number> {
  for (const user of realm.state.user.all()) if (user.isActive && seesFolder(realm, user, folder)) yield user.id
}

/** The name of an archived folder may be reused. */
function checkedName(realm: Realm, input: string, ownId: number | null): string {
  const name = checkedForm(input)
  for (const folder of realm.state.channelFolder.all())
    if (folder.id !== ownId && !folder.isArchived && fold(folder.name) === fold(name))
      throw badRequest(`Channel folder '${name}' already exists`)
  return name
}

function checkedForm(input: string): string {
  const name = input.trim()
  if (name === '') throw badRequest("Channel folder name can't be empty.")
  if ([...name].length > FOLDER_NAME_CHARACTERS_MAX)
    throw badRequest(`Channel folder name too long (limit: ${FOLDER_NAME_CHARACTERS_MAX} characters).`)
  return name
}
