/** The story of a start: open the store, restore the boot mode, build the app, listen, obey the boot manager. */

import { createHash } from 'node:crypto'
import { on } from 'node:events'
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { createApp } from './app.ts'
import { type Appliance, openAppliance } from './appliance/appliance.ts'
import { CONSOLE } from './appliance/unlocking.ts'
import { type Clock, createClock } from './base/clock.ts'
import { refuseNativeCode } from './base/confinement.ts'
import { CofferError } from './base/error.ts'
import { wipeGarbage } from './base/garbage.ts'
import { createLog, type Log, writeToConsole } from './base/log.ts'
import { exitOnBugs, ignoreSignals, portProblem } from './base/process.ts'
import { wipe } from './base/secret.ts'
import { createSyslog, type Syslog } from './base/syslog.ts'
import { createBootManager } from './channel/boot-manager.ts'
import { LINK_DESCRIPTOR } from './channel/channel.ts'
import type { BootChannel } from './channel/connect.ts'
import { PRODUCT } from './channel/product.ts'
import type { LastStart, ToBoot, ToFirmware } from './channel/protocol.ts'
import { type ChatHost, createChatHost } from './chat/host.ts'
import { NO_LOG_HOST } from './configuration/configuration.ts'
import { consoleFiles } from './console-files.ts'
import { engineChoice } from './crypto/engine/choice.ts'
import { wipeStack } from './crypto/engine/stack.ts'
import { createPool } from './crypto/pool/pool.ts'
import { systemRandom } from './crypto/random.ts'
import { fingerprintOf, makeTlsIdentity } from './crypto/tls/identity.ts'
import { refusal } from './http/errors.ts'
import { toResponse } from './http/reply.ts'
import { listenTls } from './http/server/listener.ts'
import { wipeParserBuffer } from './http/server/parser-buffer.ts'
import { listenRedirect } from './http/server/redirect.ts'
import { createTraffic } from './http/server/traffic.ts'
import { firstAdministrator, type Operational, openDomain } from './kms/domain/operational.ts'
import { forgetExtensions } from './store/sqlite/file.ts'

const BUILD_DIGITS = 12
const POOL_START_MS = 2000 // the first answer goes first; a device of few cores would wait seconds for both

/**
 * Ends with `stop`, or when the boot manager is gone and the channel with it. `program` is the file that was started.
 */
export async function obey(channel: BootChannel, program: URL): Promise<void> {
  ignoreSignals()
  let service: Service | null = null
  for await (const [received] of on(channel, 'message', { close: ['end', 'refused'] })) {
    const message = received as ToFirmware
    if (message.type === 'start') service = await start(message, channel, program)
    else if (message.type === 'unlock')
      service!.unlock(message.passphrase).then((result) => channel.send(result)) // pings go on
    else if (message.type === 'ping') channel.send({ type: 'pong' })
    else if (message.type === 'good') service!.endTrial()
    else if (message.type === 'keep') service!.keepStart(message)
    else if (message.type === 'timeKept') service!.followMachine()
    else if (message.type === 'stop') break
  }
  await service?.close()
  process.exit(0)
}

interface Service {
  unlock(passphrase: Uint8Array): Promise<Extract<ToBoot, { type: 'unlockResult' }>>
  endTrial(): void
  keepStart(start: LastStart): void
  /** The machine's clock is right. */
  followMachine(): void
  close(): Promise<void>
}

type Start = Extract<ToFirmware, { type: 'start' }>

async function start(
  { settings, deviceKey, withheld, count, software }: Start,
  channel: BootChannel,
  program: URL,
): Promise<Service> {
  let chat: ChatHost | undefined
  const clock = tellingClock(() => chat?.clockSet())
  const syslog = createSyslog(clock.now)
  const log = createLog(settings.logLevel, (entry) => {
    writeToConsole(entry)
    syslog.send(entry)
  })
  exitOnBugs(log)
  if (software.fallback !== null) log.warning('general', software.fallback)
  const pool = createPool({ entry: workerOf(program), startLater: true })
  const { dataDirectory, host, port, httpPort } = settings
  const appliance = await openAppliance({
    dataDirectory,
    deviceKey,
    withheld,
    count,
    pool,
    log,
    openDomain,
    firstAdministrator,
    makeTlsIdentity: () => makeTlsIdentity(systemRandom),
    clock,
  })
  forgetExtensions()
  refuseNativeCode()
  applyLogging(appliance, log, syslog)
  wipe(deviceKey)
  const traffic = createTraffic()
  const tell = (message: ToBoot) => channel.send(message)
  const bootManager = createBootManager(tell)
  channel.on('message', bootManager.receive)
  const { releaseKey } = settings
  const info = { ...PRODUCT, build: buildOf(program), fallback: software.fallback, engine: engineChoice }
  if (settings.chat !== undefined)
    chat = createChatHost({
      appliance,
      place: settings.chat,
      host,
      pipe: new Socket({ fd: LINK_DESCRIPTOR, readable: true, writable: true }),
      want: (wanted) => tell({ type: 'chat', wanted }),
      log,
      onTrial: software.trial,
    })
  appliance.backups.chat = chat?.backups ?? null
  channel.on('message', (message) => chat?.receive(message))
  const app = createApp({
    appliance,
    log,

    traffic,
    info,
    bootManager,
    releaseKey,
    chat,
    consoleFiles,
    console: settings.console,
  })
  let { trial } = software
  const trialOver = Promise.withResolvers<void>()
  const duringTrial: typeof app.fetch = async (request, env) => {
    const isLocked = () => appliance.state === 'Locked'
    if (isForPeople(request)) return app.fetch(request, env)
    if (!isLocked()) return toResponse(onTrial())
    const response = await app.fetch(request, env)
    if (!isLocked()) await trialOver.promise // who unlocks it is told so when it stays
    return isLocked() || !trial ? response : toResponse(onTrial())
  }
  const gate: typeof app.fetch = (request, env) => (trial ? duringTrial : app.fetch)(request, env)
  const identity = () => appliance.tlsIdentity()
  const listener = await listenTls({
    app: { fetch: gate },
    host,
    port,
    identity,
    log,
    now: clock.now,
    traffic,
  }).catch((error) => refuse(channel, error, 'COFFER_PORT'))
  const redirect =
    httpPort === null
      ? null
      : await listenRedirect({ host, port: httpPort, tlsPort: listener.port, log, now: clock.now }).catch((error) =>
          refuse(channel, error, 'COFFER_HTTP_PORT'),
        )
  if (redirect !== null) log.info('general', `port ${redirect.port} redirects to the TLS port`)

  const { configuration } = appliance
  let fingerprint = ''
  const tellTlsKey = () => {
    const current = fingerprintOf(identity())
    if (current === fingerprint) return // another certificate for the same key
    fingerprint = current
    log.info('general', `TLS key ${fingerprint}`)
    tell({ type: 'tlsKey', fingerprint })
  }
  const tellNetwork = () => tell({ type: 'network', network: configuration.network })
  const tellNtp = () => tell({ type: 'ntp', ntp: configuration.ntp })
  configuration.onChange((part) => {
    if (part === 'tls') {
      listener.renewIdentity()
      tellTlsKey()
    }
    if (part === 'network') tellNetwork()
    if (part === 'ntp') tellNtp()
    if (part === 'logging') applyLogging(appliance, log, syslog)
  })
  tellNetwork()
  tellNtp()
  tellTlsKey()

  let told = ''
  const tellState = () => {
    const { state } = appliance
    const reason = appliance.failure ?? (trial ? problemOf(appliance) : undefined)
    if (told === `${state} ${reason}`) return
    told = `${state} ${reason}`
    tell({ type: 'state', state, ...(reason !== undefined && { reason }) })
  }
  tell({ type: 'listening', address: host, port: listener.port })
  tellState()
  appliance.onState(tellState)
  appliance.onState((state) => {
    if (state === 'Locked') setTimeout(() => void wipeLeftovers(log), LEFTOVERS_MS).unref()
  })
  const poolStart = setTimeout(() => pool.start(), POOL_START_MS)
  return {
    unlock: (passphrase) => unlockFromConsole(appliance, passphrase),
    keepStart: (start) => {
      const kept = appliance.keepStart(start)
      if (start.count !== null && typeof kept === 'number') tell({ type: 'kept', count: kept })
    },
    followMachine: () => appliance.followMachineClock(),
    endTrial: () => {
      trial = false
      chat?.endTrial()
      trialOver.resolve()
    },
    close: async () => {
      trialOver.resolve()
      clearTimeout(poolStart)
      await Promise.all([listener.close(), redirect?.close()])
      await chat?.close()
      appliance.close()
      await pool.close()
      await syslog.close()
    },
  }
}

/** Calls `onSet` whenever it has been set. */
function tellingClock(onSet: () => void): Clock {
  const clock = createClock()
  return {
    now: clock.now,
    set: (timeMs) => {
      clock.set(timeMs)
      onSet()
    },
    get offsetMs() {
      return clock.offsetMs
    },
  }
}

/** When the answer has been sent, and the requests that were refused are gone. */
const LEFTOVERS_MS = 500

/** What requests and keys have left on stack and heap, and in the buffer of Node's parsers. */
async function wipeLeftovers(log: Log): Promise<void> {
  await wipeParserBuffer().catch(({ code }: NodeJS.ErrnoException) =>
    log.error('general', `what requests left in a buffer was not overwritten: ${code}`),
  )
  wipeStack()
  wipeGarbage()
}

/** What an Administrator has set outranks the level that the boot manager gives. */
function applyLogging({ configuration }: Appliance<Operational>, log: Log, syslog: Syslog): void {
  const { ipAddress: address, port, logLevel } = configuration.logging
  log.setLevel(logLevel)
  syslog.setTarget(address === NO_LOG_HOST ? null : { address, port })
}

/** What tells that this version cannot read the store, although it is right: a trial then ends. */
function problemOf(appliance: Appliance<Operational>): string | undefined {
  if (appliance.state === 'Operational' && appliance.open().users.list('').length === 0) return 'No user can be read'
  return appliance.openFailure
}

/**
 * Until the boot manager has marked this version good, nothing is promised to anybody: the trial may be undone. Where it is
 * Locked, somebody has to unlock it for that.
 */
const onTrial = () => refusal('busy', 'A new version is being tried')

/** The page for browsers says what is going on; it and the API documents are the same whatever the trial comes to. */
const isForPeople = ({ url }: Request): boolean => /^\/($|docs\/?$|console\/)/.test(new URL(url).pathname)

const isBundle = (program: URL): boolean => program.pathname.endsWith('.js')

const workerOf = (program: URL): URL => new URL(isBundle(program) ? './worker.js' : './crypto/pool/worker.ts', program)

/** Tells bundles apart, whatever version they say they have. */
function buildOf(program: URL): string {
  if (!isBundle(program)) return 'sources'
  const hash = createHash('sha256')
  for (const file of [program, workerOf(program)]) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, BUILD_DIGITS)
}

/** What the prompt is told of an attempt. Wipes the passphrase. */
async function unlockFromConsole(
  appliance: Appliance<Operational>,
  passphrase: Uint8Array,
): Promise<Extract<ToBoot, { type: 'unlockResult' }>> {
  const answer = (result: 'unlocked' | 'wrong' | 'tooManyAttempts' | 'notLocked') =>
    ({ type: 'unlockResult', result }) as const
  try {
    if (appliance.state !== 'Locked') return answer('notLocked')
    await appliance.unlock(passphrase, CONSOLE)
    return answer('unlocked')
  } catch (error) {
    if (!(error instanceof CofferError)) throw error
    if (error.code === 'forbidden') return answer('wrong')
    if (error.code === 'tooManyAttempts') return answer('tooManyAttempts')
    return { type: 'unlockResult', result: 'failed', message: error.message }
  } finally {
    wipe(passphrase)
  }
}

/** Another start with the same settings would fail the same way: the boot manager gives up instead of trying again. */
async function refuse(channel: BootChannel, error: NodeJS.ErrnoException, portSetting: string): Promise<never> {
  const reason = portProblem(error, portSetting)
  if (reason === undefined) throw error
  await new Promise<void>((sent) => channel.send({ type: 'refused', reason }, sent))
  process.exit(1)
}
