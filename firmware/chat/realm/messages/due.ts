/** What is sent when its time has come: scheduled messages and reminders. */

import { setImmediate } from 'node:timers/promises'
import type { Log } from '../../../base/log.ts'
import { nowOf, type Realm } from '../realm.ts'
import { type Rounds, startRounds } from '../rounds.ts'
import { isDeactivated } from '../users.ts'
import { deliverReminder } from './reminders.ts'
import { deliverScheduled } from './scheduled.ts'

const INTERVAL_MS = 1000 // the clock may be set: nobody knows now how long it is until the next is due

/** A round ends after the message it is at. */
export const startDeliveries = (realm: Realm, log: Log): Rounds =>
  startRounds({
    run: (isOpen) => deliverDue(realm, isOpen),
    intervalMs: INTERVAL_MS,
    failure: 'scheduled messages and reminders are not sent',
    log,
  })

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
