/**
 * The appliance's end of the chat: whether there is one, which of its generations counts, and when it has its key. The
 * process is there while there is an organization; it is opened while the appliance is Operational, and another process
 * takes its place when that ends, so that nothing it knew stays in memory. Contract section 3.8.
 */

import type { Duplex } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { bytesToHex } from '@noble/hashes/utils.js'
import * as z from 'zod'
import type { Appliance } from '../appliance/appliance.ts'
import type { ChatBackups } from '../backup/chat.ts'
import { actAlone } from '../base/admission.ts'
import { CofferError } from '../base/error.ts'
import type { Log } from '../base/log.ts'
import { receiveLives } from '../channel/lives.ts'
import type { ChatPlace, ChatWish, ToFirmware } from '../channel/protocol.ts'
import { type Random, systemRandom } from '../crypto/random.ts'
import { makeTlsIdentity } from '../crypto/tls/identity.ts'
import { CHAT, CHAT_COMMITS, CHAT_TLS_IDENTITY } from '../store/device-area.ts'
import { expectShape, type Life, openLife } from './asking.ts'
import { copyOf, hand } from './host-backups.ts'
import { createCommitsKept } from './host-commits.ts'
import type { Ask, Figures, FromChat, NewOrganization, OperatorSettings } from './link.ts'

export type ChatState = 'none' | 'starting' | 'running' | 'failed'

export interface ChatHostOptions {
  appliance: Appliance
  place: ChatPlace
  host: string
  /** To the chat's process, whichever runs. */
  pipe: Duplex
  want: (wish: ChatWish) => void
  log: Log
  random?: Random
  /** While a version is on trial nothing is opened: it may be left, and its successor could not read what it wrote. */
  onTrial: boolean
}

export interface ChatHost {
  readonly backups: ChatBackups
  readonly state: ChatState
  /** Why it is failed. */
  readonly problem: string | null
  /** Where it listens; null while it does not. */
  readonly port: number | null
  /** Throws `unavailable` unless it is running, like all that asks it. */
  figures(): Promise<Figures>
  /** Throws `conflict` where there is one. Wipes the password. */
  createOrganization(organization: NewOrganization, password: Uint8Array): Promise<void>
  /** Throws `notFound` where there is none, `invalid` when that is not its name. Nothing of it is left afterwards. */
  deleteOrganization(name: string): Promise<void>
  settings(): Promise<OperatorSettings>
  changeSettings(changes: Partial<OperatorSettings>): Promise<void>
  /** Throws `notFound`. Wipes the password. */
  recoverOwner(email: string, password: Uint8Array): Promise<void>
  /** From the boot manager. */
  receive(message: ToFirmware): void
  endTrial(): void
  /** The appliance's clock was set. */
  clockSet(): void
  /** Hears what its process says at its end, which the boot manager has brought about, and keeps it. */
  close(): Promise<void>
}

/** What the device area says of it. One that was being made or erased when the power went is erased. */
const recordSchema = z.strictObject({
  generation: z.string(),
  stage: z.enum(['making', 'present', 'erasing']),
})
type ChatRecord = z.infer<typeof recordSchema>

const NAME_CHARACTERS_MAX = 20
const figuresSchema = z.object({
  name: z.string(),
  url: z.string(),
  users: z.number(),
  messages: z.number(),
  bytes: z.number(),
  queues: z.number(),
  commits: z.number(),
  older: z.array(z.string().max(NAME_CHARACTERS_MAX)).max(2),
})
const settingsSchema = z.object({
  url: z.string(),
  ownerFullContentAccess: z.boolean(),
  uploadQuotaMib: z.number().nullable(),
})

const KEY_PURPOSE = 'coffer chat'
const GENERATION_BYTES = 8
const START_MS_MAX = 60_000 // of a process on a slow device that starts everything at once
const LAST_WORDS_MS_MAX = 5000 // they are on their way; the boot manager kills who takes 15 s

export function createChatHost(options: ChatHostOptions): ChatHost {
  const { appliance, place, host, pipe, log, random = systemRandom } = options
  const { chatTls } = appliance.configuration
  const commits = createCommitsKept(appliance.deviceRecords)
  let { onTrial } = options
  let life: Life | null = null
  /** Resolves when nothing more comes from the last process. */
  let silence: Promise<void> = Promise.resolve()
  /** The process that runs has, or has had, the key. */
  let isSpent = false
  let isOpen = false
  let port: number | null = null
  /** A system that has chosen one keeps to it: clients go on after a lock. */
  let chosenPort = place.port
  let problem: string | null = null
  let waiting: (() => void)[] = []
  let changing = false
  let wished: ChatWish = 'none'

  const want = (wish: ChatWish) => {
    if (wish === wished) return
    wished = wish === 'fresh' ? 'running' : wish
    options.want(wish)
  }

  const readRecord = (): ChatRecord | null => {
    const bytes = appliance.deviceRecords.read('reading what is known of the chat', (area) => area.get(CHAT))
    if (bytes == null) return null
    const { data } = recordSchema.safeParse(JSON.parse(new TextDecoder().decode(bytes)))
    return data ?? null
  }
  const writeRecord = (record: ChatRecord | null) =>
    appliance.deviceRecords.write((area) => {
      if (record !== null) area.put(CHAT, encode(record))
      else for (const name of [CHAT, CHAT_COMMITS, CHAT_TLS_IDENTITY]) area.remove(name)
    })
  const tellWaiting = () => {
    for (const resolve of waiting) resolve()
    waiting = []
  }
  const fail = (reason: string) => {
    problem = reason
    log.error('general', `the chat has failed: ${reason}`)
    tellWaiting()
  }

  function onLife(stream: Duplex): void {
    over() // the end of the one before may still be unheard
    const ended = Promise.withResolvers<void>()
    silence = ended.promise
    const own = openLife(stream, {
      onMessage: (message) => {
        if (message.type === 'commits')
          keepCommits(message) // also of one that is ending
        else if (life === own) hear(message)
      },
      onRefused: (why) => {
        ended.resolve()
        if (life !== own) return
        over()
        want('none')
        fail(`its process ${why}`)
      },
      onEnd: () => {
        ended.resolve()
        if (life === own) over()
      },
    })
    life = own
    isSpent = false
    const { key, cert } = chatTls.identity
    own.send({
      type: 'start',
      start: {
        directory: place.directory,
        host,
        port: chosenPort,
        key: key.slice(),
        cert: new TextEncoder().encode(cert),
        offsetMs: appliance.clock.offsetMs,
        logLevel: log.level,
      },
    })
  }

  function keepCommits({ generation, sealed }: Extract<FromChat, { type: 'commits' }>): void {
    if (readRecord()?.generation === generation) commits.keep(generation, sealed)
  }

  function over(): void {
    life = null
    isOpen = false
    port = null
    tellWaiting()
  }

  function hear(message: Exclude<FromChat, { type: 'answer' | 'commits' }>): void {
    if (message.type === 'refused') {
      want('none')
      fail(message.reason)
      return
    }
    port = message.port
    chosenPort = message.port
    tellWaiting()
    sync()
  }

  /** What should be, is asked for; called whenever something has changed. */
  function sync(): void {
    if (changing) return
    const record = readRecord()
    if (record === null || appliance.state === 'Unprovisioned') {
      want('none')
      return
    }
    const isOperational = appliance.state === 'Operational' && !onTrial
    if (record.stage !== 'present') {
      if (isOperational) void actAlone(finishErasing) // the request that unlocked has nothing to do with it
      return
    }
    if (chatTls.identity === undefined) chatTls.reload()
    if (chatTls.identity === undefined) {
      fail('the key of its port cannot be read')
      return
    }
    want('running')
    if (isOperational && port !== null && !isSpent) void actAlone(() => open(record))
  }

  async function open({ generation }: ChatRecord): Promise<void> {
    isSpent = true
    const own = life!
    try {
      await own.ask({ do: 'open', generation, chatKey: chatKey(), kept: commits.of(generation) })
      if (life !== own) return
      isOpen = true
      problem = null
      log.info('general', 'the chat is open')
      tellWaiting()
    } catch (error) {
      if (life === own && !isLocking(error)) fail(messageOf(error))
    }
  }

  /** The key was taken away: whoever had it goes. */
  function renew(): void {
    if (!isSpent || changing) return
    life?.send({ type: 'close' })
    isSpent = false
    over()
    want('fresh')
  }

  const chatKey = (): Uint8Array => appliance.deriveKey(KEY_PURPOSE)

  /** Resolves with a process that listens. Throws `unavailable` when none gets so far. */
  async function listening(): Promise<Life> {
    let isLate = false
    const deadline = setTimeout(() => {
      isLate = true
      tellWaiting()
    }, START_MS_MAX)
    try {
      while (life === null || port === null) {
        if (problem !== null) throw new CofferError('unavailable', `The chat does not start: ${problem}`)
        if (isLate) throw new CofferError('unavailable', 'The chat did not start in time')
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
      return life
    } finally {
      clearTimeout(deadline)
    }
  }

  /** One change at a time; meanwhile nothing is done by itself. */
  async function exclusively<T>(change: () => Promise<T>): Promise<T> {
    if (changing) throw new CofferError('busy', 'The chat is being changed, try again')
    changing = true
    const { era } = appliance
    try {
      return await change()
    } finally {
      changing = false
      if (appliance.era !== era) renew()
      sync()
    }
  }

  const expectRunning = (): Life => {
    if (isOpen && life !== null) return life
    if (readRecord() === null) throw noOrganization()
    throw new CofferError('unavailable', problem === null ? 'The chat is starting' : `The chat has failed: ${problem}`)
  }
  const askRunning = async (ask: Ask): Promise<unknown> => expectRunning().ask(ask)

  async function eraseAll(): Promise<void> {
    isOpen = false
    want('running')
    await (await listening()).ask({ do: 'erase' })
    forget()
  }

  /** There is no organization any more, and no process. */
  function forget(): void {
    commits.forget()
    writeRecord(null)
    isSpent = false
    over()
    want('none')
  }

  async function finishErasing(): Promise<void> {
    problem = null
    changing = true
    try {
      if (chatTls.identity === undefined) chatTls.reload()
      await eraseAll()
    } catch (error) {
      fail(`what is left of it could not be erased: ${messageOf(error)}`) // tried again at the next unlock
    } finally {
      changing = false
    }
  }

  const newGeneration = () => bytesToHex(random(GENERATION_BYTES))

  const backups: ChatBackups = {
    get exists() {
      return readRecord()?.stage === 'present'
    },
    async copy() {
      if (isOpen || problem === null) return copyOf(expectRunning())
      log.warning('general', 'the backup is without the chat, which has failed')
      return null
    },
    receive: (pieces) =>
      exclusively(async () => {
        problem = null
        if (chatTls.identity === undefined) chatTls.reload()
        if (chatTls.identity === undefined) chatTls.use(await makeTlsIdentity(random))
        want('running')
        const generation = newGeneration()
        await hand(await listening(), generation, pieces)
        return generation
      }),
    replace: (device, received, keyStays) => {
      const record = readRecord()
      if (received !== null) {
        device.put(CHAT, encode({ generation: received, stage: 'present' }))
        if (!device.has(CHAT_TLS_IDENTITY)) device.putTlsIdentity(chatTls.identity, CHAT_TLS_IDENTITY)
      } else if (record !== null && !keyStays) device.put(CHAT, encode({ ...record, stage: 'erasing' }))
    },
    replaced: () => {
      chatTls.reload()
      renew()
      sync()
    },
  }

  receiveLives(pipe, onLife)
  appliance.onState((state) => {
    if (state !== 'Operational') renew()
    sync()
  })
  appliance.onEra(() => renew())
  appliance.configuration.onChange((part) => {
    if (part !== 'chatTls') return
    const { key, cert } = chatTls.identity
    life?.send({ type: 'identity', key: key.slice(), cert: new TextEncoder().encode(cert) })
  })
  sync()

  return {
    backups,
    get state() {
      if (readRecord() === null) return 'none'
      return isOpen ? 'running' : problem === null ? 'starting' : 'failed'
    },
    get problem() {
      return problem
    },
    get port() {
      return port
    },
    figures: async () => expectShape(figuresSchema, await askRunning({ do: 'figures' })),
    settings: async () => expectShape(settingsSchema, await askRunning({ do: 'settings' })),
    changeSettings: async (changes) => {
      await askRunning({ do: 'changeSettings', changes })
    },
    recoverOwner: async (email, password) => {
      try {
        await askRunning({ do: 'recoverOwner', email, password })
      } finally {
        password.fill(0)
      }
    },
    createOrganization: (organization, password) =>
      exclusively(async () => {
        if (onTrial) throw new CofferError('unavailable', 'A new version is being tried')
        if (readRecord() !== null) throw new CofferError('conflict', 'There is an organization already')
        const key = chatKey()
        const generation = newGeneration()
        problem = null
        const identity = await makeTlsIdentity(random)
        writeRecord({ generation, stage: 'making' })
        appliance.deviceRecords.write((area) => area.putTlsIdentity(identity, CHAT_TLS_IDENTITY))
        chatTls.use(identity)
        try {
          want('running')
          const own = await listening()
          isSpent = true
          await own.ask({ do: 'create', generation, chatKey: key, organization, password })
          writeRecord({ generation, stage: 'present' })
          isOpen = true
        } catch (error) {
          try {
            if (life === null || port === null) forget()
            else await eraseAll()
          } catch {} // the next unlock does it
          throw error
        } finally {
          key.fill(0)
          password.fill(0)
        }
      }),
    deleteOrganization: (name) =>
      exclusively(async () => {
        const record = readRecord()
        if (record === null) throw noOrganization()
        // One that cannot be opened has a name that nobody can read.
        if (isOpen) {
          const figures = expectShape(figuresSchema, await askRunning({ do: 'figures' }))
          if (figures.name !== name) throw new CofferError('invalid', 'That is not the name of the organization')
        }
        problem = null
        writeRecord({ ...record, stage: 'erasing' })
        await eraseAll()
      }),
    receive: (message) => {
      if (message.type !== 'chatDown') return
      over()
      wished = 'none'
      fail(message.problem)
    },
    endTrial: () => {
      onTrial = false
      sync()
    },
    clockSet: () => life?.send({ type: 'time', offsetMs: appliance.clock.offsetMs }),
    close: async () => {
      await Promise.race([silence, wait(LAST_WORDS_MS_MAX, undefined, { ref: false })])
      commits.flush()
    },
  }
}

const encode = (record: ChatRecord): Uint8Array => new TextEncoder().encode(JSON.stringify(record))

const noOrganization = () => new CofferError('notFound', 'There is no organization')

/** The appliance was locked meanwhile: no fault of the chat's. */
const isLocking = (error: unknown): boolean => error instanceof CofferError && error.code === 'unavailable'

const messageOf = (error: unknown): string => (error instanceof CofferError ? error.message : 'unexpected')
