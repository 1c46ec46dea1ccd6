/** Topics that a user has muted, unmuted or followed: sections user_topic and muted_topics. Contract section 4.2. */

import { topicName } from '../realm/model/topic-names.ts'
import { mutedTopics, userTopics } from '../realm/objects/user-topics.ts'
import type { RegisterSection } from './section.ts'

export const userTopicBlock: RegisterSection = ({ realm, me, shape }) => ({
  user_topics: userTopics(realm, me)
    .filter(({ channel }) => shape.can.archived_channels || !channel.isArchived)
    .map(({ channel, topic }) => ({
      stream_id: channel.id,
      topic_name: topicName(topic.topicName, shape.can.empty_topic_name),
      last_updated: topic.lastUpdated,
      visibility_policy: topic.policy,
    })),
})

/** The older section. A client that fetches the policies does not need the list of muted topics. */
export const mutedTopicsBlock: RegisterSection = ({ realm, me, shape, wants }) =>
  wants('user_topic') ? {} : { muted_topics: mutedTopics(realm, me, shape.can.empty_topic_name) }
