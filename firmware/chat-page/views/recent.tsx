/** Recent conversations, by their newest message. */

import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import { changed, noteFailure } from '../connection.ts'
import { keyOf } from '../model/conversation.ts'
import { createMessageList, type ListSource, NEWEST } from '../model/message-list.ts'
import { isMuted, type RealmView } from '../model/realm.ts'
import { type RecentConversation, recentConversations } from '../model/recent.ts'
import { channelName, linkTo, shortName } from '../names.ts'
import { shortTime } from '../words/format.ts'
import { words } from '../words/words.ts'
import type { AreaProps } from './area.tsx'
import { ChannelMark, ViewTitle } from './frame.tsx'
import { Count, Face, PresenceMark } from './parts.tsx'
import { Problem } from './problem.tsx'

/** Their text is not shown, so more of them fit into memory and onto the wire than in a list. */
const SIZES = { firstEachSide: 300, page: 500, portion: 500, max: 3000, elements: Number.POSITIVE_INFINITY }
const FACES_MAX = 4

const EVERYTHING: ListSource = { key: 'recent', conversation: null, narrow: [], holds: () => true }

export function RecentView({ realm }: AreaProps) {
  const list = useMemo(() => createMessageList(EVERYTHING, realm.ownId, changed, SIZES), [realm])
  const controller = useMemo(() => new AbortController(), [list])
  const failure = useSignal<unknown>(null)
  const isLoading = useSignal(true)
  const onlyUnread = useSignal(false)
  const onlyOwn = useSignal(false)
  const withMuted = useSignal(false)
  const load = async (work: Promise<unknown>) => {
    isLoading.value = true
    try {
      await work
      failure.value = null
    } catch (error) {
      if (controller.signal.aborted) return
      noteFailure(error)
      failure.value = error
    } finally {
      isLoading.value = false
    }
  }
  useEffect(() => {
    realm.lists.add(list)
    void load(list.open(NEWEST, controller.signal))
    return () => {
      controller.abort()
      realm.lists.delete(list)
    }
  }, [list])
  const isShown = ({ conversation, senderIds }: RecentConversation) =>
    (withMuted.value || !isMuted(realm, conversation)) &&
    (!onlyUnread.value || realm.unread.countOf(conversation) > 0) &&
    (!onlyOwn.value || senderIds.includes(realm.ownId))
  const shown = recentConversations(list.messages, realm.ownId).filter(isShown)
  return (
    <div class="view">
      <ViewTitle title={words.recent} />
      <fieldset class="row filters" aria-label={words.filters}>
        <Filter label={words.unreadOnly} bind={onlyUnread} />
        <Filter label={words.withOwn} bind={onlyOwn} />
        <Filter label={words.withMuted} bind={withMuted} />
      </fieldset>
      <Problem error={failure.value} />
      <ul class="rows">
        {shown.map((one) => (
          <Row key={keyOf(one.conversation)} realm={realm} recent={one} />
        ))}
      </ul>
      {isLoading.value && list.messages.length === 0 && <p class="hint">{words.loading}</p>}
      {shown.length === 0 && !isLoading.value && <p class="empty">{words.noConversations}</p>}
      {!list.hasOldest && list.messages.length > 0 && list.messages.length < SIZES.max && (
        <p class="empty">
          <Action busy={isLoading.value && words.loading} onClick={() => void load(list.fetchOlder(controller.signal))}>
            {words.olderConversations}
          </Action>
        </p>
      )}
    </div>
  )
}

function Filter({ label, bind }: { label: string; bind: { value: boolean } }) {
  return (
    <button
      type="button"
      class="small"
      aria-pressed={bind.value}
      onClick={() => {
        bind.value = !bind.value
      }}
    >
      {label}
    </button>
  )
}

function Row({ realm, recent: { conversation, newest, senderIds } }: { realm: RealmView; recent: RecentConversation }) {
  const time = new Date(newest.timestamp * 1000)
  const isTopic = conversation.kind === 'topic'
  const faces = senderIds.filter((id) => !realm.mutedUsers.has(id)).slice(0, FACES_MAX)
  return (
    <li class={isMuted(realm, conversation) ? 'muted' : undefined}>
      <a class="row-link recent" href={linkTo(realm, conversation)}>
        <span>
          {isTopic && <ChannelMark color={realm.channels.get(conversation.channelId)?.color ?? ''} />}
          {!isTopic && conversation.userIds.length === 1 && <PresenceMark realm={realm} id={conversation.userIds[0]} />}
          <span>
            {isTopic && <span class="soft">#{channelName(realm, conversation.channelId)} › </span>}
            {shortName(realm, conversation)}
          </span>
        </span>
        <span class="faces">
          {faces.map((id) => (
            <Face key={id} person={realm.people.get(id)} size="small" />
          ))}
        </span>
        <Count value={realm.unread.countOf(conversation)} />
        <time class="soft" dateTime={time.toISOString()}>
          {shortTime(time, new Date())}
        </time>
      </a>
    </li>
  )
}
