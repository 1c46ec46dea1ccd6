/** The edit history of a message. Contract sections 3.2 (E14), 7.6. */

import { defined } from '../../../base/defined.ts'
import { runInSlices } from '../../../base/slices.ts'
import { badRequest } from '../../base/error.ts'
import type { MessageRow } from '../../store/messages.ts'
import type { EditRecord } from '../model/message-metadata.ts'
import { realmSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import { organizationOf } from '../model/state.ts'
import { topicName } from '../model/topic-names.ts'
import { shownHtml } from '../objects/rendering.ts'
import { contentDiff, diffBudget } from './content-diff.ts'
import { locationOf } from './location.ts'
import { metadataWithMoves } from './topic-history.ts'

/** Oldest first. The first entry is the original message. */
export async function messageHistory(
  realm: Realm,
  row: MessageRow,
  emptyTopic: boolean,
): Promise<Record<string, unknown>[]> {
  const entries: Record<string, unknown>[] = []
  await runInSlices(historySteps(realm, row, emptyTopic, entries))
  return entries.reverse()
}

/** Adds entries, newest first. Yields the number of cells that each step of a difference computed. */
export function* historySteps(
  realm: Realm,
  row: MessageRow,
  emptyTopic: boolean,
  entries: Record<string, unknown>[],
): Generator<number, void> {
  const policy = realmSetting(organizationOf(realm.state), 'message_edit_history_visibility_policy')
  if (policy === 'none') throw badRequest('Message edit history is disabled in this organization')
  const edits = (metadataWithMoves(realm, row).edits ?? []).filter((edit) => policy === 'all' || isMove(edit))
  const location = locationOf(realm, row)
  let topic = location.kind === 'channel' ? location.topic : ''
  let { content } = row
  let html = shownHtml(realm, row.html)
  const budget = diffBudget()
  const named = (name: string): string => (location.kind === 'channel' ? topicName(name, emptyTopic) : '')
  // Each edit contains the state before it.
  for (const edit of edits) {
    const isEdit = policy === 'all' && edit.prev_content !== undefined
    const before = shownHtml(realm, edit.prev_rendered_content ?? '')
    const difference = isEdit ? yield* contentDiff(before, html, budget) : undefined
    entries.push({
      topic: named(topic),
      content,
      rendered_content: html,
      timestamp: edit.timestamp,
      user_id: edit.user_id,
      ...(isEdit && {
        prev_content: edit.prev_content,
        prev_rendered_content: before,
        content_html_diff: difference,
      }),
      ...(edit.prev_topic !== undefined && { prev_topic: named(edit.prev_topic) }),
      ...(edit.prev_stream !== undefined && { prev_stream: edit.prev_stream, stream: edit.stream }),
    })
    if (isEdit) [content, html] = [defined(edit.prev_content), before]
    topic = edit.prev_topic ?? topic
    yield 0
  }
  entries.push({
    topic: named(topic),
    content,
    rendered_content: html,
    timestamp: row.time,
    user_id: row.sender,
  })
}

const isMove = ({ prev_topic, prev_stream }: EditRecord): boolean =>
  prev_topic !== undefined || prev_stream !== undefined
