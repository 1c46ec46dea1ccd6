/** Entry point of the chat page. The address and the connection decide which view is shown. */

import type { ComponentChildren } from 'preact'
import { render } from 'preact'
import { defined } from '../base/defined.ts'
import { applyTheme } from '../web/theme.ts'
import { connect, realm, revision, stage } from './connection.ts'
import { homeAddress, readPlace } from './model/conversation.ts'
import { startNotifying } from './notify.ts'
import { fragment, watchPlace } from './place.ts'
import { startPush } from './push.ts'
import { AreaView, LinkPage } from './views/area.tsx'
import { ChannelView } from './views/channel.tsx'
import { ConversationView } from './views/conversation.tsx'
import { DraftsView, waitingMessages } from './views/drafts.tsx'
import { Entry, SealedPage, SignInPage, UnreachablePage } from './views/entry.tsx'
import { FeedView } from './views/feed.tsx'
import { Frame } from './views/frame.tsx'
import { InboxView } from './views/inbox.tsx'
import { OpenDialog } from './views/open-dialog.tsx'
import { chooseLanguage, language, words } from './words/words.ts'

function Page(): ComponentChildren {
  const [, key] = /^#([\w-]+)\/?$/.exec(fragment.value) ?? []
  if (stage.value === 'starting' && realm.value === null && key !== undefined) {
    const isJoining = location.pathname === '/join/'
    if (isJoining || location.pathname === '/password/')
      return <LinkPage isJoining={isJoining} linkKey={key} key={key} />
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
  const at = fragment.value.length > 1 ? fragment.value : homeAddress(view.settings.web_home_view)
  const place = readPlace(at, view.ownId)
  return (
    <Frame realm={view} place={place}>
      {place.view === 'inbox' && <InboxView realm={view} />}
      {place.view === 'feed' && <FeedView realm={view} revision={revision.value} />}
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
      <OpenDialog realm={view} />
    </Frame>
  )
}

/** Another language renders all anew. */
const InLanguage = () => <Page key={language.value} />

async function start(): Promise<void> {
  applyTheme()
  watchPlace()
  const chosen = chooseLanguage(navigator.languages)
  startNotifying()
  startPush()
  if (!['/join/', '/password/'].includes(location.pathname) || location.hash === '') connect()
  await chosen
  const app = defined(document.getElementById('app'))
  app.textContent = ''
  render(<InLanguage />, app)
}

void start()
