/** ACME over an appliance in the test's process, with a clock and a server in the test's hands. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Acme, type AcmeTime, createAcme } from '../../../firmware/acme/service.ts'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { type Issued, Workshop } from '../../configuration/authority.ts'
import { operationalRig, type Rig } from '../../support/in-process.ts'
import { type Ca, createCa, DIRECTORY } from './ca.ts'

export const DAY_MS = 86_400_000
export const START_MS = Date.UTC(2026, 10, 28)

/** Stands still, but for `advance`. */
interface WalkingClock extends AcmeTime {
  /** Waits until all is asleep, and goes to the next moment at which something wakes, or to this one. Returns false at this one. */
  advance(untilMs: number): Promise<boolean>
  /** Waits until all is asleep. */
  settle(): Promise<void>
}

interface Sleeper {
  atMs: number
  end: () => void
}

function createWalkingClock(startMs: number, fraction: () => number): WalkingClock {
  let nowMs = startMs
  const sleepers = new Set<Sleeper>()
  async function settle(): Promise<void> {
    for (let turns = 0; turns < 3; ) {
      await nextTurn() // threads sign meanwhile
      turns = sleepers.size > 0 ? turns + 1 : 0
    }
  }
  return {
    now: () => nowMs,
    monotonicMs: () => nowMs - startMs,
    fraction,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { atMs: nowMs + ms, end: resolve }
        if (signal.aborted) return reject(signal.reason)
        sleepers.add(sleeper)
        signal.addEventListener('abort', () => {
          sleepers.delete(sleeper)
          reject(signal.reason)
        })
      }),
    settle,
    async advance(untilMs) {
      await settle()
      const next = [...sleepers].sort((a, b) => a.atMs - b.atMs)[0]!
      if (next.atMs > untilMs) {
        nowMs = untilMs
        return false
      }
      nowMs = Math.max(nowMs, next.atMs)
      sleepers.delete(next)
      next.end()
      return true
    },
  }
}

export interface AcmeRig {
  rig: Rig
  ca: Ca
  clock: WalkingClock
  workshop: Workshop
  authority: Issued
  acme: Acme
  /** As a start of the firmware does. */
  restart(): Promise<void>
  /** The certificate of the appliance's port. */
  shown(): X509Certificate
  set(json: object): Promise<void>
  /** Chain for a request, as an honest CA issues it. */
  issue(csr: string, names: readonly string[], days?: number): string
}

/** `show`: the chat's process as it takes challenges. */
export async function openAcme(t: TestContext, fraction = Math.random, show = async () => {}): Promise<AcmeRig> {
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  const root = workshop.root('Root')
  const authority = workshop.authority('Authority', root)
  const clock = createWalkingClock(START_MS, fraction)
  const issue = (csr: string, names: readonly string[], days = 90): string => {
    const leaf = workshop.issue({
      name: 'leaf',
      csr,
      issuer: authority,
      extensions: leafExtensions(names),
      validity: validity(clock.now() - 3_600_000, clock.now() + days * DAY_MS),
    })
    return `${leaf.pem}${authority.pem}`
  }
  const ca = createCa(issue)
  let acme: Acme
  const view: Pick<Acme, 'view' | 'change' | 'renew'> = {
    view: () => acme.view(),
    change: (change) => acme.change(change),
    renew: (port) => acme.renew(port),
  }
  const rig = await operationalRig(t, { acme: view })
  const { appliance } = rig
  const start = () =>
    createAcme({
      appliance,
      time: clock,
      random: systemRandom,
      log: rig.log,
      send: ca.send,
      answersHttp: true,
      chat: { hasOrganization: () => false, show },
    })
  acme = start()
  t.after(() => acme.close())
  appliance.configuration.changeOutgoing({ authorities: root.pem })
  return {
    rig,
    ca,
    clock,
    workshop,
    authority,
    get acme() {
      return acme
    },
    async restart() {
      await acme.close()
      acme = start()
    },
    shown: () => new X509Certificate(appliance.tlsIdentity().cert),
    async set(json) {
      acme.change({ directory: DIRECTORY, ...json })
    },
    issue,
  }
}

export const leafExtensions = (names: readonly string[]): string[] => [
  'basicConstraints=critical,CA:FALSE',
  'authorityKeyIdentifier=keyid',
  `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`,
]

export function validity(notBeforeMs: number, notAfterMs: number) {
  const text = (ms: number) => new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '')
  return { notBefore: text(notBeforeMs), notAfter: text(notAfterMs) }
}

export const portOf = ({ acme }: AcmeRig) => acme.view().ports.appliance

/** Lets time pass from one wait to the next, until this is so. */
export async function step(opened: AcmeRig, isReached: () => boolean): Promise<void> {
  for (let steps = 0; ; steps++) {
    await opened.clock.settle()
    if (isReached()) return
    assert.ok(steps < 10_000, JSON.stringify(portOf(opened)))
    await opened.clock.advance(opened.clock.now() + 100 * DAY_MS)
  }
}
