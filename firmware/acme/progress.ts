/** Results of attempts, which outlive a restart: failures in a row, pauses, failed validations, and which certificate was installed. */

import type { DeviceRecords } from '../configuration/device-records.ts'
import { ACME_PROGRESS } from '../store/device-area.ts'
import { createBudget, type Failures, type ValidationBudget } from './budget.ts'
import type { AcmePort } from './settings.ts'

export interface PortProgress {
  /** In a row. */
  failures: number
  /** Earliest time of the next attempt after a failure. */
  retryAtMs: number | null
  /** Reason of the last failure. */
  problem: string | null
  /** The certificate that was installed last; null before the first one. */
  installed: Installed | null
}

interface Installed {
  /** SHA-256 of the leaf in hex. */
  leaf: string
  /** Settings that it was ordered with. */
  basis: string
  atMs: number
}

export interface Progress {
  readonly ports: Record<AcmePort, PortProgress>
  readonly budget: ValidationBudget
  /** Throws `storage`, and `unavailable` unless Operational. */
  write(): void
  /** In every state. Failures are logged. */
  keep(): void
}

interface Stored {
  ports: Record<AcmePort, PortProgress>
  validations: Failures
}

interface ProgressOptions {
  records: DeviceRecords
  now: () => number
  monotonicMs: () => number
}

export function createProgress({ records, now, monotonicMs }: ProgressOptions): Progress {
  const bytes = records.read('read the progress of ACME', (area) => area.get(ACME_PROGRESS))
  const stored = bytes == null ? null : (JSON.parse(new TextDecoder().decode(bytes)) as Stored)
  const none = (): PortProgress => ({ failures: 0, retryAtMs: null, problem: null, installed: null })
  const ports = { appliance: stored?.ports.appliance ?? none(), chat: stored?.ports.chat ?? none() }
  const budget = createBudget({ now, monotonicMs }, stored?.validations ?? {})
  const encode = (): Uint8Array => {
    const value: Stored = { ports, validations: budget.failures() }
    return new TextEncoder().encode(JSON.stringify(value))
  }
  return {
    ports,
    budget,
    write: () => records.write((area) => area.put(ACME_PROGRESS, encode())),
    keep: () => records.keep('store the progress of ACME', (area) => area.put(ACME_PROGRESS, encode())),
  }
}
