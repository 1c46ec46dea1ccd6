/**
 * Mails alerts: once one has held for a while, each day while it lasts, and at its end; what comes together goes into one mail. It works in
 * every state, so that a Locked appliance says that it is Locked. Contract section 7.10.
 */

import { randomBytes } from 'node:crypto'
import { CofferError, describe } from '../base/error.ts'
import type { Log } from '../base/log.ts'
import type { MailSettings } from '../configuration/mail.ts'
import type { OutgoingClient } from '../outgoing/client.ts'
import { noOutgoing, OutgoingError } from '../outgoing/error.ts'
import type { AlertCondition, AlertId } from './conditions.ts'
import type { Alert, AlertList } from './list.ts'
import { alertMail, type MailedEvent, type MailHead, testMail } from './message.ts'
import type { MailProgress } from './progress.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const HOLD_MS = 2 * MINUTE_MS // what comes and goes meanwhile is no news
const REMINDER_MS = 24 * HOUR_MS
const MAILS_PER_HOUR_MAX = 20 // conditions that come and go must not fill a mailbox
const RETRY_MS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE_MS)
const TEST_INTERVAL_MS = 10_000
const ID_BYTES = 16

export interface AlertMailer {
  /** Mails what is due. Called again and again. */
  look(): void
  /** The settings have changed: what holds is mailed anew. */
  startAnew(): void
  /** Sends a mail that says so, and returns why it was not taken by all recipients, or null. Throws `unavailable` and `tooManyAttempts`. */
  test(): Promise<string | null>
}

interface MailerOptions {
  list: AlertList
  conditions: readonly Pick<AlertCondition, 'id' | 'advice'>[]
  progress: MailProgress
  settings: () => MailSettings
  /** Undefined where no connections to other hosts can be made. */
  send: OutgoingClient['mail'] | undefined
  /** Device id, and a host name if there is one. */
  appliance: () => string
  now: () => number
  monotonicMs: () => number
  log: Log
}

type Due = Omit<MailedEvent, 'advice'>

export function createAlertMailer(options: MailerOptions): AlertMailer {
  const { list, conditions, progress, settings, send, now, monotonicMs, log } = options
  const { mailed } = progress
  /** Since when a condition has held, or not held, without a break. */
  const held = new Map<AlertId, { isClear: boolean; sinceMs: number }>()
  let failures = 0
  let retryAtMs = -Infinity
  let testedAtMs = -Infinity
  let isSending = false
  let changes = 0

  const lasted = (id: AlertId): number => monotonicMs() - (held.get(id)?.sinceMs ?? monotonicMs())

  function follow(alerts: readonly Alert[]): void {
    for (const { id } of conditions) {
      const isClear = !alerts.some((alert) => alert.id === id)
      if (isClear && !list.isClear(id))
        held.delete(id) // not known
      else if (held.get(id)?.isClear !== isClear) held.set(id, { isClear, sinceMs: monotonicMs() })
    }
  }

  function dueOf(alert: Alert): Due[] {
    const before = mailed.get(alert.id)
    const isWorse = before?.level === 'warning' && alert.level === 'critical'
    if (before === undefined || isWorse) return lasted(alert.id) < HOLD_MS ? [] : [{ event: 'begun', ...alert }]
    const isDue = monotonicMs() - before.atMs >= REMINDER_MS
    return isDue ? [{ event: 'lasts', ...alert, sinceMs: before.sinceMs }] : []
  }

  function endOf(id: AlertId): Due[] {
    const before = mailed.get(id)
    if (before === undefined || held.get(id)?.isClear !== true || lasted(id) < HOLD_MS) return []
    return [{ id, event: 'ended', level: before.level, sinceMs: before.sinceMs, text: '' }]
  }

  function due({ alerts: ids }: MailSettings): Due[] {
    const alerts = list.current()
    follow(alerts)
    const all = [...alerts.flatMap(dueOf), ...conditions.flatMap(({ id }) => endOf(id))]
    return ids === null ? all : all.filter(({ id }) => ids.includes(id))
  }

  function note({ id, event, level, sinceMs }: Due): void {
    if (event === 'ended') mailed.delete(id)
    else mailed.set(id, { level, sinceMs, atMs: monotonicMs() })
  }

  async function sendAll(events: readonly Due[]): Promise<void> {
    const attempt = changes
    progress.noteSent()
    progress.keep() // also if the power fails meanwhile
    const sent = progress.sent()
    const heldMs = sent.length < MAILS_PER_HOUR_MAX ? null : (sent[0] ?? 0) + HOUR_MS - monotonicMs()
    const told = events.map((event) => ({ ...event, advice: adviceOf(event.id) }))
    const problem = await deliver((head) => alertMail(head, told, heldMs === null ? null : now() + heldMs))
    if (attempt !== changes) return // other settings by now
    if (problem?.isTaken === false) {
      waitLonger()
      log.warning('general', `cannot mail alerts: ${problem.text}`)
      return
    }
    if (problem !== null) log.warning('general', `alerts were mailed, but not to all: ${problem.text}`)
    failures = 0
    for (const event of events) note(event)
    progress.keep()
  }

  function waitLonger(): void {
    retryAtMs = monotonicMs() + (RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? HOUR_MS)
    failures++
  }

  const adviceOf = (id: AlertId): string => conditions.find((condition) => condition.id === id)?.advice ?? ''

  /** Resolves to what went wrong, or null. */
  async function deliver(write: (head: MailHead) => Uint8Array): Promise<{ isTaken: boolean; text: string } | null> {
    const { server, port, security, user, password, from, to } = settings()
    if (server === null || from === null || send === undefined) return null
    const head = { from, to, nowMs: now(), id: randomBytes(ID_BYTES).toString('hex'), appliance: options.appliance() }
    const login = user === null ? null : { user, password: new TextEncoder().encode(password ?? '') }
    try {
      const { accepted, refusal } = await send({ host: server, port, security, login, from, to, message: write(head) })
      if (refusal === undefined) return null
      return {
        isTaken: true,
        text: `${accepted} of ${to.length} recipients, and for another one it answered ${refusal}`,
      }
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      return { isTaken: false, text: error.message }
    }
  }

  return {
    look() {
      const current = settings()
      const events = due(current) // follows the conditions also while nothing is mailed
      if (current.server === null || send === undefined || isSending || events.length === 0) return
      if (monotonicMs() < retryAtMs || progress.sent().length >= MAILS_PER_HOUR_MAX) return
      isSending = true
      sendAll(events)
        .catch((error) => {
          waitLonger()
          log.error('general', `cannot mail alerts: ${describe(error)}`)
        })
        .finally(() => {
          isSending = false
        })
    },
    startAnew() {
      changes++
      failures = 0
      retryAtMs = -Infinity
      mailed.clear()
      progress.keep()
    },
    async test() {
      if (settings().server === null) throw new CofferError('unavailable', 'No mail server is set')
      if (send === undefined) throw noOutgoing()
      if (monotonicMs() - testedAtMs < TEST_INTERVAL_MS)
        throw new CofferError('tooManyAttempts', 'A mail was tested just now, try again in 10 seconds')
      testedAtMs = monotonicMs()
      return (await deliver(testMail))?.text ?? null
    },
  }
}
