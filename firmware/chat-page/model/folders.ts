/** Channels in the order of lists: pinned ones first, then those of each folder, then the others. Uses no DOM. */

import type { RealmView } from './realm.ts'
import type { SubscribedChannel } from './types.ts'

interface ChannelsOfFolder {
  /** Null for pinned channels, which come first, and for those in no folder, which come last. */
  readonly folder: { readonly id: number; readonly name: string } | null
  readonly channels: readonly SubscribedChannel[]
}

/** Archived channels are left out. Without `isByFolder` there is one group. */
export function channelsByFolder({ channels, folders }: RealmView, isByFolder: boolean): ChannelsOfFolder[] {
  const shown = [...channels.values()]
    .filter(({ is_archived: isArchived }) => !isArchived)
    .sort((a, b) => Number(b.pin_to_top) - Number(a.pin_to_top) || a.name.localeCompare(b.name))
  if (!isByFolder) return groupsOf([{ folder: null, channels: shown }])
  const folderOf = ({ pin_to_top: isPinned, folder_id: id }: SubscribedChannel) =>
    isPinned || id === null ? undefined : folders.get(id)
  return groupsOf([
    { folder: null, channels: shown.filter(({ pin_to_top: isPinned }) => isPinned) },
    ...[...folders.values()]
      .sort((a, b) => a.order - b.order)
      .map((folder) => ({ folder, channels: shown.filter((one) => folderOf(one) === folder) })),
    { folder: null, channels: shown.filter((one) => !one.pin_to_top && folderOf(one) === undefined) },
  ])
}

const groupsOf = (all: ChannelsOfFolder[]): ChannelsOfFolder[] => all.filter(({ channels }) => channels.length > 0)
