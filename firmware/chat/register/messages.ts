/** Register sections about messages. Contract sections 4.2 and 4.2.1. */

import { starredMessages } from '../realm/messages/starred.ts'
import { unreadToJson } from '../realm/messages/unread-json.ts'
import type { RegisterSection } from './section.ts'

export const messageBlock: RegisterSection = ({ realm }) => ({ max_message_id: realm.store.messages.maxId() })

/** Empty without the section `message`: unread counts mean nothing without messages. */
export const flagsBlock: RegisterSection = ({ realm, me, shape, wants }) =>
  wants('message') ? { unread_msgs: unreadToJson(realm, me, shape.can) } : {}

export const starredBlock: RegisterSection = ({ realm, me }) => ({ starred_messages: starredMessages(realm, me) })

export const conversationsBlock: RegisterSection = ({ realm, me }) => ({
  recent_private_conversations: [...realm.state.conversationsOf(me.id)]
    .map(({ recipientId, userIds }) => ({
      max_message_id: realm.store.messages.newestOf(recipientId) ?? 0,
      user_ids: userIds.filter((id) => id !== me.id),
    }))
    .filter(({ max_message_id }) => max_message_id > 0)
    .sort((a, b) => b.max_message_id - a.max_message_id)
    .slice(0, CONVERSATIONS_MAX),
})

const CONVERSATIONS_MAX = 1000 // clients show the newest ones only
