/** Alerts of one appliance that are mailed, across restarts of the firmware. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { createAlerts } from '../../firmware/alerts/service.ts'
import type { Rig } from '../support/in-process.ts'

type Options = Parameters<typeof createAlerts>[0]

const TICK_MS = 10_000

/** Only of these conditions. Stop it at the end. */
export function mailAlerts(rig: Rig, alerts: string[], more: Partial<Options>) {
  rig.appliance.configuration.changeMail({
    ...{ server: 'mail.example.org', from: 'coffer@example.org', to: ['admin@example.org'] },
    alerts: alerts as never,
  })
  const mails: string[] = []
  let nowMs = 0
  const start = () =>
    createAlerts({
      ...{ appliance: rig.appliance, acme: rig.acme!, log: rig.log, chat: undefined, forwarder: undefined },
      ...{ isRolledBack: false, setsClock: false, monotonicMs: () => nowMs },
      outgoing: {
        isDown: false,
        async mail({ message }) {
          mails.push(Buffer.from(message).toString())
          return { accepted: 1 }
        },
      },
      ...more,
    })
  let current = start()
  return {
    /** As a start of the firmware does: only what is stored is known. */
    restart() {
      current.stop()
      current = start()
    },
    stop: () => current.stop(),
    shown: (id: string) => current.current().find((alert) => alert.id === id),
    /** Lets time pass in steps of the timer. */
    async pass(ms: number) {
      for (const endMs = nowMs + ms; nowMs < endMs; ) {
        nowMs += Math.min(TICK_MS, endMs - nowMs)
        current.look()
        await nextTurn()
        await nextTurn()
      }
    },
    /** The subjects of the mails since the last call, without their beginning. */
    subjects: () => mails.splice(0).map((mail) => /^Subject: .*: (.*)\r$/m.exec(mail)?.[1]),
    lastMail: () => mails.at(-1) ?? '',
  }
}
