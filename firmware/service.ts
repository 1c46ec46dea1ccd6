/** The story of a start: open the store, restore the boot mode, build the app, listen, obey the boot manager. */

import { createHash } from 'node:crypto'
import { on } from 'node:events'
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { type Acme, createAcme, systemTime } from './acme/service.ts'
import { createAlerts } from './alerts/service.ts'
import { createApp } from './app.ts'
import { type Appliance, openAppliance } from './appliance/appliance.ts'
import { CONSOLE } from './appliance/unlocking.ts'
import { type Clock, createClock } from './base/clock.ts'
import { refuseNativeCode } from './base/confinement.ts'
import { defined } from './base/defined.ts'
import { CofferError, describe } from './base/error.ts'
import { createLog, type Log, type LogEntry, writeToConsole } from './base/log.ts'
import { exitOnBugs, ignoreSignals, portProblem } from './base/process.ts'
import { wipe } from './base/secret.ts'
import { createSyslog, type Syslog } from './base/syslog.ts'
import { reportToBoot } from './boot-reports.ts'
import { keepCertificateNames, reachNames } from './certificate-names.ts'
import { createBootManager } from './channel/boot-manager.ts'
import { CHAT_DESCRIPTOR, OUTGOING_DESCRIPTOR } from './channel/channel.ts'
import type { BootChannel } from './channel/connect.ts'
import { PRODUCT } from './channel/product.ts'
import type { LastStart, OutgoingPlace, ToBoot, ToFirmware } from './channel/protocol.ts'
import { type ChatHost, createChatHost } from './chat/host/host.ts'
import { createEtcdService, type EtcdService } from './cluster/etcd/service.ts'
import { connectAsMember } from './cluster/membership/record.ts'
import { NO_LOG_HOST } from './configuration/configuration.ts'
import type { OutgoingSettings } from './configuration/outgoing.ts'
import { consoleFiles } from './console-files.ts'
import { engineChoice } from './crypto/engine/choice.ts'
import { createPool } from './crypto/pool/pool.ts'
import { systemRandom } from './crypto/random.ts'
import { makeTlsIdentity } from './crypto/tls/identity.ts'
import type { CryptoPool } from './crypto/types.ts'
import { watchDisk } from './disk-watch.ts'
import { createForwarder, type Forwarder } from './forwarding/forwarder.ts'
import { createLogQueue, type LogQueue } from './forwarding/log-queue.ts'
import { listenTls } from './http/server/listener.ts'
import { listenRedirect } from './http/server/redirect.ts'
import { createTraffic, type Traffic } from './http/server/traffic.ts'
import { firstAdministrator, type Operational, openDomain } from './kms/domain/operational.ts'
import type { Api } from './kms/pipeline/pipeline.ts'
import { createOutgoingClient, type OutgoingClient } from './outgoing/client.ts'
import type { ConnectionSettings } from './outgoing/link.ts'
import { forgetExtensions } from './store/sqlite/file.ts'
import { createTrialGate } from './trial-gate.ts'
import { wipeAfterLocks } from './wipe-leftovers.ts'

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
      defined(service)
        .unlock(message.passphrase)
        .then((result) => channel.send(result)) // pings go on
    else if (message.type === 'ping') channel.send({ type: 'pong' })
    else if (message.type === 'good') defined(service).endTrial()
    else if (message.type === 'keep') defined(service).keepStart(message)
    else if (message.type === 'timeKept') defined(service).followMachine()
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

/** A program that listens at one address only has it from its administrator, and no setting of ours changes it. */
const ANY_ADDRESS: readonly string[] = ['0.0.0.0', '::']

type Start = Extract<ToFirmware, { type: 'start' }>

async function start(start: Start, channel: BootChannel, program: URL): Promise<Service> {
  const { settings, software } = start
  const send = (message: ToBoot) => channel.send(message)
  let chat: ChatHost | undefined
  const clock = observedClock(() => chat?.clockSet())
  const syslog = createSyslog(clock.now)
  let isStarting = true
  const queue = createLogQueue(clock.now)
  const log = openLog(start, [syslog.send, queue.add], () => isStarting)
  const pool = createPool({ entry: workerOf(program), startLater: true })
  const etcd = createEtcdService({ socket: settings.etcd?.socket, send })
  channel.on('message', etcd.receive)
  const appliance = await openStore(start, { pool, log, clock, etcd })
  followLogging(appliance, log, syslog)
  const traffic = createTraffic()
  const bootManager = createBootManager(send)
  channel.on('message', bootManager.receive)
  const outgoing = openOutgoing(start, { appliance, log, send })
  channel.on('message', (message) => outgoing?.receive(message))
  chat = openChat(start, { appliance, log, send, outgoing })
  channel.on('message', (message) => chat?.receive(message))
  const acme = openAcme(start, { appliance, log, outgoing, chat, clock })
  const forwarder = openForwarder({ appliance, log, outgoing, queue, clock })
  const alerts = createAlerts({
    ...{ appliance, acme, chat, outgoing, forwarder, log },
    isRolledBack: software.fallback !== null,
    setsClock: settings.outgoing?.onHost === false,
    monotonicMs: () => performance.now(),
  })
  channel.on('message', alerts.receive)
  const { releaseKey, console } = settings
  const appliesNetwork = ANY_ADDRESS.includes(settings.host)
  const info = { ...PRODUCT, build: buildOf(program), fallback: software.fallback, engine: engineChoice }
  const app = createApp({
    appliance,
    log,
    traffic,
    info,
    bootManager,
    etcd,
    releaseKey,
    chat,
    outgoing,
    acme,
    alerts,
    forwarder,
    consoleFiles,
    console,
    appliesNetwork,
  })
  const gate = createTrialGate(app, appliance, software.trial)
  isStarting = false // requests come
  const { port, close: closeServers } = await listen(start, channel, {
    app: gate,
    appliance,
    log,
    clock,
    traffic,
    acme,
    chat,
  })
  keepCertificateNames(appliance, { host: settings.host, log })
  reportToBoot({ appliance, log, send, problem: () => gate.problem }, { address: settings.host, port })
  wipeAfterLocks(appliance, pool, log)
  const disk = watchDisk(appliance.space, log)
  const poolStart = setTimeout(() => pool.start(), POOL_START_MS)
  return {
    unlock: (passphrase) => unlockFromConsole(appliance, passphrase),
    keepStart: (start) => {
      const kept = appliance.keepStart(start)
      if (start.count !== null && typeof kept === 'number') send({ type: 'kept', count: kept })
    },
    followMachine: () => appliance.followMachineClock(),
    endTrial: () => {
      gate.end()
      chat?.endTrial()
    },
    close: async () => {
      gate.close()
      disk.stop()
      alerts.stop()
      clearTimeout(poolStart)
      await closeServers()
      await acme.close()
      await forwarder?.close()
      await chat?.close()
      await appliance.close()
      await pool.close()
      await syslog.close()
    },
  }
}

/** To the boot manager, which shows it, and to log servers if there are any. */
function openLog(
  { settings, software }: Start,
  sinks: readonly ((entry: LogEntry) => void)[],
  isStarting: () => boolean,
): Log {
  const log = createLog(settings.logLevel, (entry) => {
    writeToConsole(entry)
    for (const sink of sinks) sink(entry)
  })
  exitOnBugs(log, isStarting)
  if (software.fallback !== null) log.warning('general', software.fallback)
  return log
}

/** From then on, no native code is loaded any more. */
async function openStore(
  { settings: { dataDirectory, etcd: place, host }, deviceKey, withheld, count }: Start,
  services: { pool: CryptoPool; log: Log; clock: Clock; etcd: EtcdService },
): Promise<Appliance<Operational>> {
  const appliance = await openAppliance({
    ...services,
    dataDirectory,
    deviceKey,
    withheld,
    count,
    cluster: {
      connect: (device) => connectAsMember(device, services.etcd.socket),
      isolatedMaxMs: place?.isolatedMaxMs || Number.POSITIVE_INFINITY, // 0 is for ever
    },
    openDomain,
    firstAdministrator,
    makeTlsIdentity: () =>
      makeTlsIdentity(systemRandom, undefined, reachNames({ host, network: null, chatHost: null })),
  })
  forgetExtensions()
  refuseNativeCode()
  wipe(deviceKey)
  return appliance
}

interface Joining {
  appliance: Appliance<Operational>
  log: Log
  send: (message: ToBoot) => void
}

const pipeAt = (fd: number): Socket => new Socket({ fd, readable: true, writable: true })

/** Undefined under an older boot manager. */
function openOutgoing(
  { settings: { outgoing: place } }: Start,
  { appliance, log, send }: Joining,
): OutgoingClient | undefined {
  if (place === undefined) return undefined
  const outgoing = createOutgoingClient({
    pipe: pipeAt(OUTGOING_DESCRIPTOR),
    want: (wanted) => send({ type: 'outgoing', wanted }),
    log,
    settings: () => connectionSettings(place, appliance.configuration.outgoing),
  })
  appliance.configuration.onChange((part) => {
    if (part === 'outgoing') outgoing.renewSettings()
  })
  appliance.onEpochEnd(() => outgoing.renew())
  return outgoing
}

/** Texts that are large or secret travel as bytes. */
function connectionSettings(
  { onHost }: OutgoingPlace,
  { proxy, authorities, ...others }: OutgoingSettings,
): ConnectionSettings {
  const encode = (value: string) => new TextEncoder().encode(value)
  const settings = { ...others, onHost, authorities: encode(authorities) }
  if (proxy === null) return { ...settings, proxy }
  const { password, ...place } = proxy
  return { ...settings, proxy: { ...place, ...(password !== undefined && { password: encode(password) }) } }
}

/** Undefined where there is no place for a chat. */
function openChat(
  { settings: { chat: place, host }, software }: Start,
  { appliance, log, send, outgoing }: Joining & { outgoing: OutgoingClient | undefined },
): ChatHost | undefined {
  if (place === undefined) return undefined
  const chat = createChatHost({
    appliance,
    place,
    host,
    pipe: pipeAt(CHAT_DESCRIPTOR),
    want: (wanted) => send({ type: 'chat', wanted }),
    log,
    outgoing,
    onTrial: software.trial,
  })
  appliance.backups.chat = chat.backups
  return chat
}

function openAcme(
  { settings: { httpPort } }: Start,
  {
    appliance,
    log,
    outgoing,
    chat,
    clock,
  }: {
    appliance: Appliance<Operational>
    log: Log
    outgoing: OutgoingClient | undefined
    chat: ChatHost | undefined
    clock: Clock
  },
): Acme {
  return createAcme({
    appliance,
    time: systemTime(clock.now),
    random: systemRandom,
    log,
    send: outgoing && ((job, hosts, signal) => outgoing.http(job, { origin: 'appliance', hosts, signal })),
    answersHttp: httpPort !== null,
    chat: {
      hasOrganization: () => chat !== undefined && chat.state !== 'none',
      show: async (challenges) => chat?.showChallenges(challenges),
    },
  })
}

/** Undefined under an older boot manager. */
function openForwarder({
  appliance,
  log,
  outgoing,
  queue,
  clock,
}: {
  appliance: Appliance<Operational>
  log: Log
  outgoing: OutgoingClient | undefined
  queue: LogQueue
  clock: Clock
}): Forwarder | undefined {
  if (outgoing === undefined) {
    queue.enable(false)
    queue.clear()
    return undefined
  }
  const { configuration, deviceId } = appliance
  return createForwarder({
    settings: () => configuration.syslog,
    onChange: (listener) => configuration.onChange((part) => part === 'syslog' && listener()),
    identity: () => configuration.syslogTls.identityIfAny,
    portIdentity: () => configuration.tls.identity,
    deviceId,
    audit: () => appliance.audit?.forwarding,
    queue,
    log,
    now: clock.now,
    send: (job, signal) => outgoing.syslog(job, signal),
  })
}

interface ServerOptions {
  app: Pick<Api, 'fetch'>
  appliance: Appliance<Operational>
  log: Log
  clock: Clock
  traffic: Traffic
  acme: Acme
  chat: ChatHost | undefined
}

/** The TLS port, and those of plain HTTP that redirect to it, where they are set. */
async function listen(
  { settings: { host, port, httpPort, furtherHttpPorts = [] } }: Start,
  channel: BootChannel,
  { app, appliance, log, clock: { now }, traffic, acme: { challenges }, chat }: ServerOptions,
): Promise<{ port: number; close: () => Promise<void> }> {
  const identity = () => appliance.tlsIdentity()
  const challengeFor = challenges.identityFor
  const listener = await listenTls({ app, host, port, identity, log, now, traffic, challengeFor }).catch((error) =>
    refuse(channel, error, 'COFFER_PORT'),
  )
  appliance.configuration.onChange((part) => {
    if (part === 'tls') listener.renewIdentity()
  })
  if (httpPort === null) return { port: listener.port, close: () => listener.close() }
  const { authorizationOf } = challenges
  const chatOrigin = () => chat?.origin ?? null
  const common = { host, tlsPort: listener.port, log, now, authorizationOf, chatOrigin }
  const redirects = [
    await listenRedirect({ ...common, port: httpPort }).catch((error) => refuse(channel, error, 'COFFER_HTTP_PORT')),
  ]
  for (const further of furtherHttpPorts) {
    const redirect = await listenRedirect({ ...common, port: further }).catch((error) =>
      log.warning('general', `cannot redirect at port ${further}: ${describe(error)}`),
    )
    if (redirect !== undefined) redirects.push(redirect)
  }
  for (const redirect of redirects) log.info('general', `port ${redirect.port} redirects to the TLS port`)
  const close = async () => {
    await Promise.all([listener, ...redirects].map((server) => server.close()))
  }
  return { port: listener.port, close }
}

/** Calls `onSet` whenever it has been set. */
function observedClock(onSet: () => void): Clock {
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

/** An Administrator's setting outranks the level that the boot manager gives. */
function followLogging({ configuration }: Appliance<Operational>, log: Log, syslog: Syslog): void {
  const apply = () => {
    const { ipAddress: address, port, logLevel } = configuration.logging
    log.setLevel(logLevel)
    syslog.setTarget(address === NO_LOG_HOST || port === 0 ? null : { address, port })
  }
  configuration.onChange((part) => {
    if (part === 'logging') apply()
  })
  apply()
}

const isBundle = (program: URL): boolean => program.pathname.endsWith('.js')

const workerOf = (program: URL): URL => new URL(isBundle(program) ? './worker.js' : './crypto/pool/worker.ts', program)

/** Tells bundles apart, whatever version they say they have. */
function buildOf(program: URL): string {
  if (!isBundle(program)) return 'sources'
  const hash = createHash('sha256')
  for (const file of [program, workerOf(program)]) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, BUILD_DIGITS)
}

/** Unlocks and words the outcome for the prompt. Wipes the passphrase. */
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
