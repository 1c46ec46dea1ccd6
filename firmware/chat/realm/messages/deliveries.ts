import { setImmediate } from 'node:timers/promises'
import type { Log } from '../../../base/log.ts'
import { type PeriodicTask, startPeriodic } from '../../../base/periodic.ts'
import { hasRoomForMessages } from '../model/disk-room.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import { isDeactivated } from '../objects/users.ts'
import { deliverReminder } from './reminders.ts'
import { deliverScheduled } from './scheduled.ts'

const INTERVAL_MS = 1000 // polls, because the clock may be changed at any time

/** `stop` lets the current message finish. */
export const startDeliveries = (realm: Realm, log: Log): PeriodicTask =>
  startPeriodic({
    run: (isOpen) => deliverDue(realm, isOpen),
    intervalMs: INTERVAL_MS,
    failure: 'cannot send scheduled messages and reminders',
    source: 'chat',
    log,
  })

/**
 * Delivers one message per turn of the event loop, in order of time. Messages that become due meanwhile wait for the next run. A failure
 * does not stop the others; the first failure is thrown at the end.
 */
async function deliverDue(realm: Realm, isOpen: () => boolean): Promise<void> {
  const { state } = realm
  if (state.organization.size === 0) return
  const failures: unknown[] = []
  for (const { deliver } of dueNow(realm)) {
    if (!isOpen() || isDeactivated(realm) || !hasRoomForMessages(realm)) break // nothing is lost: undelivered messages stay due
    try {
      deliver()
    } catch (error) {
      failures.push(error)
    }
    await setImmediate()
  }
  if (failures.length > 0) throw failures[0]
}

interface Due {
  time: number
  /** Does nothing if the record was changed or removed meanwhile. */
  deliver(): void
}

function dueNow(realm: Realm): Due[] {
  const { state } = realm
  const now = nowOf(realm)
  if (state.nextDue() > now) return []
  const scheduled = [...state.scheduledMessage.all()].filter(({ failed, time }) => !failed && time <= now)
  const reminders = [...state.reminder.all()].filter(({ time }) => time <= now)
  const due: Due[] = [
    ...scheduled.map((message) => ({
      time: message.time,
      deliver: () => state.scheduledMessage.get(message.id) === message && deliverScheduled(realm, message),
    })),
    ...reminders.map((reminder) => ({
      time: reminder.time,
      deliver: () => state.reminder.get(reminder.id) === reminder && deliverReminder(realm, reminder),
    })),
  ]
  return due.sort((a, b) => a.time - b.time)
}
