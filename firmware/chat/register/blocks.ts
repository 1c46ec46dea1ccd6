/** Every block by the name under which it is fetched: a line each. */

import type { Block } from './block.ts'
import {
  channelFoldersBlock,
  defaultStreamGroupsBlock,
  defaultStreamsBlock,
  streamBlock,
  subscriptionBlock,
} from './channels.ts'
import { conversationsBlock, flagsBlock, messageBlock, starredBlock } from './messages.ts'
import { mutedTopicsBlock, userTopicBlock } from './user-topics.ts'

export const BLOCKS: Readonly<Record<string, Block>> = {
  channel_folders: channelFoldersBlock,
  default_stream_groups: defaultStreamGroupsBlock,
  default_streams: defaultStreamsBlock,
  muted_topics: mutedTopicsBlock,
  stream: streamBlock,
  subscription: subscriptionBlock,
  user_topic: userTopicBlock,
  message: messageBlock,
  update_message_flags: flagsBlock,
  starred_messages: starredBlock,
  recent_private_conversations: conversationsBlock,
}
