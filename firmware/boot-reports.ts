/** Reports of the firmware to the boot manager: where it listens, its state, and the settings of the machine. */

import type { Appliance } from './appliance/appliance.ts'
import type { Log } from './base/log.ts'
import type { ToBoot } from './channel/protocol.ts'
import { fingerprintOf } from './crypto/tls/identity.ts'
import type { Operational } from './kms/domain/operational.ts'

interface ReportOptions {
  appliance: Appliance<Operational>
  log: Log
  send: (message: ToBoot) => void
  /** Why this version is not good; undefined where nothing speaks against it. */
  problem: () => string | undefined
}

/** Reports all of it now, and from then on each change. */
export function reportToBoot(options: ReportOptions, listening: { address: string; port: number }): void {
  const { appliance, send } = options
  const { configuration } = appliance
  const reportTlsKey = createTlsKeyReport(options)
  const reportNetwork = () => send({ type: 'network', network: configuration.network })
  const reportNtp = () => send({ type: 'ntp', ntp: configuration.ntp })
  configuration.onChange((part) => {
    if (part === 'tls') reportTlsKey()
    if (part === 'network') reportNetwork()
    if (part === 'ntp') reportNtp()
  })
  reportNetwork()
  reportNtp()
  reportTlsKey()

  const reportState = createStateReport(options)
  send({ type: 'listening', ...listening })
  reportState()
  appliance.onState(reportState)
}

function createTlsKeyReport({ appliance, log, send }: ReportOptions): () => void {
  let fingerprint = ''
  return () => {
    const current = fingerprintOf(appliance.tlsIdentity())
    if (current === fingerprint) return // another certificate for the same key
    fingerprint = current
    log.info('general', `TLS key ${fingerprint}`)
    send({ type: 'tlsKey', fingerprint })
  }
}

function createStateReport({ appliance, send, problem }: ReportOptions): () => void {
  let reported = ''
  return () => {
    const { state } = appliance
    const reason = appliance.failure ?? problem()
    if (reported === `${state} ${reason}`) return
    reported = `${state} ${reason}`
    send({ type: 'state', state, ...(reason !== undefined && { reason }) })
  }
}
