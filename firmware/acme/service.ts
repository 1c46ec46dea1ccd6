/**
 * Keeps the certificates of the ports valid by ACME (RFC 8555) while the appliance is Operational: one step at a time, an order or a
 * question for renewal information. The account's key and the keys of the ports never leave the firmware. Contract sections 3.4 and 4.7.
 */

import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditEvent, AuditLineKind } from '../audit/chain.ts'
import { formatTime } from '../base/clock.ts'
import { defined } from '../base/defined.ts'
import { CofferError, describe } from '../base/error.ts'
import { collectGarbage } from '../base/garbage.ts'
import { asAlternativeName } from '../base/ip-address.ts'
import type { Log } from '../base/log.ts'
import { runDetached } from '../base/request-authorization.ts'
import { wipe } from '../base/secret.ts'
import type { Configuration } from '../configuration/configuration.ts'
import type { DeviceRecords } from '../configuration/device-records.ts'
import { base64InPem } from '../crypto/encoding/pem.ts'
import type { Random } from '../crypto/random.ts'
import { OutgoingError } from '../outgoing/error.ts'
import { checkCertificate } from './certificate.ts'
import { type Challenges, createChallenges, type PortChallenge } from './challenges.ts'
import { type AcmeClient, AcmeError, createAcmeClient, type Send } from './client.ts'
import { type AccountKey, newAccountKey, openAccountKey } from './jws.ts'
import { obtainCertificate } from './order.ts'
import { type AcmeStep, createManagedPort, type ManagedPort, type PortView } from './port.ts'
import { createProgress } from './progress.ts'
import { createAcmeRecords } from './records.ts'
import { askRenewalInfo } from './renewal-info.ts'
import { askAgainAt, HOUR_MS } from './schedule.ts'
import { ACME_PORTS, type AcmeChange, type AcmePort, type AcmeSettings, changeAcme } from './settings.ts'

export interface Acme {
  readonly challenges: Pick<Challenges, 'authorizationOf' | 'identityFor'>
  /** Throws `unavailable` unless Operational, as the next three do. */
  view(): AcmeView
  /** Throws `invalid` for settings that do not go together. */
  change(change: AcmeChange): void
  /** Throws `unavailable` for a port that is off, `tooManyAttempts` right after the last call. */
  renew(port: AcmePort): void
  /** Waits for the end of the step under way. */
  close(): Promise<void>
}

export interface AcmeView {
  settings: AcmeSettings
  /** URL of the account; null until there is one. */
  account: string | null
  ports: Record<AcmePort, PortView>
}

/** The appliance as ACME needs it. */
interface AcmeHost {
  readonly state: string
  readonly configuration: Configuration
  readonly deviceRecords: DeviceRecords
  readonly audit: { record(event: AuditEvent, kind: AuditLineKind): Promise<void> | undefined } | undefined
  deriveKey(purpose: string): Uint8Array
  onState(listener: () => void): void
  onEpochEnd(listener: () => void): void
}

export interface AcmeTime {
  /** Milliseconds since 1970, by the appliance's clock. */
  now(): number
  /** Never jumps. */
  monotonicMs(): number
  /** Rejects when `signal` aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** A random number below 1. */
  fraction(): number
}

interface AcmeOptions {
  appliance: AcmeHost
  time: AcmeTime
  random: Random
  log: Log
  /** Undefined where no connections to other hosts can be made. */
  send: Send | undefined
  /** False where no port for plain HTTP answers http-01. */
  answersHttp: boolean
  chat: {
    hasOrganization(): boolean
    /** Resolves when the chat's port shows these challenges and no others. */
    show(challenges: PortChallenge[]): Promise<void>
  }
}

const SLEEP_MS_MAX = HOUR_MS // the clock may be set meanwhile
const FAULT_PAUSE_MS = 60_000
const SHOW_MS_MAX = 5000
const RENEW_INTERVAL_MS = 10_000
const COMMON_NAME_CHARACTERS_MAX = 64 // RFC 5280 appendix A.1

export const systemTime = (now: () => number): AcmeTime => ({
  now,
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }),
  fraction: Math.random,
})

export function createAcme(options: AcmeOptions): Acme {
  const { appliance, time, random, log, send, chat, answersHttp } = options
  const { configuration, deviceRecords } = appliance
  const records = createAcmeRecords({
    records: deviceRecords,
    deriveKey: (purpose) => appliance.deriveKey(purpose),
    random,
  })
  const progress = createProgress({ records: deviceRecords, now: time.now, monotonicMs: time.monotonicMs })
  const challenges = createChallenges(random, show)
  const common = { progress, now: time.now, fraction: time.fraction }
  const ports: Record<AcmePort, ManagedPort> = {
    appliance: createManagedPort({ ...common, port: 'appliance', tls: configuration.tls, isPresent: () => true }),
    chat: createManagedPort({
      ...{ ...common, port: 'chat', tls: configuration.chatTls },
      isPresent: () => chat.hasOrganization() && configuration.chatTls.identityIfAny !== undefined,
    }),
  }
  const renewedAtMs: Partial<Record<AcmePort, number>> = {}
  /** Aborts all steps of one time of being Operational. */
  let session: AbortController | null = null
  let running: Promise<void> = Promise.resolve()
  let wake = () => {}
  let stepUnderWay: Promise<void> = Promise.resolve()
  /** Ends the step under way, whose settings or key have changed. */
  let interrupt = () => {}
  /** Signal of the step under way. */
  let stepSignal = AbortSignal.abort()
  let isInstalling = false
  let isClosed = false

  function follow(): void {
    const isOpen = appliance.state === 'Operational'
    if (!isOpen) endSession()
    else if (session === null && !isClosed) {
      const controller = new AbortController()
      session = controller
      running = running.then(() => run(controller.signal))
    }
  }

  function endSession(): void {
    session?.abort()
    session = null
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await proceed(signal)
      } catch (error) {
        log.error('general', `ACME: ${describe(error)}`)
        await pause(FAULT_PAUSE_MS, signal)
      }
    }
  }

  async function proceed(signal: AbortSignal): Promise<void> {
    const next = soonest()
    const waitMs = next === null ? SLEEP_MS_MAX : Math.min(next.atMs - time.now(), SLEEP_MS_MAX)
    if (next === null || waitMs > 0) await pause(waitMs, signal)
    else {
      stepUnderWay = take(next, signal)
      await stepUnderWay
    }
  }

  /** OpenSSL holds the key of an account until its object is collected, and an idle appliance may collect nothing for hours. */
  async function forgetAccount(): Promise<void> {
    await stepUnderWay
    setImmediate(collectGarbage)
  }

  /** The chat's process is exposed to the network: it must not hold up the orders of both ports. */
  async function show(shown: PortChallenge[]): Promise<void> {
    const answered = new AbortController()
    const limit = time.sleep(SHOW_MS_MAX, AbortSignal.any([stepSignal, answered.signal])).then(
      () => log.warning('general', "the chat's port does not answer challenges: it took too long"),
      () => {}, // aborted, which is no error
    )
    await Promise.race([chat.show(shown), limit]).finally(() => answered.abort())
  }

  /** The next step starts with what holds now. */
  function startAnew(changed: readonly AcmePort[]): void {
    for (const port of changed) ports[port].reset()
    interrupt()
    wake()
  }

  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController()
    wake = () => woken.abort()
    await time.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => {}) // aborted, which is no error
  }

  function soonest(): (AcmeStep & { port: AcmePort }) | null {
    const settings = settingsIfOpen()
    if (settings === null) return null
    let first: (AcmeStep & { port: AcmePort }) | null = null
    let soonestMs = Infinity
    for (const port of ACME_PORTS) {
      const step = ports[port].nextStep(settings)
      if (step !== null && step.atMs < soonestMs) {
        first = { ...step, port } // never one at NaN
        soonestMs = step.atMs
      }
    }
    return first
  }

  function settingsIfOpen(): AcmeSettings | null {
    try {
      return records.settings()
    } catch (error) {
      if (error instanceof CofferError) return null // locked just now
      throw error
    }
  }

  async function take(step: AcmeStep & { port: AcmePort }, ofSession: AbortSignal): Promise<void> {
    const managed = ports[step.port]
    const interrupted = new AbortController()
    interrupt = () => interrupted.abort()
    const signal = AbortSignal.any([ofSession, interrupted.signal])
    stepSignal = signal
    try {
      if (step.do === 'order') await order(step.port, signal)
      else await refresh(managed, signal)
    } catch (error) {
      if (signal.aborted) return // by a lock, a stop or a change: the next step begins anew
      if (step.do === 'renewalInfo') managed.learn({ window: null, askAgainAtMs: askAgainAt(time.now(), undefined) })
      else fail(step.port, error)
    }
  }

  function fail(port: AcmePort, error: unknown): void {
    const problem = sentenceOf(error)
    if (!isExpected(error)) log.error('general', `ACME: ${describe(error)}`)
    ports[port].failed(problem, error instanceof AcmeError ? error.retryAfterMs : undefined)
    progress.keep()
    log.warning('general', `cannot order a certificate for the ${port}: ${problem}`)
  }

  async function refresh(managed: ManagedPort, signal: AbortSignal): Promise<void> {
    const settings = records.settings()
    const id = managed.renewalId(settings)
    managed.learn(await askRenewalInfo(clientOf(settings, null, signal), id, time.now))
  }

  function clientOf({ directory }: AcmeSettings, key: AccountKey | null, signal: AbortSignal): AcmeClient {
    if (send === undefined) throw new AcmeError('The boot manager is too old for outgoing connections')
    return createAcmeClient({ directoryUrl: defined(directory), key, send, signal, now: time.now })
  }

  async function order(port: AcmePort, signal: AbortSignal): Promise<void> {
    const managed = ports[port]
    managed.isOrdering = true
    try {
      const settings = records.settings()
      const key = accountKey(settings)
      const client = clientOf(settings, key, signal)
      await openAccount(client, settings)
      const names = managed.names(settings)
      const pem = await obtainCertificate(client, {
        names,
        profile: settings.profile,
        replaces: (await client.directory()).renewalInfo === undefined ? null : managed.renewalId(settings),
        challenge: settings.challenge,
        publish: (name, token) => challenges.publish(settings.challenge, name, token, `${token}.${key.thumbprint}`),
        validations: {
          begin: (begun) => {
            progress.budget.begin(begun)
            try {
              progress.write()
            } catch (error) {
              for (const name of begun) progress.budget.end(name, true) // nothing was validated
              throw error
            }
          },
          end: (name, isValid) => {
            progress.budget.end(name, isValid)
            progress.keep()
          },
        },
        request: async () => derOf(await managed.tls.csrPem(subjectOf(names))),
        wait: (ms) => time.sleep(ms, signal),
        monotonicMs: time.monotonicMs,
      })
      signal.throwIfAborted()
      await install(port, settings, new TextEncoder().encode(pem))
    } finally {
      managed.isOrdering = false
    }
  }

  function accountKey(settings: AcmeSettings): AccountKey {
    const account = records.account()
    const key = account?.key ?? newAccountKey()
    try {
      if (account === null) records.putAccount({ directory: defined(settings.directory), key, url: null, contact: [] })
      return openAccountKey(key)
    } finally {
      wipe(key)
    }
  }

  async function openAccount(client: AcmeClient, settings: AcmeSettings): Promise<void> {
    const { contact, termsAgreed, eab } = settings
    const before = records.account()
    wipe(before?.key)
    const known = before?.url == null ? null : { url: before.url, contact: before.contact }
    const external = eab && { kid: eab.kid, key: Buffer.from(eab.key, 'base64url') }
    const url = await client.openAccount({ known, contact, termsAgreed, external })
    if (known?.url === url && JSON.stringify(known.contact) === JSON.stringify(contact)) return
    const account = records.account() // the settings may name another directory by now
    if (account === null || account.directory !== settings.directory) return wipe(account?.key)
    records.putAccount({ ...account, url, contact })
    wipe(account.key)
  }

  async function install(port: AcmePort, settings: AcmeSettings, pem: Uint8Array): Promise<void> {
    const managed = ports[port]
    const { outgoing } = configuration
    checkCertificate(pem, { names: managed.names(settings), nowMs: time.now(), trust: outgoing })
    isInstalling = true
    try {
      await managed.tls.setCertificates(pem)
    } finally {
      isInstalling = false
    }
    managed.installed(settings)
    progress.keep()
    const end = formatTime(managed.tls.endMs)
    log.info('general', `certificate for the ${port} installed by ACME, valid until ${end}`)
    record({ port, notAfter: end })
  }

  /** An act of the appliance, for which no request was sent. */
  function record(facts: Record<string, string>): void {
    const event = { time: formatTime(time.now()), user: '', address: '', action: 'acme', key: '', namespace: '' }
    appliance.audit
      ?.record({ ...event, result: 200, facts }, 'change')
      ?.catch((error) => log.error('general', `cannot record a certificate in the audit log: ${describe(error)}`))
  }

  /** Another key, or a certificate that was set by hand, is followed by an order without a pause. */
  configuration.onChange((part) => {
    const port = part === 'tls' ? 'appliance' : part === 'chatTls' ? 'chat' : null
    if (port === null || isInstalling) return
    startAnew([port])
  })
  appliance.onEpochEnd(() => {
    endSession()
    runDetached(() => queueMicrotask(follow))
  })
  appliance.onState(() => runDetached(follow))
  runDetached(follow)

  return {
    challenges,
    view() {
      const settings = records.settings()
      const account = records.account()
      wipe(account?.key)
      return {
        settings,
        account: account?.url ?? null,
        ports: { appliance: ports.appliance.view(settings), chat: ports.chat.view(settings) },
      }
    },
    change(change) {
      const before = records.settings()
      const after = changeAcme(before, change)
      expectPossible(after)
      records.putSettings(after, after.directory === before.directory)
      startAnew(ACME_PORTS)
      progress.keep()
      if (after.directory !== before.directory) void forgetAccount()
    },
    renew(port) {
      const managed = ports[port]
      if (managed.view(records.settings()).state === 'off')
        throw new CofferError('unavailable', `No certificate is ordered for the ${port}`)
      const nowMs = time.monotonicMs()
      if (nowMs - (renewedAtMs[port] ?? -Infinity) < RENEW_INTERVAL_MS)
        throw new CofferError('tooManyAttempts', 'A certificate was asked for just now, try again in 10 seconds')
      renewedAtMs[port] = nowMs
      managed.reset()
      managed.progress.retryAtMs = time.now()
      progress.write() // a power cut must not lose the request
      wake()
    },
    async close() {
      isClosed = true
      endSession()
      await running
    },
  }

  function expectPossible({ directory, challenge, appliance: names, chat: chatNames }: AcmeSettings): void {
    if (directory === null || names.length + chatNames.length === 0) return
    if (challenge === 'http-01' && !answersHttp)
      throw new CofferError('unavailable', 'There is no port for plain HTTP: COFFER_HTTP_PORT must be set for http-01')
    if (names.length === 0) return
    if (configuration.peers.authority !== null && !configuration.clusterTls.isOwn)
      throw new CofferError('unavailable', "A cluster CA is set, which has to sign the appliance's certificate")
  }
}

const isExpected = (error: unknown): error is Error =>
  error instanceof AcmeError || error instanceof OutgoingError || error instanceof CofferError

function sentenceOf(error: unknown): string {
  if (error instanceof OutgoingError) return `Cannot reach the CA: ${error.message}`
  return isExpected(error) ? error.message : 'An unexpected error, which the log names'
}

/** The common name is for old clients, which read no alternative names. */
function subjectOf(names: readonly string[]) {
  const commonName = names.find((name) => isIP(name) === 0 && name.length <= COMMON_NAME_CHARACTERS_MAX)
  return { commonName, subjectAltNames: names.map(asAlternativeName) }
}

const derOf = (pem: string): string => Buffer.from(base64InPem(pem), 'base64').toString('base64url')
