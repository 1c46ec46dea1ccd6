/**
 * The appliance's side of the chat: whether there is an organization, which generation is current, and when it gets its key. The process
 * runs while there is an organization. It is opened while the appliance is Operational. Afterwards a new process replaces it, so that none
 * of its secrets stay in memory. Contract section 3.8.
 */

import type { Duplex } from 'node:stream'
import * as z from 'zod'
import type { Appliance } from '../../appliance/appliance.ts'
import type { ChatBackups } from '../../backup/chat.ts'
import { formatTime } from '../../base/clock.ts'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import { runDetached } from '../../base/request-authorization.ts'
import { wipe } from '../../base/secret.ts'
import type { ChatPlace, ProcessWish, ToFirmware } from '../../channel/protocol.ts'
import { type Random, systemRandom } from '../../crypto/random.ts'
import type { TlsIdentity } from '../../crypto/tls/identity.ts'
import type { OutgoingClient } from '../../outgoing/client.ts'
import type { ChatService } from '../link/chat-service.ts'
import { type Ask, JWT_ALGORITHMS } from '../link/link.ts'
import { createHostBackups } from './backups.ts'
import { createChanges } from './changes.ts'
import { createChatAuditLog } from './chat-audit-log.ts'
import { type ChatConnection, expectShape } from './chat-connection.ts'
import { createCommitCounterStore } from './commit-counter-store.ts'
import { askStatistics, keepOrganization, noOrganization } from './organization.ts'
import { createChatOutgoing } from './outgoing.ts'
import { createChatPort } from './port.ts'
import { createChatProcess } from './process.ts'
import type { ChatRecord } from './record.ts'

interface ChatHostOptions {
  appliance: Appliance
  place: ChatPlace
  host: string
  pipe: Duplex
  want: (wish: ProcessWish) => void
  log: Log
  /** Absent under an older boot manager: the chat then reaches no other host. */
  outgoing?: OutgoingClient | undefined
  random?: Random
  /**
   * True during the trial of a new version. The chat stays closed then: after a rollback, the older version could not read data of the
   * newer one.
   */
  onTrial: boolean
}

export interface ChatHost extends ChatService {
  readonly backups: ChatBackups
  receive(message: ToFirmware): void
  endTrial(): void
  clockSet(): void
  /** The organization's `url` while the chat is open; null without one. */
  readonly origin: string | null
  /** Resolves when the chat's port shows these certificates in handshakes of certificate authorities, and no others. */
  showChallenges(challenges: readonly Challenge[]): Promise<void>
  /** Waits for the last messages of a process that the boot manager is ending, and stores its commit counts. */
  close(): Promise<void>
}

interface Challenge {
  serverName: string
  identity: TlsIdentity
}

const settingsSchema = z.object({
  url: z.string(),
  ownerFullContentAccess: z.boolean(),
  uploadQuotaMib: z.number().nullable(),
  outgoingHosts: z.array(z.string()),
  externalPreviews: z.boolean(),
  jwt: z.object({ algorithm: z.enum(JWT_ALGORITHMS) }).nullable(),
})

const KEY_PURPOSE = 'coffer chat'

/**
 * While the appliance is Locked the chat can only refuse, and its start takes as much processor time as an unlock. The process therefore
 * starts this long after a lock or after the start of the appliance, and not while a passphrase is checked.
 */
export const LOCKED_PAUSE_MS = 2000
const GROWTH_INTERVAL_MS = 5000 // the growth decreases meanwhile, by the lines that were written

export function createChatHost(options: ChatHostOptions): ChatHost {
  const { appliance, place, host, pipe, want, log, random = systemRandom } = options
  const { chatTls } = appliance.configuration
  const commits = createCommitCounterStore(appliance.deviceRecords)
  const outgoing = createChatOutgoing(appliance.deviceRecords, options.outgoing)
  const chatPort = createChatPort(appliance.deviceRecords, place)
  const acts = createChatAuditLog({ audit: () => appliance.audit, time: () => formatTime(appliance.clock.now()) })
  let { onTrial } = options
  let hasOlderCopies = false
  let pause: NodeJS.Timeout | undefined
  let challenges: readonly Challenge[] = []
  let origin: string | null = null
  const changes = createChanges(() => appliance.epoch, settle)
  const chatKey = (): Uint8Array => appliance.deriveKey(KEY_PURPOSE)
  const auditGrowthBytes = (): number => appliance.audit?.growthBytes() ?? 0

  const process = createChatProcess({
    pipe,
    want,
    log,
    port: () => chatPort.current,
    start: (port) => ({
      directory: place.directory,
      host,
      port,
      ...identityBytes(chatTls.identity),
      offsetMs: appliance.clock.offsetMs,
      logLevel: log.level,
      auditGrowthBytes: auditGrowthBytes(),
    }),
    onListening: () => {
      if (challenges.length > 0) void tellChallenges()
      sync()
    },
    onAct: acts.record,
    onRequest: outgoing.perform,
    onCommits: ({ generation, sealed }) => {
      if (organization.record?.generation === generation) commits.keep(generation, sealed)
    },
  })
  const organization = keepOrganization({ appliance, process, commits, random, chatKey })

  /** Starts or stops the process and opens the organization, as the present state requires. Call it after every change of state. */
  function sync(): void {
    if (changes.isUnderWay) return
    const { record } = organization
    if (record === null || appliance.state === 'Unprovisioned') {
      process.want('none')
      return
    }
    const isOperational = appliance.state === 'Operational' && !onTrial
    if (record.stage !== 'present') {
      if (isOperational) void runDetached(finishErasing) // detached from the request that unlocked the appliance
      return
    }
    if (chatTls.identityIfAny === undefined) chatTls.reload()
    if (chatTls.identityIfAny === undefined) {
      process.fail('the key of its port cannot be read')
      return
    }
    if (appliance.state !== 'Locked') endPause()
    if (pause !== undefined) return
    process.want('running')
    if (isOperational && process.port !== null && !process.isSpent) void runDetached(() => open(record))
  }

  async function open({ generation }: ChatRecord): Promise<void> {
    process.spend()
    const connection = defined(process.connection)
    try {
      connection.send({ type: 'webPush', settings: outgoing.webPush })
      await connection.ask({ do: 'open', generation, chatKey: chatKey(), kept: commits.of(generation) })
      if (process.connection !== connection) return
      process.opened()
      log.info('general', 'the chat is open')
      await learnHost(connection)
      await adoptHosts(connection)
    } catch (error) {
      if (process.connection === connection && !isLocking(error)) process.fail(messageOf(error))
    }
  }

  /**
   * Adds the host of the organization's address to TLS certificates, and notes older copies. Errors are only logged: the change that led
   * here has succeeded.
   */
  async function learnHost(connection: ChatConnection): Promise<void> {
    try {
      const { url, older } = await askStatistics(connection)
      if (process.connection !== connection) return
      hasOlderCopies = older.length > 0
      origin = url === '' ? null : url
      appliance.configuration.setChatHost(url === '' ? null : new URL(url).hostname.replace(/^\[|\]$/g, ''))
    } catch (error) {
      if (process.connection === connection && !isLocking(error))
        log.warning('general', `cannot add the host of the chat's URL to certificates: ${messageOf(error)}`)
    }
  }

  /** Takes over the list of an organization that was made before the appliance kept it. */
  async function adoptHosts(connection: ChatConnection): Promise<void> {
    if (outgoing.hosts !== null) return
    const { outgoingHosts } = expectShape(settingsSchema, await connection.ask({ do: 'settings' }))
    if (process.connection === connection && outgoing.hosts === null) outgoing.setHosts(outgoingHosts)
  }

  /** Replaces the process whose key was revoked. The following state tells whether that was due to a lock. */
  function renew(): void {
    if (changes.isUnderWay) return
    if (appliance.state === 'Locked') beginPause()
    process.renew()
    queueMicrotask(sync)
  }

  function beginPause(): void {
    clearTimeout(pause)
    pause = setTimeout(() => {
      if (appliance.isUnlocking) return beginPause()
      pause = undefined
      sync()
    }, LOCKED_PAUSE_MS).unref()
  }

  function endPause(): void {
    clearTimeout(pause)
    pause = undefined
  }

  function settle(isRenewed: boolean): void {
    if (isRenewed) renew()
    sync()
  }

  const finishErasing = (): Promise<void> =>
    changes.quietly(async () => {
      try {
        await organization.eraseRest()
      } catch (error) {
        process.fail(`what is left of it could not be erased: ${messageOf(error)}`) // the next unlock tries again
      }
    })

  /** Best effort: without the chat's port, an authority does not find the challenge there, and says so. */
  async function tellChallenges(): Promise<void> {
    const shown = challenges.map(({ serverName, identity }) => ({ serverName, ...identityBytes(identity) }))
    try {
      await process.connection?.ask({ do: 'challenges', challenges: shown })
    } catch (error) {
      log.warning('general', `the chat's port does not answer challenges: ${messageOf(error)}`)
    }
  }

  async function changeOrganization({
    outgoingHosts,
    webPush,
    ...changes
  }: Omit<Parameters<ChatService['changeSettings']>[0], 'port'>): Promise<void> {
    const connection = expectRunning()
    await connection.ask({ do: 'changeSettings', changes })
    if (outgoingHosts !== undefined) outgoing.setHosts(outgoingHosts)
    if (webPush !== undefined) {
      outgoing.setWebPush(webPush)
      connection.send({ type: 'webPush', settings: webPush })
    }
    await learnHost(connection)
  }

  /** Another process listens at the other port; clients connect again. */
  function movePort(port: number): void {
    if (port === chatPort.current) return
    const end = changes.begin()
    try {
      chatPort.choose(port)
      process.retry()
      if (!process.isSpent) process.end()
    } finally {
      end(true)
    }
  }

  const expectRunning = (): ChatConnection => {
    const { isOpen, connection, problem } = process
    if (isOpen && connection !== null) return connection
    if (organization.record === null) throw noOrganization()
    throw new CofferError('unavailable', problem === null ? 'The chat is starting' : `The chat has failed: ${problem}`)
  }
  const askRunning = async (ask: Ask): Promise<unknown> => expectRunning().ask(ask)

  const backups = createHostBackups({
    process,
    organization,
    changes,
    tls: chatTls,
    random,
    log,
    expectRunning,
    onReplaced: () => settle(true),
  })

  appliance.onState((state) => settle(state !== 'Operational'))
  appliance.onEpochEnd(() => renew())
  appliance.configuration.onChange((part) => {
    if (part === 'chatTls') process.connection?.send({ type: 'identity', ...identityBytes(chatTls.identity) })
  })
  if (appliance.state === 'Locked') beginPause()
  sync()
  const tellAuditGrowth = () => process.connection?.send({ type: 'auditGrowth', bytes: auditGrowthBytes() })
  const growthTimer = setInterval(tellAuditGrowth, GROWTH_INTERVAL_MS).unref()

  return {
    backups,
    tellAuditGrowth,
    get state() {
      if (organization.record === null) return 'none'
      return process.isOpen ? 'running' : process.problem === null ? 'starting' : 'failed'
    },
    get problem() {
      return process.problem
    },
    get port() {
      return process.port
    },
    get hasOlderCopies() {
      return organization.record !== null && hasOlderCopies
    },
    get origin() {
      return process.isOpen ? origin : null
    },
    figures: async () => askStatistics(expectRunning()),
    settings: async () => {
      const settings = expectShape(settingsSchema, await askRunning({ do: 'settings' }))
      const { chosen } = chatPort
      return {
        ...settings,
        outgoingHosts: outgoing.hosts ?? settings.outgoingHosts,
        webPush: outgoing.webPush,
        ...(chosen !== undefined && { port: chosen }),
      }
    },
    changeSettings: async ({ port, ...others }) => {
      if (organization.record === null) throw noOrganization()
      if (port !== undefined) chatPort.expect(port)
      if (Object.keys(others).length > 0 || port === undefined) await changeOrganization(others)
      if (port !== undefined) movePort(port)
    },
    recoverOwner: async (email, password) => {
      try {
        await askRunning({ do: 'recoverOwner', email, password })
      } finally {
        wipe(password)
      }
    },
    createOrganization: (wanted, password) =>
      changes.exclusively(async () => {
        if (onTrial) throw new CofferError('unavailable', 'A new version is being tried')
        await organization.create(wanted, password)
        outgoing.setHosts([])
        outgoing.setWebPush(null)
        if (process.connection !== null) await learnHost(process.connection)
      }),
    deleteOrganization: (name) => changes.exclusively(() => organization.delete(name)),
    receive: (message) => {
      if (message.type === 'chatDown') process.down(message.problem)
    },
    endTrial: () => {
      onTrial = false
      sync()
    },
    clockSet: () => process.connection?.send({ type: 'time', offsetMs: appliance.clock.offsetMs }),
    showChallenges: (current) => {
      challenges = current
      return tellChallenges()
    },
    close: async () => {
      clearInterval(growthTimer)
      endPause()
      await process.silent()
      commits.flush()
    },
  }
}

const identityBytes = ({ key, cert }: TlsIdentity) => ({ key: key.slice(), cert: new TextEncoder().encode(cert) })

/** True if a lock interrupted the operation, which is no failure of the chat. */
const isLocking = (error: unknown): boolean => error instanceof CofferError && error.code === 'unavailable'

const messageOf = (error: unknown): string => (error instanceof CofferError ? error.message : 'unexpected')
