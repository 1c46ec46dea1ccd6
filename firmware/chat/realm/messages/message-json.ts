/** Messages as clients see them. Contract section 2.4. */

import type { MessageRow } from '../../store/messages.ts'
import { IS_ME } from '../model/content-flags.ts'
import type { EditRecord, MessageMetadata } from '../model/message-metadata.ts'
import { realmSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { DirectConversation, User } from '../model/records.ts'
import { organizationOf } from '../model/state.ts'
import { topicName } from '../model/topic-names.ts'
import { avatarUrl } from '../objects/avatar-url.ts'
import { shownHtml } from '../objects/rendering.ts'
import { UNKNOWN_USER } from '../objects/user-view.ts'
import type { SenderVisibility } from '../permissions/user-access.ts'
import { placeholderAddress } from '../permissions/user-addresses.ts'
import { locationOf } from './location.ts'
import { topicLinks } from './rendering.ts'
import { metadataWithMoves } from './topic-history.ts'

export interface MessageOptions {
  applyMarkdown: boolean
  clientGravatar: boolean
  /** True if the client supports the empty topic. */
  emptyTopic: boolean
  senderSight: SenderVisibility
}

export function messageToJson(realm: Realm, row: MessageRow, options: MessageOptions): Record<string, unknown> {
  const { applyMarkdown, emptyTopic } = options
  const extra = metadataWithMoves(realm, row)
  return {
    id: row.id,
    ...senderToJson(realm, row.sender, options),
    ...locationToJson(realm, row, emptyTopic),
    recipient_id: row.recipient,
    timestamp: row.time,
    client: row.client,
    content: applyMarkdown ? shownHtml(realm, row.html) : row.content,
    content_type: applyMarkdown ? 'text/html' : 'text/x-markdown',
    is_me_message: (row.bits & IS_ME) !== 0,
    reactions: extra.reactions ?? [],
    submessages: extra.submessages ?? [],
    ...historyToJson(realm, extra),
  }
}

function senderToJson(realm: Realm, senderId: number, { clientGravatar, senderSight }: MessageOptions) {
  const sender = realm.state.user.require(senderId)
  const own = { sender_id: sender.id, sender_realm_str: '' }
  if (senderSight === 'all') {
    const seesAddress = sender.email === sender.deliveryEmail
    const picture = avatarUrl(realm, sender, { clientGravatar: clientGravatar && seesAddress })
    return { ...own, sender_full_name: sender.fullName, sender_email: sender.email, avatar_url: picture }
  }
  const isNamed = senderSight === 'name'
  return {
    ...own,
    sender_full_name: isNamed ? sender.fullName : UNKNOWN_USER,
    sender_email: placeholderAddress(organizationOf(realm.state), sender.id),
    avatar_url: avatarUrl(realm, isNamed ? sender : null, { clientGravatar: false }),
  }
}

function locationToJson(realm: Realm, row: MessageRow, emptyTopic: boolean) {
  const location = locationOf(realm, row)
  if (location.kind === 'conversation')
    return {
      type: 'private',
      display_recipient: participants(realm, location.conversation),
      subject: '',
      topic_links: [],
    }
  const { channel, topic } = location
  return {
    type: 'stream',
    display_recipient: channel.name,
    stream_id: channel.id,
    subject: topicName(topic, emptyTopic),
    topic_links: topicLinks(realm, topic),
  }
}

export const participants = ({ state }: Realm, { userIds }: DirectConversation) =>
  userIds.map((id) => mentionToJson(state.user.require(id)))

const mentionToJson = ({ id, email, fullName }: User) => ({ id, email, full_name: fullName, is_mirror_dummy: false })

/** Applies the organization's policy for edit history: contract section 7.6. */
function historyToJson(realm: Realm, { edits, edited, moved }: MessageMetadata) {
  const times = {
    ...(edited !== undefined && { last_edit_timestamp: edited }),
    ...(moved !== undefined && { last_moved_timestamp: moved }),
  }
  const shown = edits === undefined ? [] : shownEdits(realm, edits)
  return shown.length === 0 ? times : { ...times, edit_history: shown }
}

const shownEdit = (realm: Realm, edit: EditRecord): EditRecord =>
  edit.prev_rendered_content === undefined
    ? edit
    : { ...edit, prev_rendered_content: shownHtml(realm, edit.prev_rendered_content) }

function shownEdits(realm: Realm, edits: readonly EditRecord[]): readonly EditRecord[] {
  const policy = realmSetting(organizationOf(realm.state), 'message_edit_history_visibility_policy')
  if (policy === 'all') return edits.map((edit) => shownEdit(realm, edit))
  if (policy === 'none') return []
  return edits
    .filter(({ prev_stream, prev_topic }) => prev_stream !== undefined || prev_topic !== undefined)
    .map(({ prev_content: _, prev_rendered_content: __, ...moved }) => moved)
}
