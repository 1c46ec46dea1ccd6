/** The first view: state, and problems with a link to the view that repairs each. */

import type { ComponentChildren } from 'preact'
import type { AuditLine } from '../../client/audit-lines.ts'
import { readCertificates } from '../../client/certificate.ts'
import type * as T from '../../client/types.ts'
import type { Api } from '../api.ts'
import { count, time } from '../format.ts'
import { Card, Columns, Fact } from '../parts/frame.tsx'
import { useLoad, Waiting } from '../parts/loading.tsx'
import { to } from '../routes.ts'
import { accountFor, accounts, aheadMs, apiOf, applianceNow, ROOT_ADMINISTRATOR } from '../state.ts'
import * as words from '../words.ts'
import { AuditTable } from './audit.tsx'
import { clockWords } from './wizard.tsx'

const DAY_MS = 86_400_000
const SELF_SIGNED_DAYS = 36_500 // practically unlimited: contract section 2

interface Facts {
  version: string
  alerts: T.Alert[]
  unattended: boolean
  days: number
  backupSet: string | null
  lastBackup: string | null
  leftOut: number
  keys: number
  users: number
  lines: AuditLine[]
}

export function OverviewPage() {
  const administrator = accountFor(ROOT_ADMINISTRATOR)
  return (
    <>
      {administrator !== null && <Administration key={administrator.id} api={apiOf(administrator)} />}
      <Card title={words.overviewYou}>
        <table>
          <caption class="hidden">{words.overviewYouMay}</caption>
          <Columns names={[words.user, words.usersRole, words.overviewYouMay]} />
          <tbody>
            {accounts.value.map(({ id, user, role, namespace }) => (
              <tr key={id}>
                <th scope="row" class="id">
                  {user}
                </th>
                <td data-name={words.usersRole}>
                  {words.roles[role]} {namespace !== null && words.signInInNamespace(namespace)}
                </td>
                <td>{words.rolesMay[role]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Card>
    </>
  )
}

function Administration({ api }: { api: Api }) {
  const facts = useLoad(() => loadFacts(api), [api === null])
  const found = facts.value.value
  if (found === null) return <Waiting of={facts} />
  const warnings = warningsOf(found)
  return (
    <>
      <Card title={words.overviewAttention}>
        {warnings.length === 0 && <p>{words.overviewFine}</p>}
        {warnings.map(([text, link, mend]) => (
          <div class="notice warn" key={text}>
            <p>
              <strong>{text}</strong> <a href={link}>{mend}</a>
            </p>
          </div>
        ))}
      </Card>
      <div class="grid">
        <Figure name={words.overviewKeys} value={count(found.keys)} link={to('keys')} />
        <Figure name={words.overviewUsers} value={count(found.users)} link={to('users')} />
        <Figure name={words.version} value={found.version} link={to('update')} />
      </div>
      <Card>
        <dl class="facts">
          <Fact name={words.clock}>
            {time(applianceNow()).replace(/:\d\d UTC/, ' UTC')},{' '}
            {aheadMs.value === 0 ? words.overviewClockSame : clockWords(aheadMs.value)}
          </Fact>
          <Fact name={words.start}>{found.unattended ? words.overviewUnattended : words.overviewAttended}</Fact>
          <Fact name={words.overviewCertificate}>
            {found.days > SELF_SIGNED_DAYS ? words.overviewFarFuture : words.overviewDaysLeft(found.days)}
          </Fact>
          <Fact name={words.backupPassphrase}>
            {found.backupSet === null ? words.overviewNotSet : words.overviewSetOn(time(found.backupSet))}
          </Fact>
          <Fact name={words.overviewLastBackup}>
            {found.lastBackup === null ? words.overviewNever : time(found.lastBackup)}
          </Fact>
          {found.leftOut > 0 && (
            <Fact name={words.overviewLastRestore}>
              <a href={to('restore')}>{words.overviewLeftOut(found.leftOut)}</a>
            </Fact>
          )}
        </dl>
      </Card>
      <Card title={words.overviewLast}>
        <AuditTable lines={found.lines} caption={words.auditCaption} />
      </Card>
    </>
  )
}

function Figure({ name, value, link }: { name: string; value: ComponentChildren; link: string }) {
  return (
    <section class="card figure">
      <a href={link}>{name}</a>
      <strong>{value}</strong>
    </section>
  )
}

async function loadFacts(api: Api): Promise<Facts> {
  const newest = async (action: string) => {
    const { lines } = await api.get<T.AuditPage>(`/audit?limit=20&action=${encodeURIComponent(action)}`)
    return lines.find(({ result }) => result < 300)?.time ?? null
  }
  const [alerts, info, software, boot, chain, keys, users, audit, backupSet, backups, report] = await Promise.all([
    api.get<T.Alert[]>('/alerts'),
    api.get<T.SystemInfo>('/system/info'),
    api.get<T.Software>('/system/software'),
    api.get<T.Switch>('/config/unattended-boot'),
    api.text('GET', '/config/tls/cert.pem'),
    api.get<unknown[]>('/keys?types=all'),
    api.get<unknown[]>('/users'),
    api.get<T.AuditPage>('/audit?limit=10'),
    newest('PUT /config/backup-passphrase'),
    api.get<T.BackupStatus>('/system/backup-status'),
    api.get<T.RestoreReport>('/system/restore-report'),
  ])
  const [leaf] = readCertificates(chain)
  return {
    version: software.version ?? info.softwareVersion,
    alerts,
    unattended: boot.status === 'on',
    days: leaf === undefined ? 0 : Math.floor((leaf.notAfter.getTime() - applianceNow().getTime()) / DAY_MS),
    backupSet,
    lastBackup: backups.lastComplete ?? null,
    leftOut: report.leftOut.length + report.more,
    keys: keys.length,
    users: users.length,
    lines: audit.lines,
  }
}

type Warning = [text: string, link: string, mend: string]

/** The alerts of the appliance, and the clock, which this computer alone can compare. */
function warningsOf({ alerts, backupSet }: Facts): Warning[] {
  const mends: Record<string, readonly [link: string, mend: string]> = {
    'certificate-appliance': [to('certificate'), words.overviewMend.certificate],
    'certificate-chat': [to('chat'), words.overviewMend.certificate],
    update: [to('update'), words.overviewMend.update],
    audit: [to('audit'), words.overviewMend.audit],
    syslog: [to('settings'), words.overviewMend.syslog],
    backup:
      backupSet === null ? [to('settings'), words.overviewMend.backup] : [to('backup'), words.overviewMend.makeBackup],
    chat: [to('chat'), words.overviewMend.chat],
    store: [to('restore'), words.overviewMend.store],
    cluster: [to('cluster'), words.overviewMend.cluster],
    clock: [to('settings'), words.overviewMend.clock],
  }
  const found = alerts.map(
    ({ id, text }): Warning => [text, ...(mends[id] ?? [to('system'), words.overviewMend.system])],
  )
  if (aheadMs.value === 0) return found
  return [...found, [words.overviewClockOff(clockWords(aheadMs.value)), to('settings'), words.overviewMend.clock]]
}
