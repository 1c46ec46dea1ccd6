/** What a message was before. Contract sections 3.2 (E14), 7.6. */

import { badRequest } from '../../error.ts'
import type { MessageRow } from '../../store/messages.ts'
import type { Realm } from '../realm.ts'
import { realmSetting } from '../settings/read.ts'
import { organizationOf } from '../state.ts'
import { topicName } from '../topic-names.ts'
import { contentDiff } from './content-diff.ts'
import type { Edit } from './extra.ts'
import { placeOf } from './places.ts'
import { extraWithMoves } from './topic-moves.ts'

/** Oldest first; the first entry is the message as it was sent. */
export function messageHistory(realm: Realm, row: MessageRow, emptyTopic: boolean): Record<string, unknown>[] {
  const policy = realmSetting(organizationOf(realm.state), 'message_edit_history_visibility_policy')
  if (policy === 'none') throw badRequest('Message edit history is disabled in this organization')
  const edits = (extraWithMoves(realm, row).edits ?? []).filter((edit) => policy === 'all' || isMove(edit))
  const place = placeOf(realm, row)
  let topic = place.kind === 'channel' ? place.topic : ''
  let { content, html } = row
  const entries: Record<string, unknown>[] = []
  const named = (name: string): string => (place.kind === 'channel' ? topicName(name, emptyTopic) : '')
  // Newest first: each edit says what was before it.
  for (const edit of edits) {
    const isEdit = policy === 'all' && edit.prev_content !== undefined
    entries.push({
      topic: named(topic),
      content,
      rendered_content: html,
      timestamp: edit.timestamp,
      user_id: edit.user_id,
      ...(isEdit && {
        prev_content: edit.prev_content,
        prev_rendered_content: edit.prev_rendered_content,
        content_html_diff: contentDiff(edit.prev_rendered_content!, html),
      }),
      ...(edit.prev_topic !== undefined && { prev_topic: named(edit.prev_topic) }),
      ...(edit.prev_stream !== undefined && { prev_stream: edit.prev_stream, stream: edit.stream }),
    })
    if (isEdit) [content, html] = [edit.prev_content!, edit.prev_rendered_content!]
    topic = edit.prev_topic ?? topic
  }
  entries.push({
    topic: named(topic),
    content,
    rendered_content: html,
    timestamp: row.time,
    user_id: row.sender,
  })
  return entries.reverse()
}

const isMove = ({ prev_topic, prev_stream }: Edit): boolean => prev_topic !== undefined || prev_stream !== undefined
