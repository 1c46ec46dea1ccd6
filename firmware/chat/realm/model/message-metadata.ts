/** What few messages have, as the JSON of their row. */

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

/** Only members of what changed: contract section 2.4, `edit_history`. */
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
  /** Seconds; of the last change of the content, of channel or topic but for resolving. */
  edited?: number
  moved?: number
  /** The number of the newest move of its topic that is in all this already: see topic-history.ts. */
  since?: number
}

/** Without what befell its topic as a whole: see topic-history.ts. */
export const metadataOf = ({ extra }: Pick<MessageRow, 'extra'>): MessageMetadata =>
  extra === '{}' ? NOTHING : (JSON.parse(extra) as MessageMetadata)

const NOTHING: MessageMetadata = {}
