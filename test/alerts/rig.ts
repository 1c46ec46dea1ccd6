/** Alerts over an appliance in the test's process. Conditions that last are measured by a clock in the test's hands. */

import type { TestContext } from 'node:test'
import { createAlerts } from '../../firmware/alerts/service.ts'
import type { Alert as Shown } from '../../firmware/client/types.ts'
import { makeOperationalRig, makeRig, type Rig } from '../support/in-process.ts'

type Alerts = ReturnType<typeof createAlerts>
type Options = Parameters<typeof createAlerts>[0]

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
export const GIB = 1024 ** 3

export interface AlertRig {
  rig: Rig
  alerts: Alerts
  /** Free space of a disk of 100 GiB. */
  disk: { freeBytes: number }
  /** Lets time pass, with a look before and after it. */
  pass(ms: number): void
  /** Ids of the conditions that hold with their levels, by `GET /alerts`. */
  shown(): Promise<Record<string, string>>
}

/** `dataDirectory`: of an appliance that was closed; this one starts Locked. */
export async function openAlerts(
  t: Pick<TestContext, 'after'>,
  more: Partial<Options> = {},
  dataDirectory?: string,
): Promise<AlertRig> {
  const disk = { freeBytes: 90 * GIB }
  let alerts: Alerts
  const shownByApi = { current: () => alerts.current() } as Alerts
  const readDisk = () => ({ totalBytes: 100 * GIB, freeBytes: disk.freeBytes })
  const rig = await (dataDirectory === undefined
    ? makeOperationalRig({ alerts: shownByApi }, { readDisk })
    : makeRig(undefined, { alerts: shownByApi }, { readDisk, dataDirectory }))
  t.after(rig.close)
  let nowMs = 0
  alerts = createAlerts({
    ...{ appliance: rig.appliance, acme: rig.acme!, log: rig.log, chat: undefined },
    ...{ outgoing: undefined, forwarder: undefined, isRolledBack: false, setsClock: true },
    monotonicMs: () => nowMs,
    ...more,
  })
  t.after(alerts.stop)
  return {
    rig,
    alerts,
    disk,
    pass(ms) {
      alerts.current()
      nowMs += ms
      alerts.current()
    },
    async shown() {
      const list = (await rig.call('GET', '/alerts', { as: 'admin' })).json<Shown[]>()
      return Object.fromEntries(list.map(({ id, level }) => [id, level]))
    },
  }
}
