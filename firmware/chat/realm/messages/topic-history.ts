/**
 * Moves of whole topics, stored once for the topic and not in each message, so that renaming or resolving a topic costs the same for any
 * number of messages. Contract sections 2.4 (`edit_history`), 7.3.
 */

import type { MessageRow } from '../../store/messages.ts'
import type { TopicMoveRow } from '../../store/topics.ts'
import { type EditRecord, type MessageMetadata, metadataOf } from '../model/message-metadata.ts'
import type { Realm } from '../model/realm.ts'

export interface TopicMove {
  edit: EditRecord
  /** True if only the resolved prefix changed, which does not count as a move. */
  isResolving: boolean
}

/** Metadata including the moves of the topic since the message is in it. */
export function metadataWithMoves({ store }: Realm, row: MessageRow): MessageMetadata {
  const own = metadataOf(row)
  if (row.topic === 0) return own
  return withMoves(own, store.topics.movesOf(row.topic, own.since ?? 0, row.id).map(readMove))
}

/** `moves`: newest first, all of them later than the edits in `extra`. */
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

/** Returns the column `extra` for metadata that already includes all moves of the topic. */
export function writeExtra({ store }: Realm, topic: number, { since: _, ...extra }: MessageMetadata): string {
  const since = topic === 0 ? 0 : store.topics.newestMove(topic)
  return JSON.stringify(since > 0 ? { ...extra, since } : extra)
}
