/** Muted people, and topics that are muted, unmuted or followed. */

import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import type { ConversationRef } from '../model/conversation.ts'
import { fullName, linkTo, personName } from '../names.ts'
import { attempt } from '../problems.ts'
import { wordFor, words } from '../words/words.ts'
import type { SectionProps } from './settings.tsx'

export function MutedSection({ realm }: SectionProps) {
  const topics = [...realm.topicPolicies.values()]
  return (
    <>
      <section class="form">
        <h2>{words.mutedPeople}</h2>
        {realm.mutedUsers.size === 0 && <p class="soft">{words.mutedNobody}</p>}
        <ul class="rows">
          {[...realm.mutedUsers].map((id) => (
            <li key={id} class="row-entry">
              <span>{personName(realm, id)}</span>
              <Action kind="small" onClick={() => void attempt(call('DELETE', `/users/me/muted_users/${id}`))}>
                {words.unmute}
              </Action>
            </li>
          ))}
        </ul>
      </section>
      <section class="form">
        <h2>{words.topics}</h2>
        {topics.length === 0 && <p class="soft">{words.noTopicPolicies}</p>}
        <ul class="rows">
          {topics.map(({ channelId, topic, policy }) => {
            const conversation: ConversationRef = { kind: 'topic', channelId, topic }
            const values = { stream_id: channelId, topic, visibility_policy: 0 }
            return (
              <li key={`${channelId} ${topic}`} class="row-entry">
                <div>
                  <a href={linkTo(realm, conversation)}>{fullName(realm, conversation)}</a>
                  <span class="tag">{wordFor(words.visibilityPolicies, policy)}</span>
                </div>
                <Action kind="small" onClick={() => void attempt(call('POST', '/user_topics', values))}>
                  {words.reset}
                </Action>
              </li>
            )
          })}
        </ul>
      </section>
    </>
  )
}
