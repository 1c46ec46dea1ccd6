/** One port whose certificate comes from a CA: what is in use, and when the next step is due. */

import { createHash, X509Certificate } from 'node:crypto'
import { defined } from '../base/defined.ts'
import type { TlsSettings } from '../configuration/tls-settings.ts'
import { certificatesOf } from '../configuration/tls-settings.ts'
import { renewalIdOf } from '../crypto/encoding/certificates.ts'
import type { PortProgress, Progress } from './progress.ts'
import type { RenewalInfo } from './renewal-info.ts'
import { type Life, renewAt, retryAt } from './schedule.ts'
import type { AcmePort, AcmeSettings } from './settings.ts'

/** The step that is due next. */
export interface AcmeStep {
  do: 'order' | 'renewalInfo'
  atMs: number
}

export interface PortView {
  state: 'off' | 'pending' | 'ordering' | 'valid' | 'failing'
  /** End of the certificate in use, in milliseconds since 1970, if it came from the CA. */
  notAfterMs?: number
  /** Time of the next order. */
  renewAtMs?: number
  failures: number
  problem?: string
}

export interface ManagedPort {
  readonly tls: TlsSettings
  readonly progress: PortProgress
  isOrdering: boolean
  /** Null if nothing is to be done. */
  nextStep(settings: AcmeSettings): AcmeStep | null
  view(settings: AcmeSettings): PortView
  names(settings: AcmeSettings): readonly string[]
  /** Identifier of the certificate in use, if it came from the CA: for renewal information. */
  renewalId(settings: AcmeSettings): string | null
  learn(info: RenewalInfo): void
  /** Starts anew: pauses after failures end. */
  reset(): void
  failed(problem: string, retryAfterMs?: number): void
  /** Remembers the certificate in use as the one that was ordered with these settings. */
  installed(settings: AcmeSettings): void
}

interface ManagedPortOptions {
  port: AcmePort
  tls: TlsSettings
  /** False while the port does not exist. */
  isPresent: () => boolean
  progress: Progress
  now: () => number
  /** A random number below 1. */
  fraction: () => number
}

export function createManagedPort({ port, tls, isPresent, progress, now, fraction }: ManagedPortOptions): ManagedPort {
  const own = progress.ports[port]
  let info: RenewalInfo | null = null
  /** Chosen once, so that the time of a renewal does not move. */
  let share = fraction()

  const names = (settings: AcmeSettings): readonly string[] => settings[port]
  const isOn = (settings: AcmeSettings): boolean => settings.directory !== null && names(settings).length > 0

  /** The leaf in use if it came from the CA. */
  function inUse(): X509Certificate | null {
    if (tls.identityIfAny === undefined || own.installed === null) return null
    const leaf = new X509Certificate(tls.identity.cert)
    return own.installed.leaf === fingerprint(leaf) ? leaf : null
  }

  /** The leaf in use if it was ordered with these settings. */
  const current = (settings: AcmeSettings): X509Certificate | null =>
    own.installed?.basis === basisOf(settings) ? inUse() : null

  function basisOf(settings: AcmeSettings): string {
    return JSON.stringify([settings.directory, settings.profile, [...names(settings)].sort()])
  }

  const lifeOf = ({ validFromDate, validToDate }: X509Certificate): Life => ({
    notBeforeMs: validFromDate.getTime(),
    notAfterMs: validToDate.getTime(),
  })

  function renewalAt(leaf: X509Certificate): number {
    const installedAtMs = Math.min(own.installed?.atMs ?? 0, now()) // the clock may have been put back
    return renewAt(lifeOf(leaf), info?.window ?? null, share, installedAtMs)
  }

  /** Null while the port is off or absent. */
  function orderAt(settings: AcmeSettings, leaf: X509Certificate | null): number | null {
    if (!isOn(settings) || !isPresent()) return null
    const dueMs = own.retryAtMs ?? (leaf === null ? now() : renewalAt(leaf))
    const delayMs = progress.budget.delayMs(names(settings))
    return delayMs === 0 ? dueMs : Math.max(dueMs, now() + delayMs)
  }

  const managed: ManagedPort = {
    tls,
    progress: own,
    isOrdering: false,
    names,
    nextStep(settings) {
      const leaf = current(settings)
      const atMs = orderAt(settings, leaf)
      if (atMs === null) return null
      const askAtMs = leaf === null || own.retryAtMs !== null ? Infinity : (info?.askAgainAtMs ?? now())
      return askAtMs < atMs ? { do: 'renewalInfo', atMs: askAtMs } : { do: 'order', atMs }
    },
    view(settings) {
      const { failures, problem } = own
      if (!isOn(settings)) return { state: 'off', failures: 0 }
      const leaf = current(settings)
      const renewAtMs = orderAt(settings, leaf)
      const state = managed.isOrdering ? 'ordering' : failures > 0 ? 'failing' : leaf === null ? 'pending' : 'valid'
      return {
        state,
        ...(leaf !== null && { notAfterMs: leaf.validToDate.getTime() }),
        ...(renewAtMs !== null && { renewAtMs }),
        failures,
        ...(problem !== null && { problem }),
      }
    },
    renewalId(settings) {
      const leaf = current(settings)
      return leaf && renewalIdOf(leaf)
    },
    learn(learned) {
      const isSame = JSON.stringify(info?.window ?? null) === JSON.stringify(learned.window)
      if (!isSame) share = fraction()
      info = learned
    },
    reset() {
      own.failures = 0
      own.retryAtMs = null
      own.problem = null
    },
    failed(problem, retryAfterMs) {
      own.failures++
      const notAfterMs = inUse()?.validToDate.getTime()
      own.retryAtMs = retryAt({ failures: own.failures, retryAfterMs, notAfterMs }, now(), fraction())
      own.problem = problem
    },
    installed(settings) {
      managed.reset()
      own.installed = {
        leaf: fingerprint(defined(certificatesOf(tls.identity)[0])),
        basis: basisOf(settings),
        atMs: now(),
      }
      info = null
      share = fraction()
    },
  }
  return managed
}

const fingerprint = ({ raw }: X509Certificate): string => createHash('sha256').update(raw).digest('hex')
