/** Alerts of one run of the firmware: the sources of the conditions, looks at them, and mails. Contract section 7.10. */

import type { Appliance } from '../appliance/appliance.ts'
import type { Log } from '../base/log.ts'
import { startPeriodic } from '../base/periodic.ts'
import type { ToFirmware } from '../channel/protocol.ts'
import { certificateNameOf } from '../crypto/tls/identity.ts'
import type { OutgoingClient } from '../outgoing/client.ts'
import { type AlertSources, conditionsOf } from './conditions.ts'
import { type AlertList, createAlertList } from './list.ts'
import { type AlertMailer, createAlertMailer } from './mailer.ts'
import { createMailProgress } from './progress.ts'

/** Conditions that must hold for a while are measured by these looks. */
const INTERVAL_MS = 10_000

export interface Alerts extends Pick<AlertList, 'current'> {
  readonly mail: Pick<AlertMailer, 'test'>
  receive(message: ToFirmware): void
  /** Notes that a commit of an update has failed, or that no update is pending any more. */
  noteUpdate(isDone: boolean): void
  /** Looks at all conditions and mails what is due. The timer calls it. */
  look(): void
  stop(): void
}

interface AlertsOptions extends Pick<AlertSources, 'acme' | 'chat' | 'forwarder'> {
  appliance: AlertSources['appliance'] & Pick<Appliance, 'deviceId' | 'deviceRecords' | 'tlsIdentity'>
  outgoing: Pick<OutgoingClient, 'isDown' | 'mail'> | undefined
  log: Log
  /** True if the version that was tried last was rolled back. */
  isRolledBack: boolean
  /** False on a host, whose owner sets the clock. */
  setsClock: boolean
  /** Milliseconds since any moment; never jumps. */
  monotonicMs: () => number
}

export function createAlerts({ isRolledBack, setsClock, log, ...sources }: AlertsOptions): Alerts {
  const { appliance, outgoing, monotonicMs } = sources
  const { configuration, clock } = appliance
  let isTimeServerHeard = false
  let hasCommitFailed = false
  const conditions = conditionsOf({
    ...sources,
    hasUpdateFailed: () => isRolledBack || hasCommitFailed,
    isTimeServerSilent: () => setsClock && Boolean(configuration.ntp.ntpIP) && !isTimeServerHeard,
  })
  const list = createAlertList(conditions, clock.now)
  const mail = createAlertMailer({
    ...{ list, conditions, log, monotonicMs, now: clock.now },
    progress: createMailProgress({ records: appliance.deviceRecords, now: clock.now, monotonicMs }),
    settings: () => configuration.mail,
    send: outgoing && ((job) => outgoing.mail(job)),
    appliance: () => {
      const name = certificateNameOf(appliance.tlsIdentity())
      return name === null ? appliance.deviceId : `${appliance.deviceId} ${name}`
    },
  })
  configuration.onChange((part) => {
    if (part === 'mail') mail.startAnew()
  })
  const looks = startPeriodic({
    run: async () => mail.look(),
    intervalMs: INTERVAL_MS,
    failure: 'cannot look at the alerts',
    source: 'general',
    log,
  })
  return {
    current: list.current,
    mail,
    receive(message) {
      if (message.type === 'timeServer') isTimeServerHeard = message.isHeard
    },
    noteUpdate(isDone) {
      hasCommitFailed = !isDone
    },
    look: mail.look,
    stop: looks.stop,
  }
}
