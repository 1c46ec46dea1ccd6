/** Entry point of the web console. State, role and route decide which view is shown. */

import type { ComponentChildren } from 'preact'
import { render } from 'preact'
import { defined } from '../base/defined.ts'
import { applyTheme } from '../web/theme.ts'
import { emptyPassphrases, watchIdle } from './idle.ts'
import { AuditPage } from './pages/audit.tsx'
import { KeyPage } from './pages/key.tsx'
import { KeysPage } from './pages/keys.tsx'
import { NamespacePage, NamespacesPage } from './pages/namespaces.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { RestorePage } from './pages/restore.tsx'
import { NeedsAccount, SignInPage } from './pages/sign-in.tsx'
import { FailedPage, TrialPage, UnreachablePage } from './pages/states.tsx'
import { SystemPage } from './pages/system.tsx'
import { UnlockPage } from './pages/unlock.tsx'
import { UserPage, UsersPage } from './pages/users.tsx'
import { isSettingUp, WelcomePage, WizardPage } from './pages/wizard.tsx'
import { Frame, Title, type ViewName, type ViewProps } from './parts/frame.tsx'
import { onDemand } from './parts/on-demand.tsx'
import { route, to, watchRoute } from './routes.ts'
import {
  accountFor,
  accounts,
  apiOf,
  isRootAdministrator,
  type Need,
  ROLES,
  ROOT_ADMINISTRATOR,
  signOutAll,
  state,
  watchState,
} from './state.ts'
import * as words from './words.ts'

interface View {
  readonly need: Need
  readonly page: (props: ViewProps) => ComponentChildren
  /** View of one listed object; `id` comes from the route. */
  readonly one?: (props: ViewProps & { id: string }) => ComponentChildren
  /** True if users without the required role see the view in the list, too. It asks them for an account that has it. */
  readonly also?: () => boolean
}

const ADMINISTRATOR: Need = { roles: ['Administrator'] }

/** In the order of the navigation. */
const VIEWS: Readonly<Record<ViewName, View>> = {
  overview: { need: { roles: [...ROLES] }, page: OverviewPage },
  keys: { need: { roles: ['Administrator', 'Operator'] }, page: KeysPage, one: KeyPage },
  users: { need: ADMINISTRATOR, page: UsersPage, one: UserPage },
  namespaces: { need: ROOT_ADMINISTRATOR, page: NamespacesPage, one: NamespacePage },
  audit: { need: ROOT_ADMINISTRATOR, page: AuditPage },
  metrics: {
    need: { roles: ['Metrics'] },
    also: () => isRootAdministrator.value,
    page: onDemand(({ MetricsPage }) => MetricsPage),
  },
  backup: {
    need: { roles: ['Backup'], root: true },
    also: () => isRootAdministrator.value,
    page: onDemand(({ BackupPage }) => BackupPage),
  },
  restore: { need: ROOT_ADMINISTRATOR, page: RestorePage },
  update: { need: ROOT_ADMINISTRATOR, page: onDemand(({ UpdatePage }) => UpdatePage) },
  certificate: { need: ROOT_ADMINISTRATOR, page: onDemand(({ CertificatePage }) => CertificatePage) },
  chat: { need: ROOT_ADMINISTRATOR, page: onDemand(({ ChatPage }) => ChatPage) },
  cluster: { need: ROOT_ADMINISTRATOR, page: onDemand(({ ClusterPage }) => ClusterPage) },
  settings: { need: ROOT_ADMINISTRATOR, page: onDemand(({ SettingsPage }) => SettingsPage) },
  system: { need: ROOT_ADMINISTRATOR, page: SystemPage },
  account: { need: { roles: ['Operator', 'Administrator'] }, page: onDemand(({ AccountPage }) => AccountPage) },
}
const NAMES = Object.keys(VIEWS) as ViewName[]

function Page() {
  const isWorking = state.value === 'Operational' && accounts.value.length > 0 && !isSettingUp.value
  const maySee = (name: ViewName) => accountFor(VIEWS[name].need) !== null || VIEWS[name].also?.()
  return <Frame views={isWorking ? NAMES.filter(maySee) : []}>{isWorking ? <WorkPage /> : statePage()}</Frame>
}

function statePage(): ComponentChildren {
  if (isSettingUp.value) return <WizardPage />
  switch (state.value) {
    case 'Unprovisioned':
      return <WizardPage />
    case 'Locked':
      return <UnlockPage />
    case 'Failed':
      return <FailedPage />
    case 'Trial':
      return <TrialPage />
    case 'Unreachable':
      return <UnreachablePage />
    case 'Operational':
      return <SignInPage />
    case 'Starting':
      return <p>{words.states.Starting}</p>
  }
}

function WorkPage() {
  const { path, query } = route.value
  const [first = 'overview', id] = path
  if (first === 'sign-in') return <SignInPage />
  if (first === 'welcome') return <WelcomePage />
  const name = NAMES.find((other) => other === first)
  if (name === undefined) return <Title key={first}>{words.notFound}</Title>
  const { need, page: List, one: One } = VIEWS[name]
  const account = accountFor(need)
  const isOne = One !== undefined && id !== undefined
  const key = `${path.join('/')} ${query.get('add') ?? query.get('new') ?? ''}`
  const common = account && { key: `${key} ${account.user}`, account, api: apiOf(account) }
  return (
    <>
      <Title key={key}>{isOne ? id : words.views[name]}</Title>
      {isOne ? (
        <p>
          <a href={to(name)}>{words.views[name]}</a>
        </p>
      ) : (
        words.leads[name] && <p>{words.leads[name]}</p>
      )}
      {common === null ? <NeedsAccount need={need} /> : isOne ? <One {...common} id={id} /> : <List {...common} />}
    </>
  )
}

applyTheme()
watchRoute(() => scrollTo(0, 0))
watchState()
watchIdle(signOutAll)
// The browser may keep the page and show it again; nobody may be signed in then.
addEventListener('pagehide', () => {
  signOutAll('left')
  emptyPassphrases()
})
const app = defined(document.getElementById('app'))
app.textContent = ''
render(<Page />, app)
