import type { RightHolders } from '../model/types.ts'

/** Members of a channel that its settings show. Contract section 2.3. */
export interface ChannelDetails {
  stream_id: number
  name: string
  description: string
  invite_only: boolean
  is_archived: boolean
  history_public_to_subscribers: boolean
  message_retention_days: number | null
  topics_policy: string
  folder_id: number | null
  subscriber_count: number
  can_administer_channel_group: RightHolders
  can_add_subscribers_group: RightHolders
  can_remove_subscribers_group: RightHolders
  [setting: string]: unknown
}
