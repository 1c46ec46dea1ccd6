/** Entry point of the chat page. The address and the connection decide which view is shown. */

import type { ComponentChildren } from 'preact'
import { render } from 'preact'
import { applyTheme } from '../web/theme.ts'
import { connect, realm, revision, stage } from './connection.ts'
import { readPlace } from './model/conversation.ts'
import { fragment, watchPlace } from './place.ts'
import { AreaView } from './views/area.tsx'
import { ChannelView } from './views/channel.tsx'
import { ConversationView } from './views/conversation.tsx'
import { DraftsView, waitingMessages } from './views/drafts.tsx'
import { Entry, JoinPage, PasswordPage, SealedPage, SignInPage, UnreachablePage } from './views/entry.tsx'
import { Frame } from './views/frame.tsx'
import { InboxView } from './views/inbox.tsx'
import * as words from './words/en.ts'

function Page(): ComponentChildren {
  const [, key] = /^#([\w-]+)\/?$/.exec(fragment.value) ?? []
  if (stage.value === 'starting' && realm.value === null && key !== undefined) {
    if (location.pathname === '/join/') return <JoinPage invitation={key} key={key} />
    if (location.pathname === '/password/') return <PasswordPage link={key} key={key} />
  }
  switch (stage.value) {
    case 'starting':
      return <Entry title={words.loading}>{null}</Entry>
    case 'signedOut':
      return <SignInPage />
    case 'sealed':
      return <SealedPage />
    case 'unreachable':
      return <UnreachablePage />
    case 'ready':
      return <Chat />
  }
}

function Chat() {
  const view = realm.value
  void revision.value // renders again after each event
  if (view === null) return null
  const place = readPlace(fragment.value, view.ownId)
  return (
    <Frame realm={view} place={place}>
      {place.view === 'inbox' && <InboxView realm={view} />}
      {place.view === 'drafts' && <DraftsView realm={view} waiting={waitingMessages()} />}
      {place.view === 'area' && <AreaView realm={view} area={place.area} path={place.path} revision={revision.value} />}
      {place.view === 'channel' && <ChannelView realm={view} channelId={place.channelId} key={place.channelId} />}
      {place.view === 'conversation' && (
        <ConversationView
          realm={view}
          conversation={place.conversation}
          near={place.near}
          key={`${fragment.value} ${view.ownId}`}
        />
      )}
    </Frame>
  )
}

applyTheme()
watchPlace()
if (!['/join/', '/password/'].includes(location.pathname) || location.hash === '') connect()
document.getElementById('app')!.textContent = ''
render(<Page />, document.getElementById('app')!)
