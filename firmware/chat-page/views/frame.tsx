import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Action, Select } from '../../web/controls.tsx'
import { Mark } from '../../web/mark.tsx'
import { useRun } from '../../web/run.ts'
import { SkipLink } from '../../web/skip-link.tsx'
import { theme } from '../../web/theme.ts'
import { endSession, isOffline, storedAtMs } from '../connection.ts'
import {
  type AreaName,
  addressOfArea,
  type ConversationRef,
  DRAFTS,
  FEED,
  INBOX,
  keyOf,
  type Place,
} from '../model/conversation.ts'
import { channelsByFolder } from '../model/folders.ts'
import { isMuted, type RealmView } from '../model/realm.ts'
import { isAdministrator, mayInvite } from '../model/rights.ts'
import type { SubscribedChannel } from '../model/types.ts'
import { linkTo, linkToChannel, personName, shortName } from '../names.ts'
import { viewTitle } from '../notify.ts'
import { outbox } from '../outbox.ts'
import { fragment } from '../place.ts'
import { reportPresence } from '../presence.ts'
import { problem } from '../problems.ts'
import { signOut } from '../session.ts'
import { openDialog } from '../wanted.ts'
import { words } from '../words/words.ts'
import { Count, Face, PresenceMark } from './parts.tsx'
import { Problem } from './problem.tsx'
import { useShortcuts } from './shortcuts.ts'

const DIRECTS_MAX = 12 // in the sidebar; older ones are found through their messages

export function Frame({ realm, place, children }: { realm: RealmView; place: Place; children: ComponentChildren }) {
  const total = realm.unread
    .groups()
    .filter(({ conversation }) => !isMuted(realm, conversation))
    .reduce((sum, { ids }) => sum + ids.length, 0)
  useEffect(() => reportPresence(realm), [realm])
  useShortcuts(realm)
  const refused = outbox.value.filter(({ refusal }) => refusal !== null).length
  return (
    <div class={`frame view-${place.view}`}>
      <SkipLink>{words.skip}</SkipLink>
      <header class="side">
        <div class="bar">
          <a class="brand" href={INBOX}>
            <Mark />
            <span>{realm.name}</span>
          </a>
          <Menu realm={realm} />
        </div>
        <SideBar realm={realm} place={place} total={total} refused={refused} />
      </header>
      <main id="content" tabIndex={-1}>
        <Toast />
        <div role="status">
          {isOffline.value && (
            <div class="offline">
              {storedAtMs.value === 0 ? words.offline : words.offlineSince(new Date(storedAtMs.value))}
            </div>
          )}
        </div>
        {children}
      </main>
    </div>
  )
}

function Toast() {
  return (
    <div class="toast">
      <Problem
        error={problem.value}
        also={
          <Action
            kind="small"
            onClick={() => {
              problem.value = null
            }}
          >
            {words.dismiss}
          </Action>
        }
      />
    </div>
  )
}

function SideBar(props: { realm: RealmView; place: Place; total: number; refused: number }) {
  const { realm, place, total, refused } = props
  const here = place.view === 'conversation' ? keyOf(place.conversation) : ''
  const groups = realm.unread.groups()
  const topicsOf = (id: number): ConversationRef[] => {
    const shown = groups
      .map(({ conversation }) => conversation)
      .filter((one) => one.kind === 'topic' && one.channelId === id && !isMuted(realm, one))
    const open = place.view === 'conversation' ? place.conversation : null
    const isListed = open !== null && shown.some((one) => keyOf(one) === here)
    return open?.kind === 'topic' && open.channelId === id && !isListed ? [...shown, open] : shown
  }
  return (
    <nav aria-label={words.conversations}>
      <a class="row-link" href={INBOX} aria-current={place.view === 'inbox' ? 'page' : undefined}>
        <span>{words.inbox}</span>
        <Count value={total} />
      </a>
      <AreaLinks place={place} />
      <a class="row-link" href={DRAFTS} aria-current={place.view === 'drafts' ? 'page' : undefined}>
        <span>{words.drafts}</span>
        {refused > 0 && <span class="mention">{words.refusedCount(refused)}</span>}
      </a>
      <h2>
        {words.direct}
        <a class="add" href={addressOfArea('new-direct')} aria-label={words.newDirect} title={words.newDirect}>
          +
        </a>
      </h2>
      <ul>
        {realm.directs
          .filter((conversation) => !isMuted(realm, conversation))
          .slice(0, DIRECTS_MAX)
          .map((conversation) => (
            <li key={keyOf(conversation)}>
              <ConversationLink realm={realm} conversation={conversation} isHere={keyOf(conversation) === here} />
            </li>
          ))}
      </ul>
      <h2>
        {words.channels}
        <a class="add" href={addressOfArea('channels')} aria-label={words.browseChannels} title={words.browseChannels}>
          +
        </a>
      </h2>
      <ChannelLists
        realm={realm}
        isByFolder={realm.settings.web_left_sidebar_show_channel_folders !== false}
        show={(channel) => (
          <li key={channel.stream_id} class={channel.is_muted ? 'muted' : undefined}>
            <a
              class="row-link"
              href={linkToChannel(realm, channel.stream_id)}
              aria-current={place.view === 'channel' && place.channelId === channel.stream_id ? 'page' : undefined}
            >
              <span>
                <ChannelMark color={channel.color} />
                {channel.name}
              </span>
            </a>
            <ul>
              {topicsOf(channel.stream_id).map((topic) => (
                <li key={keyOf(topic)} class="topic">
                  <ConversationLink realm={realm} conversation={topic} isHere={keyOf(topic) === here} />
                </li>
              ))}
            </ul>
          </li>
        )}
      />
    </nav>
  )
}

/** Channels of the account, each folder under its name. */
export function ChannelLists(props: {
  realm: RealmView
  isByFolder: boolean
  listClass?: string
  show: (channel: SubscribedChannel) => ComponentChildren
}) {
  const { realm, isByFolder, listClass, show } = props
  const groups = channelsByFolder(realm, isByFolder)
  const hasFolders = groups.some(({ folder }) => folder !== null)
  return groups.map(({ folder, channels }, at) => (
    <Fragment key={folder?.id ?? (at === 0 ? 'first' : 'others')}>
      {folder !== null && <h3>{folder.name}</h3>}
      {folder === null && hasFolders && at > 0 && <h3>{words.otherChannels}</h3>}
      <ul class={listClass}>{channels.map(show)}</ul>
    </Fragment>
  ))
}

/** Links to views that have no conversation. */
function AreaLinks({ place }: { place: Place }) {
  const linkTo = (area: AreaName): [string, boolean] => [
    addressOfArea(area),
    place.view === 'area' && place.area === area,
  ]
  const all: [text: string, href: string, isHere: boolean][] = [
    [words.recent, ...linkTo('recent')],
    [words.feed, FEED, place.view === 'feed'],
    [words.search, ...linkTo('search')],
    [words.people, ...linkTo('people')],
  ]
  return all.map(([text, href, isHere]) => (
    <a key={href} class="row-link" href={href} aria-current={isHere ? 'page' : undefined}>
      <span>{text}</span>
    </a>
  ))
}

function ConversationLink(props: { realm: RealmView; conversation: ConversationRef; isHere: boolean }) {
  const { realm, conversation, isHere } = props
  return (
    <a class="row-link" href={linkTo(realm, conversation)} aria-current={isHere ? 'page' : undefined}>
      <span>
        {conversation.kind === 'direct' && (
          <PresenceMark realm={realm} id={conversation.userIds.length === 1 ? conversation.userIds[0] : undefined} />
        )}
        {shortName(realm, conversation)}
      </span>
      <Count value={realm.unread.countOf(conversation)} />
    </a>
  )
}

/** Bar in the channel's color. The style is set through the DOM, which the page's content security policy permits. */
export function ChannelMark({ color }: { color: string }) {
  return <span class="channel-mark" style={{ backgroundColor: color }} />
}

function Menu({ realm }: { realm: RealmView }) {
  const run = useRun()
  const waiting = outbox.value.filter(({ id }) => id === null).length
  const menu = useRef<HTMLDetailsElement>(null)
  useLayoutEffect(() => {
    if (menu.current) menu.current.open = false
  }, [fragment.value])
  return (
    <details class="who" ref={menu}>
      <summary aria-label={words.menu}>
        <Face person={realm.people.get(realm.ownId)} size="small" />
      </summary>
      <div class="menu">
        <strong>{personName(realm, realm.ownId)}</strong>
        <a href={DRAFTS}>{words.drafts}</a>
        <a href={addressOfArea('settings', 'profile')}>{words.settings}</a>
        <a href={addressOfArea('settings', 'devices')}>{words.devices}</a>
        {(isAdministrator(realm) || mayInvite(realm)) && (
          <a href={addressOfArea('organization')}>{words.organization}</a>
        )}
        <a href={addressOfArea('about')}>{words.aboutOf(realm.name)}</a>
        <Action
          kind="link"
          onClick={() => {
            openDialog.value = 'shortcuts'
          }}
        >
          {words.shortcuts}
        </Action>
        <Select label={words.theme} bind={theme} options={Object.entries(words.themes)} />
        {waiting > 0 && <p class="error">{words.signOutLoses(waiting)}</p>}
        <Action busy={run.busy.value} onClick={() => void run.start(words.signingOut, () => endSession(signOut))}>
          {waiting > 0 ? words.signOutAnyway : words.signOut}
        </Action>
        <Problem error={run.error.value} />
      </div>
    </details>
  )
}

/** Heading of a view, with a back button on narrow screens. */
export function ViewTitle({
  title,
  before,
  children,
}: {
  title: string
  before?: ComponentChildren
  children?: ComponentChildren
}) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    viewTitle.value = title
    heading.current?.focus({ preventScroll: true })
  }, [title])
  return (
    <div class="title">
      <a class="back" href={INBOX} aria-label={words.back}>
        ‹
      </a>
      {before}
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </div>
  )
}
