/** Data that few messages have, stored as JSON in the column `extra`. */

import type { MessageRow } from '../../store/messages.ts'
import type { Emoji } from './emoji.ts'

export interface Reaction extends Emoji {
  readonly user_id: number
}

export interface Submessage {
  id: number
  message_id: number
  sender_id: number
  msg_type: 'widget'
  content: string
}

/** Contains only the members that the edit changed. Contract section 2.4, `edit_history`. */
export interface EditRecord {
  timestamp: number
  user_id: number
  prev_content?: string
  prev_rendered_content?: string
  prev_stream?: number
  stream?: number
  prev_topic?: string
  topic?: string
}

export interface MessageMetadata {
  reactions?: readonly Reaction[]
  submessages?: readonly Submessage[]
  /** Newest first. */
  edits?: readonly EditRecord[]
  /** Unix time in seconds of the last change of the content; `moved`: of channel or topic, ignoring resolving. */
  edited?: number
  moved?: number
  /** Number of the newest topic move that is already merged into `edits` and `moved`: see topic-history.ts. */
  since?: number
}

/** Excludes moves of the whole topic: see topic-history.ts. */
export const metadataOf = ({ extra }: Pick<MessageRow, 'extra'>): MessageMetadata =>
  extra === '{}' ? NOTHING : (JSON.parse(extra) as MessageMetadata)

const NOTHING: MessageMetadata = {}
