/** Acts on a topic: read, follow or mute, resolve, rename, delete. */

import { useSignal } from '@preact/signals'
import { call } from '../api.ts'
import { follow, MARKED_AT_ONCE } from '../message-acts.ts'
import type { TopicDialogProps } from '../messages/topic-dialog.tsx'
import { type ConversationRef, keyOf, narrowOf } from '../model/conversation.ts'
import { FOLLOWED, MUTED, type RealmView } from '../model/realm.ts'
import { mayInRealm } from '../model/rights.ts'
import { attempt } from '../problems.ts'
import { words } from '../words/words.ts'
import { loadMore } from './area.tsx'
import { Icon } from './icons.tsx'
import { useLoaded } from './loaded.ts'
import { MenuItem } from './menu-item.tsx'
import { Popover } from './popover.tsx'
import { Problem } from './problem.tsx'

type Topic = Extract<ConversationRef, { kind: 'topic' }>

const NO_POLICY = 0
const RESOLVED = '✔ '

export function TopicMenu({
  realm,
  topic,
  newestId,
}: {
  realm: RealmView
  topic: Topic
  newestId: number | undefined
}) {
  const asked = useSignal<'rename' | 'delete' | null>(null)
  const close = () => {
    asked.value = null
  }
  const policy = realm.topicPolicies.get(keyOf(topic))?.policy ?? NO_POLICY
  const setPolicy = (wanted: number) =>
    void attempt(
      call('POST', '/user_topics', {
        ...{
          stream_id: topic.channelId,
          topic: topic.topic,
          visibility_policy: policy === wanted ? NO_POLICY : wanted,
        },
      }),
    )
  const isResolved = topic.topic.startsWith(RESOLVED)
  const rename = async (to: string) => {
    await call('PATCH', `/messages/${newestId}`, { topic: to, propagate_mode: 'change_all' })
    follow(realm, topic, { ...topic, topic: to })
  }
  return (
    <>
      <Popover label={words.topicMenu} text={<Icon name="more" />}>
        {(closeMenu) => (
          <div class="menu-list">
            {realm.unread.countOf(topic) > 0 && (
              <MenuItem label={words.markRead} close={closeMenu} act={() => void attempt(markRead(realm, topic))} />
            )}
            <MenuItem
              label={policy === FOLLOWED ? words.unfollow : words.follow}
              close={closeMenu}
              act={() => setPolicy(FOLLOWED)}
            />
            <MenuItem
              label={policy === MUTED ? words.unmute : words.mute}
              close={closeMenu}
              act={() => setPolicy(MUTED)}
            />
            {newestId !== undefined && topic.topic !== '' && mayInRealm(realm, 'can_resolve_topics_group') && (
              <MenuItem
                label={isResolved ? words.unresolve : words.resolve}
                close={closeMenu}
                act={() =>
                  void attempt(rename(isResolved ? topic.topic.slice(RESOLVED.length) : `${RESOLVED}${topic.topic}`))
                }
              />
            )}
            {newestId !== undefined && mayInRealm(realm, 'can_move_messages_between_topics_group') && (
              <MenuItem
                label={words.rename}
                close={closeMenu}
                act={() => {
                  asked.value = 'rename'
                }}
              />
            )}
            {mayInRealm(realm, 'can_delete_any_message_group') && (
              <MenuItem
                label={words.remove}
                close={closeMenu}
                act={() => {
                  asked.value = 'delete'
                }}
              />
            )}
          </div>
        )}
      </Popover>
      {asked.value !== null && <Asked {...{ realm, topic, question: asked.value, rename, close }} />}
    </>
  )
}

function Asked(props: TopicDialogProps) {
  const { value, failure } = useLoaded(loadMore)
  return value.value === null ? <Problem error={failure.value} /> : <value.value.TopicDialog {...props} />
}

async function markRead(realm: RealmView, topic: Topic): Promise<void> {
  await call('POST', '/messages/flags/narrow', {
    ...{ anchor: 'newest', num_before: MARKED_AT_ONCE, num_after: 0 },
    ...{ narrow: narrowOf(topic, realm.ownId), op: 'add', flag: 'read' },
  })
}
