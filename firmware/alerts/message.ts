/** A mail about alerts, in ASCII: RFC 5322. It has no text that a client or another host has chosen, but the name in the certificate. */

import { formatTime } from '../base/clock.ts'
import type { AlertId, Finding } from './conditions.ts'

export interface MailedEvent {
  id: AlertId
  /** `lasts`: it was mailed before. */
  event: 'begun' | 'lasts' | 'ended'
  level: Finding['level']
  sinceMs: number
  text: string
  advice: string
}

export interface MailHead {
  from: string
  to: readonly string[]
  /** By the appliance's clock. */
  nowMs: number
  /** Unique, of letters and digits. */
  id: string
  /** Device id, and a host name if there is one. */
  appliance: string
}

/** `heldUntilMs`: more mails are held back until then; null if more may be sent. */
export function alertMail(head: MailHead, events: readonly MailedEvent[], heldUntilMs: number | null): Uint8Array {
  const open = events.filter(({ event }) => event !== 'ended')
  const ended = events.filter(({ event }) => event === 'ended')
  const subject = [...open.map(({ id, level }) => `${id} (${level})`), ...ended.map(({ id }) => `${id} (ended)`)].join(
    ', ',
  )
  const more =
    heldUntilMs === null
      ? []
      : [
          'This is the last mail for now, since many were sent within an hour. More alerts are held back until',
          `${formatTime(heldUntilMs)}. View all of them on the page of the appliance.`,
          '',
        ]
  return mailOf(head, subject, [...open.flatMap(describeOpen), ...ended.flatMap(describeEnded), ...more])
}

export const testMail = (head: MailHead): Uint8Array =>
  mailOf(head, 'test', ['This is a test. Alerts of the appliance are mailed to this address.', ''])

const describeOpen = ({ id, event, level, sinceMs, text, advice }: MailedEvent): string[] => [
  `${level === 'critical' ? 'CRITICAL' : 'Warning'}: ${id}, ${event === 'lasts' ? 'still' : 'noticed'} since ${formatTime(sinceMs)}`,
  ...sentences(text),
  ...sentences(advice),
  '',
]

const describeEnded = ({ id, sinceMs }: MailedEvent): string[] => [
  `Ended: ${id}, which was noticed at ${formatTime(sinceMs)}`,
  '',
]

/** Sentences get lines of their own, so that no line is longer than RFC 5322 section 2.1.1 allows. */
const sentences = (text: string): string[] => text.split(/(?<=\.) (?=[A-Z])/).map((sentence) => `  ${sentence}`)

function mailOf({ from, to, nowMs, id, appliance }: MailHead, subject: string, body: readonly string[]): Uint8Array {
  const lines = [
    `From: Coffer <${from}>`,
    `To: ${to.join(',\r\n ')}`,
    `Subject: ${fold(`Coffer ${appliance}: ${subject}`)}`,
    `Date: ${new Date(nowMs).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    'Auto-Submitted: auto-generated',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=us-ascii',
    'Content-Transfer-Encoding: 7bit',
    '',
    `Appliance: ${appliance}`,
    '',
    ...body,
  ]
  return new TextEncoder().encode(`${lines.join('\r\n')}\r\n`)
}

const fold = (text: string): string => text.replace(/(.{40,70}), /g, '$1,\r\n ')
