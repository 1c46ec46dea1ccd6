/** What is sent when its time has come: scheduled messages and reminders. */

import { setImmediate } from 'node:timers/promises'
import type { Log } from '../../../base/log.ts'
import { nowOf, type Realm } from '../realm.ts'
import { isDeactivated } from '../users.ts'
import { deliverReminder } from './reminders.ts'
import { deliverScheduled } from './scheduled.ts'

/** Every second, since the clock may be set: nobody knows now how long it is until the next is due. */
const INTERVAL_MS = 1000
const INTERVAL_AFTER_FAILURE_MS = 60_000 // each is a line of the log

export interface Deliveries {
  /** What is due by now; joins a run that goes on. Rejects when the disk refuses. */
  now(): Promise<void>
  /** A run ends after the message it is at. */
  stop(): void
}

export function startDeliveries(realm: Realm, log: Log): Deliveries {
  let isStopped = false
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout
  const now = (): Promise<void> => {
    running ??= deliverDue(realm, () => !isStopped).finally(() => {
      running = undefined
    })
    return running
  }
  const wait = (ms: number): void => {
    if (!isStopped) timer = setTimeout(() => now().then(goOn, waitLonger), ms).unref()
  }
  const goOn = (): void => wait(INTERVAL_MS)
  const waitLonger = (error: Error): void => {
    log.error('chat', `scheduled messages and reminders are not sent: ${error.message}`)
    wait(INTERVAL_AFTER_FAILURE_MS)
  }
  goOn()
  return {
    now,
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** One a turn, in the order of their times. */
async function deliverDue(realm: Realm, isOpen: () => boolean): Promise<void> {
  while (isOpen() && realm.state.organization.size > 0 && !isDeactivated(realm) && deliverFirst(realm))
    await setImmediate()
}

function deliverFirst(realm: Realm): boolean {
  const { state } = realm
  const due = state.nextDue()
  if (due > nowOf(realm)) return false
  for (const message of state.scheduledMessage.all())
    if (!message.failed && message.time === due) {
      deliverScheduled(realm, message)
      return true
    }
  for (const reminder of state.reminder.all())
    if (reminder.time === due) {
      deliverReminder(realm, reminder)
      return true
    }
  return false
}
