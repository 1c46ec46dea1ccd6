/**
 * What befell topics as a whole: said once of the topic, not in each of its messages, so that to rename or to resolve one
 * costs the same however many there are. Contract sections 2.4 (`edit_history`), 7.3.
 */

import type { MessageRow } from '../../store/messages.ts'
import type { TopicMoveRow } from '../../store/topics.ts'
import { type EditRecord, type MessageMetadata, metadataOf } from '../model/message-metadata.ts'
import type { Realm } from '../model/realm.ts'

export interface TopicMove {
  edit: EditRecord
  /** Only the mark of resolved topics came or went: that is no move. */
  isResolving: boolean
}

/** What a message has, with all that befell its topic while it was there. */
export function metadataWithMoves({ store }: Realm, row: MessageRow): MessageMetadata {
  const own = metadataOf(row)
  if (row.topic === 0) return own
  return withMoves(own, store.topics.movesOf(row.topic, own.since ?? 0, row.id).map(readMove))
}

/** `moves` are newer than what it has, the newest first. */
export function withMoves(extra: MessageMetadata, moves: readonly TopicMove[]): MessageMetadata {
  if (moves.length === 0) return extra
  const moved = moves.find(({ isResolving }) => !isResolving)?.edit.timestamp ?? extra.moved
  return {
    ...extra,
    edits: [...moves.map(({ edit }) => edit), ...(extra.edits ?? [])],
    ...(moved !== undefined && { moved }),
  }
}

export const readMove = ({ json }: TopicMoveRow): TopicMove => JSON.parse(json) as TopicMove

/** As it is stored of a message that has in it all that befell its topic so far. */
export function writeExtra({ store }: Realm, topic: number, { since: _, ...extra }: MessageMetadata): string {
  const since = topic === 0 ? 0 : store.topics.newestMove(topic)
  return JSON.stringify(since > 0 ? { ...extra, since } : extra)
}
