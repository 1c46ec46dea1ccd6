/** Channels for new members. Contract section 3.3, rows E61, E62. */

import { integer, nameText, oneOf, prose, texts } from '../pipeline/parameters.ts'
import { setDefault } from '../realm/objects/default-channels.ts'
import {
  changeChannelsOfGroup,
  changeDefaultGroup,
  createDefaultGroup,
  removeDefaultGroup,
} from '../realm/objects/default-groups.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const CHANNELS_MAX = 1000
const channelNames = () =>
  texts().where((names) => names.length <= CHANNELS_MAX, `must have at most ${CHANNELS_MAX} names`)

const groupPath = { group_id: integer() }

export const defaultChannelDeclarations: readonly AnyDeclaration[] = [
  ...(['POST', 'DELETE'] as const).map((method) =>
    declare({
      method,
      path: '/default_streams',
      who: 'administrator',
      parameters: { stream_id: integer() },
      handle: ({ realm, me, input }) => {
        setDefault(realm, me, input.stream_id, method === 'POST')
        return {}
      },
    }),
  ),
  declare({
    method: 'POST',
    path: '/default_stream_groups/create',
    who: 'administrator',
    parameters: {
      group_name: nameText('default channel group name'),
      description: prose(),
      stream_names: channelNames(),
    },
    handle: ({ realm, me, input }) => {
      const { group_name: name, description, stream_names } = input
      createDefaultGroup(realm, me, { name, description, channelNames: stream_names })
      return {}
    },
  }),
  declare({
    method: 'PATCH',
    path: '/default_stream_groups/:group_id',
    who: 'administrator',
    segments: groupPath,
    parameters: {
      new_group_name: nameText('default channel group name').optional(),
      new_description: prose().optional(),
    },
    handle: ({ realm, path, input }) => {
      changeDefaultGroup(realm, path.group_id, { name: input.new_group_name, description: input.new_description })
      return {}
    },
  }),
  declare({
    method: 'PATCH',
    path: '/default_stream_groups/:group_id/streams',
    who: 'administrator',
    segments: groupPath,
    parameters: { op: oneOf('add', 'remove'), stream_names: channelNames() },
    handle: ({ realm, me, path, input }) => {
      changeChannelsOfGroup(realm, me, path.group_id, input.op, input.stream_names)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/default_stream_groups/:group_id',
    who: 'administrator',
    segments: groupPath,
    handle: ({ realm, path }) => {
      removeDefaultGroup(realm, path.group_id)
      return {}
    },
  }),
]
