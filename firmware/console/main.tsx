/** The page that administers the appliance: what the browser runs first. Which view is shown follows state, role and route. */

import type { ComponentChildren } from 'preact'
import { render } from 'preact'
import { watchIdle } from './idle.ts'
import { AccountPage } from './pages/account.tsx'
import { AuditPage } from './pages/audit.tsx'
import { BackupPage } from './pages/backup.tsx'
import { CertificatePage } from './pages/certificate.tsx'
import { KeyPage } from './pages/key.tsx'
import { KeysPage } from './pages/keys.tsx'
import { MetricsPage } from './pages/metrics.tsx'
import { NamespacesPage } from './pages/namespaces.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { RestorePage } from './pages/restore.tsx'
import { SettingsPage } from './pages/settings.tsx'
import { SignInPage } from './pages/sign-in.tsx'
import { FailedPage, TrialPage, UnreachablePage } from './pages/states.tsx'
import { SystemPage } from './pages/system.tsx'
import { UnlockPage } from './pages/unlock.tsx'
import { UpdatePage } from './pages/update.tsx'
import { UserPage, UsersPage } from './pages/users.tsx'
import { isSettingUp, WelcomePage, WizardPage } from './pages/wizard.tsx'
import { Frame, Title, type View } from './parts/frame.tsx'
import { route, watchRoute } from './routes.ts'
import {
  accountFor,
  accounts,
  isRootAdministrator,
  type Need,
  ROOT_ADMINISTRATOR,
  signOutAll,
  state,
  watchState,
} from './state.ts'
import { applyTheme } from './theme.ts'
import * as words from './words.ts'

/** In the order of the list. `also` shows a view to those who get a question for an account in it. */
const VIEWS: readonly (View & { need: Need; also?: () => boolean })[] = [
  { name: 'overview', need: { roles: ['Administrator', 'Operator', 'Metrics', 'Backup'] }, page: OverviewPage },
  { name: 'keys', need: { roles: ['Administrator', 'Operator'] }, page: KeysPage },
  { name: 'users', need: { roles: ['Administrator'] }, page: UsersPage },
  { name: 'namespaces', need: ROOT_ADMINISTRATOR, page: NamespacesPage },
  { name: 'audit', need: ROOT_ADMINISTRATOR, page: AuditPage },
  { name: 'metrics', need: { roles: ['Metrics'] }, also: () => isRootAdministrator.value, page: MetricsPage },
  { name: 'backup', need: { roles: ['Backup'], root: true }, also: () => isRootAdministrator.value, page: BackupPage },
  { name: 'restore', need: ROOT_ADMINISTRATOR, page: RestorePage },
  { name: 'update', need: ROOT_ADMINISTRATOR, page: UpdatePage },
  { name: 'certificate', need: ROOT_ADMINISTRATOR, page: CertificatePage },
  { name: 'settings', need: ROOT_ADMINISTRATOR, page: SettingsPage },
  { name: 'system', need: ROOT_ADMINISTRATOR, page: SystemPage },
  { name: 'account', need: { roles: ['Operator', 'Administrator'] }, page: AccountPage },
]

function Page() {
  const isWorking = state.value === 'Operational' && accounts.value.length > 0 && !isSettingUp.value
  const views = isWorking ? VIEWS.filter(({ need, also }) => accountFor(need) !== null || also?.()) : []
  return <Frame views={views}>{isWorking ? workPage(views) : statePage()}</Frame>
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

function workPage(views: readonly View[]): ComponentChildren {
  const [first = 'overview', id] = route.value.path
  const query = route.value.query.get('add') ?? route.value.query.get('new') ?? ''
  if (first === 'sign-in') return <SignInPage />
  if (first === 'welcome') return <WelcomePage />
  const view = views.find(({ name }) => name === first)
  if (view === undefined) return <Title>{words.notFound}</Title>
  if (first === 'keys' && id !== undefined) return <KeyPage key={id} id={id} />
  if (first === 'users' && id !== undefined) return <UserPage key={id} id={id} />
  const Shown = view.page
  return <Shown key={first + query} />
}

applyTheme()
watchRoute(() => scrollTo(0, 0))
watchState()
watchIdle(signOutAll)
// The browser may keep the page to show it again: then without anybody in it.
addEventListener('pagehide', () => signOutAll('left'))
document.getElementById('app')!.textContent = ''
render(<Page />, document.getElementById('app')!)
