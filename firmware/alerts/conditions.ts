/**
 * The conditions that administrators are told of: one list for `GET /alerts`, the metrics, the page and mail. Contract section 7.10.
 * Texts have numbers and dates, and no name of a key, user or channel: they leave the appliance by mail.
 */

import type { Acme } from '../acme/service.ts'
import type { AcmePort } from '../acme/settings.ts'
import type { Appliance } from '../appliance/appliance.ts'
import { formatTime } from '../base/clock.ts'
import type { ChatService } from '../chat/link/chat-service.ts'
import type { TlsSettings } from '../configuration/tls-settings.ts'
import type { Forwarder } from '../forwarding/forwarder.ts'
import type { OutgoingClient } from '../outgoing/client.ts'

export const ALERT_IDS = [
  'certificate-appliance',
  'certificate-chat',
  'locked',
  'update',
  'disk',
  'audit',
  'syslog',
  'outgoing',
  'backup',
  'chat',
  'store',
  'cluster',
  'clock',
] as const
export type AlertId = (typeof ALERT_IDS)[number]

export interface Finding {
  level: 'warning' | 'critical'
  /** Whole sentences in ASCII. */
  text: string
}

export interface AlertCondition {
  id: AlertId
  /** Null if it does not hold, undefined if that cannot be told now: it then stays as it was. Throws `CofferError` likewise. */
  check(): Finding | null | undefined
  /** For the reader of a mail: whole sentences in ASCII. */
  advice: string
}

export interface AlertSources {
  appliance: Pick<
    Appliance,
    | 'state'
    | 'clock'
    | 'configuration'
    | 'space'
    | 'audit'
    | 'backups'
    | 'cluster'
    | 'replica'
    | 'openFailure'
    | 'hasDamage'
  >
  acme: Pick<Acme, 'view'>
  chat: Pick<ChatService, 'state' | 'hasOlderCopies'> | undefined
  outgoing: Pick<OutgoingClient, 'isDown'> | undefined
  forwarder: Pick<Forwarder, 'view' | 'confirmations'> | undefined
  /** An update was tried and rolled back, or could not be committed. */
  hasUpdateFailed(): boolean
  /** True if a time server should set the clock and does not. */
  isTimeServerSilent(): boolean
  /** Milliseconds since any moment; never jumps. */
  monotonicMs(): number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const MIB = 1024 * 1024

/** Part of a certificate's life that is left, but of a long life no more than so much: a mail each day for years is not read. */
const ENDING = { share: 1 / 4, msMax: 30 * DAY_MS }
const ENDING_SOON = { share: 1 / 10, msMax: 7 * DAY_MS }
const RENEWAL_MS_MAX = DAY_MS // the sixth attempt has failed by then
const LOCKED_MS_MAX = 5 * MINUTE_MS // a person who has restarted it unlocks it sooner
const DISK_SHARE = 1 / 10
const DISK_SHARE_CRITICAL = 1 / 20
const AUDIT_SHARE = 9 / 10
const UNCONFIRMED_SHARE = 4 / 5
const SYSLOG_MS_MAX = 10 * MINUTE_MS // a server that is updated is back sooner
const BACKUP_MS_MAX = 30 * DAY_MS
const CLUSTER_MS_MAX = MINUTE_MS
const CLOCK_MS_MAX = HOUR_MS

export function conditionsOf(sources: AlertSources): AlertCondition[] {
  const { appliance } = sources
  const whileOpen = <T>(check: () => T): T | undefined => (appliance.state === 'Operational' ? check() : undefined)
  return [
    certificateCondition('appliance', sources),
    certificateCondition('chat', sources),
    lockedCondition(sources),
    {
      id: 'update',
      check: () =>
        sources.hasUpdateFailed() ? warning('The last update was rolled back or could not be committed.') : null,
      advice: 'View the reason on the page under Update, and upload the update again or another one.',
    },
    {
      id: 'disk',
      check: () => checkDisk(appliance),
      advice: 'Delete uploads of the chat or keys that are not needed, or use a larger disk.',
    },
    {
      id: 'audit',
      check: () => checkAudit(appliance),
      advice: 'Export the audit log: coffer audit export.',
    },
    syslogCondition(sources),
    {
      id: 'outgoing',
      check: () => (sources.outgoing?.isDown ? warning('The process for outgoing connections does not run.') : null),
      advice: 'Read the log of the appliance. The process is started again and again.',
    },
    {
      id: 'backup',
      check: () => whileOpen(() => checkBackup(appliance)),
      advice: 'Set a backup passphrase if there is none, and make a backup: coffer backup create.',
    },
    {
      id: 'chat',
      check: () => whileOpen(() => checkChat(sources.chat)),
      advice: 'View the chat on the page, and restore a backup if it stays as it is.',
    },
    {
      id: 'store',
      check: () => checkStore(appliance),
      advice: 'Read the log of the appliance, and restore a backup.',
    },
    {
      id: 'cluster',
      check: () => checkCluster(appliance),
      advice: 'Check the other nodes of the cluster and the network between them.',
    },
    clockCondition(sources),
  ]
}

const warning = (text: string): Finding => ({ level: 'warning', text })
const critical = (text: string): Finding => ({ level: 'critical', text })

/** Returns how long something has held without a break, by a clock that never jumps; 0 if it does not hold. */
function createStopwatch(monotonicMs: () => number): (holds: boolean) => number {
  let sinceMs: number | null = null
  return (holds) => {
    sinceMs = holds ? (sinceMs ?? monotonicMs()) : null
    return sinceMs === null ? 0 : monotonicMs() - sinceMs
  }
}

function certificateCondition(port: AcmePort, { appliance, acme, chat, monotonicMs }: AlertSources): AlertCondition {
  const failing = createStopwatch(monotonicMs)
  const name = `The certificate of the ${port === 'chat' ? "chat's" : "appliance's"} port`
  const tls = (): TlsSettings => appliance.configuration[port === 'chat' ? 'chatTls' : 'tls']
  const isPresent = () =>
    tls().identityIfAny !== undefined && (port === 'appliance' || (chat?.state ?? 'none') !== 'none')
  let failedMs = 0
  let isFailing: boolean | undefined // not known while Locked
  let isEnding = false
  return {
    id: `certificate-${port}`,
    check() {
      const wasEnding = isEnding
      isEnding = false
      if (!isPresent()) return null
      const { startMs, endMs } = tls().life
      const leftMs = endMs - appliance.clock.now()
      const isWithin = ({ share, msMax }: typeof ENDING) => leftMs < Math.min((endMs - startMs) * share, msMax)
      const ends = `${name} ends at ${formatTime(endMs)}.`
      isEnding = leftMs <= 0 || isWithin(ENDING_SOON) || isWithin(ENDING)
      if (leftMs <= 0) return critical(`${name} has ended at ${formatTime(endMs)}.`)
      if (isWithin(ENDING_SOON)) return critical(ends)
      if (isWithin(ENDING)) return warning(ends)
      // While Locked nothing is ordered.
      if (appliance.state === 'Operational') {
        isFailing = acme.view().ports[port].failures > 0
        failedMs = failing(isFailing)
      }
      if (failedMs >= RENEWAL_MS_MAX) return warning(`${name} has not been renewed for a day: orders fail.`)
      return wasEnding || isFailing === false ? null : undefined
    },
    advice: 'View why orders fail (coffer config acme), or set another certificate.',
  }
}

function lockedCondition({ appliance, monotonicMs }: AlertSources): AlertCondition {
  const closed = createStopwatch(monotonicMs)
  return {
    id: 'locked',
    check() {
      const { state } = appliance
      const isClosed = state === 'Locked' || state === 'Failed'
      if (closed(isClosed) < LOCKED_MS_MAX) return isClosed ? undefined : null
      return critical(
        state === 'Failed'
          ? 'The appliance has failed. No key can be used.'
          : 'The appliance is locked. No key can be used until it is unlocked.',
      )
    },
    advice: 'Unlock it on its page or by coffer unlock. If it has failed, its console says why.',
  }
}

function checkDisk({ space }: AlertSources['appliance']): Finding | null {
  const { totalBytes, freeBytes, refused } = space.state()
  const share = freeBytes / totalBytes
  const free = `${Math.floor(freeBytes / MIB)} of ${Math.floor(totalBytes / MIB)} MiB of the disk are free.`
  if (refused.includes('records')) return critical(`${free} Keys, users and namespaces cannot be added.`)
  if (share < DISK_SHARE_CRITICAL) return critical(free)
  if (refused.length > 0) return warning(`${free} The chat takes no more files.`)
  return share < DISK_SHARE ? warning(free) : null
}

function checkAudit({ audit }: AlertSources['appliance']): Finding | null | undefined {
  if (audit === undefined) return undefined
  const { unexportedShare } = audit
  if (unexportedShare >= 1)
    return critical('The audit log is full of uses that were not exported. Uses of keys are refused.')
  if (unexportedShare < AUDIT_SHARE) return null
  return warning(
    'Nine tenths of the audit log hold uses that were not exported. Uses of keys are refused once it is full.',
  )
}

function syslogCondition({ appliance, forwarder, monotonicMs }: AlertSources): AlertCondition {
  const stalled = createStopwatch(monotonicMs)
  let confirmed = 0
  let { server } = appliance.configuration.syslog
  return {
    id: 'syslog',
    check() {
      const before = { confirmed, server }
      confirmed = forwarder?.confirmations ?? 0
      server = appliance.configuration.syslog.server
      const isWaiting = (forwarder?.view().waiting ?? 0) > 0
      const isNews = confirmed !== before.confirmed || server !== before.server
      if (isNews) stalled(false)
      if (stalled(isWaiting) >= SYSLOG_MS_MAX) return findStalled(appliance)
      return isNews || !isWaiting ? null : undefined
    },
    advice: 'View why it does not confirm (coffer config syslog), and check the log server and the network to it.',
  }
}

function findStalled({ audit, configuration }: AlertSources['appliance']): Finding {
  const text = 'The log server has confirmed nothing for ten minutes.'
  const share = configuration.syslog.send === 'log' ? 0 : (audit?.forwarding.unconfirmedShare ?? 0)
  if (share < UNCONFIRMED_SHARE) return warning(`${text} Lines wait for it.`)
  const isRefused = (audit?.unexportedShare ?? 0) >= share // uses that must be exported are not overwritten
  if (share < 1)
    return warning(
      `${text} Lines that wait for it fill four fifths of the audit log. Once it is full, ${isRefused ? 'uses of keys are refused' : 'the oldest are overwritten'}.`,
    )
  return critical(
    `${text} Lines that wait for it fill the audit log. ${isRefused ? 'Uses of keys are refused.' : 'The oldest are overwritten.'}`,
  )
}

function checkBackup({ backups: { lastMs }, clock }: AlertSources['appliance']): Finding | null {
  if (lastMs === null) return warning('No complete backup was ever made.')
  if (clock.now() - lastMs < BACKUP_MS_MAX) return null
  return warning(`The last complete backup was made at ${formatTime(lastMs)}.`)
}

function checkChat(chat: AlertSources['chat']): Finding | null {
  if (chat?.state === 'failed') return critical('The chat has failed.')
  if (!chat?.hasOlderCopies) return null
  return warning('A database of the chat was put back to an older copy, or has lost changes.')
}

function checkStore({ state, openFailure, hasDamage }: AlertSources['appliance']): Finding | null | undefined {
  if (openFailure !== undefined) return critical('The records cannot be opened.')
  if (state !== 'Operational') return undefined
  return hasDamage ? critical('Stored records are damaged, missing, or were put back to an older copy.') : null
}

function checkCluster({ cluster, replica }: AlertSources['appliance']): Finding | null {
  if (replica?.refusal != null) return critical('This node refuses what the cluster holds, and follows it no more.')
  if (Math.max(cluster.node.lostMs, replica?.lostMs ?? 0) >= CLUSTER_MS_MAX)
    return critical('The other nodes of the cluster do not answer. Nothing can be changed.')
  if (cluster.node.spaceProblem !== null) return critical('A node of the cluster has no room. Nothing can be changed.')
  if ((replica?.behindMs ?? 0) < CLUSTER_MS_MAX) return null
  return warning('This node is behind the others of the cluster.')
}

function clockCondition({ isTimeServerSilent, monotonicMs }: AlertSources): AlertCondition {
  const silent = createStopwatch(monotonicMs)
  return {
    id: 'clock',
    check() {
      const isSilent = isTimeServerSilent()
      const lastedMs = silent(isSilent)
      if (lastedMs >= CLOCK_MS_MAX) return warning('The time server has not been heard for an hour.')
      return isSilent ? undefined : null
    },
    advice: 'Check the address of the time server (coffer config ntp) and the network to it.',
  }
}
