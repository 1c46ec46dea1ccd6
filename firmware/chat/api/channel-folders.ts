/** Folders of channels. Contract section 3.3, rows E63 to E66. */

import { boolean, integer, integers, nameText, prose } from '../pipeline/parameters.ts'
import { changeFolder, createFolder, folderViews, orderFolders } from '../realm/objects/channel-folders.ts'
import { type AnyDeclaration, declare } from './declare.ts'

export const channelFolderDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/channel_folders',
    who: 'account',
    parameters: { include_archived: boolean().default(false) },
    handle: ({ realm, me, input }) => ({ channel_folders: folderViews(realm, me, input.include_archived) }),
  }),
  declare({
    method: 'POST',
    path: '/channel_folders/create',
    who: 'administrator',
    parameters: { name: nameText('channel folder name'), description: prose().default('') },
    handle: ({ realm, me, input }) => ({ channel_folder_id: createFolder(realm, me, input) }),
  }),
  declare({
    method: 'PATCH',
    path: '/channel_folders',
    who: 'administrator',
    parameters: { order: integers() },
    handle: ({ realm, input }) => {
      orderFolders(realm, input.order)
      return {}
    },
  }),
  declare({
    method: 'PATCH',
    path: '/channel_folders/:channel_folder_id',
    who: 'administrator',
    segments: { channel_folder_id: integer() },
    parameters: {
      name: nameText('channel folder name').optional(),
      description: prose().optional(),
      is_archived: boolean().optional(),
    },
    handle: ({ realm, path, input }) => {
      const { name, description, is_archived: isArchived } = input
      changeFolder(realm, path.channel_folder_id, { name, description, isArchived })
      return {}
    },
  }),
]
