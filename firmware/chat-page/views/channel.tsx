import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Field } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { ComposeBox } from '../compose/box.tsx'
import { noteFailure } from '../connection.ts'
import { conversationOfDraft, draftOf, setDraft } from '../drafts.ts'
import { addressOfArea, type ConversationRef, TOPIC_MAX } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { linkTo, topicName } from '../names.ts'
import { go } from '../place.ts'
import { words } from '../words/words.ts'
import { ChannelMark, ViewTitle } from './frame.tsx'
import { Icon } from './icons.tsx'
import { Count } from './parts.tsx'
import { Problem } from './problem.tsx'

interface TopicOfChannel {
  name: string
  max_id: number
}

export function ChannelView({ realm, channelId }: { realm: RealmView; channelId: number }) {
  const topics = useSignal<TopicOfChannel[] | null>(null)
  const failure = useSignal<unknown>(null)
  const draftKey = `new ${channelId}`
  const before = conversationOfDraft(draftKey)
  const name = useSignal(before?.kind === 'topic' ? before.topic : '')
  const channel = realm.channels.get(channelId)
  useEffect(() => {
    if (channel === undefined) return
    const controller = new AbortController()
    call<{ topics: TopicOfChannel[] }>(
      'GET',
      `/users/me/${channelId}/topics`,
      { allow_empty_topic_name: true },
      { signal: controller.signal },
    ).then(
      (answer) => {
        topics.value = answer.topics
      },
      (error: unknown) => {
        if (controller.signal.aborted) return
        noteFailure(error)
        failure.value = error
      },
    )
    return () => controller.abort()
  }, [channelId, channel === undefined])
  if (channel === undefined)
    return (
      <div class="view">
        <ViewTitle title={`#${channelId}`} />
        <p class="empty">
          {words.notInChannel} <a href={addressOfArea('channels', channelId)}>{words.showChannel}</a>
        </p>
      </div>
    )
  const topic = { kind: 'topic', channelId, topic: name.value.trim() } as const
  const keepTopic = () => {
    const typed = { ...topic, topic: name.value.trim() }
    void setDraft(draftKey, draftOf(draftKey, typed).value, typed)
  }
  return (
    <div class="view filled">
      <ViewTitle title={`#${channel.name}`} before={<ChannelMark color={channel.color} />}>
        <a
          class="icon-link"
          href={addressOfArea('channels', channelId)}
          aria-label={words.settingsOf(`#${channel.name}`)}
          title={words.settings}
        >
          <Icon name="gear" />
        </a>
      </ViewTitle>
      <section class="scroll-area" aria-label={words.channelTopics(channel.name)}>
        {channel.description && <p class="soft">{channel.description}</p>}
        <Problem error={failure.value} />
        {topics.value === null && !failure.value && <p class="hint">{words.loading}</p>}
        {topics.value?.length === 0 && <p class="empty">{words.channelNoTopics}</p>}
        <ul class="rows">
          {topics.value?.map(({ name: known, max_id: newest }) => {
            const conversation: ConversationRef = { kind: 'topic', channelId, topic: known }
            return (
              <li key={newest}>
                <a class="row-link" href={linkTo(realm, conversation)}>
                  <span>{topicName(realm, known)}</span>
                  <Count value={realm.unread.countOf(conversation)} />
                </a>
              </li>
            )
          })}
        </ul>
      </section>
      <ComposeBox
        realm={realm}
        conversation={topic}
        draftKey={draftKey}
        label={words.messageTo(`#${channel.name}`)}
        before={<Field label={words.topic} bind={name} also={keepTopic} maxLength={TOPIC_MAX} />}
        sent={() => {
          void setDraft(draftKey, '', { ...topic, topic: '' })
          go(linkTo(realm, topic))
        }}
      />
    </div>
  )
}
