/**
 * Notifications that wait, in memory. For each subscription and conversation there is at most one, of the newest message, and after it was
 * sent the next one waits for a while. Push services take turns, and so do the accounts of each. Contract section 3.9.1.
 */

import { createSenderShares } from './sender-shares.ts'

export interface PushSlot {
  readonly userId: number
  /** Session of the subscription. */
  readonly keyId: number
  /** Location of the messages: columns of store/messages.ts. */
  readonly recipient: number
  readonly topic: number
}

/** Sender and push service that a slot counts against. */
interface PushCause {
  /** The sender of the message, for a bot its owner. */
  readonly senderId: number
  /** Host of the endpoint. */
  readonly host: string
}

interface PushQueue {
  /** Messages come in their order. */
  add(slot: PushSlot, messageId: number, cause: PushCause): void
  /** Resolves when nothing is being sent, and nothing waits that could be sent now. */
  quiet(): Promise<void>
  stop(): void
}

export interface PushResult {
  /** Time before the next try; null if the notification is done. */
  readonly againMs: number | null
  /** How long nothing else is sent to the host. */
  readonly hostPauseMs: number
}

interface PushQueueOptions {
  send: (slot: PushSlot, messageId: number, tries: number) => Promise<PushResult>
  pauseMs: number
  /** Between the beginnings of two notifications. */
  spacingMs?: number
}

/** A hundred a second: each takes about 2 ms of processors that requests of clients need, in all processes together. */
const SPACING_MS = 10

const AT_ONCE = 8
const OF_ACCOUNT_AT_ONCE = 2
const OF_HOST_AT_ONCE = 3 // a push service that does not answer leaves the others the most places
const SLOTS_MAX = 20_000 // one for each subscription that there may be
const SLOTS_OF_HOST_MAX = 15_000 // slots of a host that does not answer stay
const SLOTS_OF_ACCOUNT_MAX = 200

type Shares = ReturnType<typeof createSenderShares<Entry>>

interface Host {
  readonly name: string
  readonly slots: Shares
  /** By account, in the order of their turns. */
  readonly ready: Map<number, Set<Entry>>
  running: number
  pause: NodeJS.Timeout | undefined
}

interface Entry {
  readonly key: string
  readonly slot: PushSlot
  readonly host: Host
  senderId: number
  /** The newest message to tell of; null if there is none since the last notification. */
  messageId: number | null
  tries: number
  isRunning: boolean
  timer: NodeJS.Timeout | undefined
}

export function createPushQueue({ send, pauseMs, spacingMs = SPACING_MS }: PushQueueOptions): PushQueue {
  const entries = new Map<string, Entry>()
  const all: Shares = createSenderShares()
  const slotsOf = new Map<number, Shares>()
  /** In the order of their turns. */
  const hosts = new Map<string, Host>()
  const runningOf = new Map<number, number>()
  let running = 0
  let isStopped = false
  let turn: NodeJS.Timeout | NodeJS.Immediate | undefined
  let idle: PromiseWithResolvers<void> | undefined

  function makeReady(entry: Entry): void {
    const { ready } = entry.host
    const { userId } = entry.slot
    const own = ready.get(userId)
    if (own === undefined) ready.set(userId, new Set([entry]))
    else own.add(entry)
    planTurn()
  }

  /** Begins one notification at a time, so that requests of clients run in between. */
  function planTurn(): void {
    turn ??= spacingMs === 0 ? setImmediate(takeTurn) : setTimeout(takeTurn, spacingMs)
  }

  function takeTurn(): void {
    turn = undefined
    if (beginNext()) planTurn()
    else if (running === 0) idle?.resolve()
  }

  function beginNext(): boolean {
    if (isStopped || running >= AT_ONCE) return false
    for (const host of hosts.values()) {
      if (host.pause !== undefined || host.running >= OF_HOST_AT_ONCE) continue
      const entry = nextOf(host)
      if (entry === undefined) continue
      hosts.delete(host.name)
      hosts.set(host.name, host)
      void attend(entry)
      return true
    }
    return false
  }

  function nextOf({ ready }: Host): Entry | undefined {
    for (const [userId, own] of ready) {
      if ((runningOf.get(userId) ?? 0) >= OF_ACCOUNT_AT_ONCE) continue
      const [entry] = own
      if (entry !== undefined) own.delete(entry)
      ready.delete(userId)
      if (own.size > 0) ready.set(userId, own)
      return entry
    }
    return undefined
  }

  async function attend(entry: Entry): Promise<void> {
    const messageId = entry.messageId as number
    entry.messageId = null
    count(entry, 1)
    const { againMs, hostPauseMs } = await send(entry.slot, messageId, entry.tries)
    count(entry, -1)
    if (againMs === null) entry.tries = 0
    else {
      entry.tries++
      entry.messageId ??= messageId
    }
    if (!isStopped) {
      entry.timer = setTimeout(end, againMs ?? pauseMs, entry).unref()
      if (hostPauseMs > 0) entry.host.pause ??= setTimeout(resume, hostPauseMs, entry.host).unref()
    }
    planTurn()
  }

  function count(entry: Entry, change: 1 | -1): void {
    const { userId } = entry.slot
    const ofAccount = (runningOf.get(userId) ?? 0) + change
    if (ofAccount === 0) runningOf.delete(userId)
    else runningOf.set(userId, ofAccount)
    entry.isRunning = change === 1
    entry.host.running += change
    running += change
  }

  function resume(host: Host): void {
    host.pause = undefined
    planTurn()
  }

  function end(entry: Entry): void {
    entry.timer = undefined
    if (entry.messageId !== null) makeReady(entry)
    else drop(entry)
  }

  function drop(entry: Entry): void {
    const { key, slot, host, senderId } = entry
    clearTimeout(entry.timer)
    const own = host.ready.get(slot.userId)
    if (own?.delete(entry) && own.size === 0) host.ready.delete(slot.userId)
    entries.delete(key)
    const ofAccount = slotsOf.get(slot.userId)
    for (const shares of [all, host.slots, ofAccount]) shares?.remove(senderId, entry)
    if (ofAccount?.size === 0) slotsOf.delete(slot.userId)
    if (host.slots.size > 0) return
    clearTimeout(host.pause)
    hosts.delete(host.name)
  }

  function dropBeyond(shares: Shares, max: number): void {
    if (shares.size <= max) return
    const entry = shares.leastFair(({ isRunning }) => !isRunning)
    if (entry !== undefined) drop(entry)
  }

  /** A message of another sender must not go with the slots of one who has many. */
  function giveToSmaller(entry: Entry, senderId: number): void {
    if (all.countOf(senderId) >= all.countOf(entry.senderId)) return
    for (const shares of [all, entry.host.slots, sharesOf(entry.slot.userId)]) {
      shares.remove(entry.senderId, entry)
      shares.add(senderId, entry)
    }
    entry.senderId = senderId
  }

  function sharesOf(userId: number): Shares {
    const shares = slotsOf.get(userId) ?? createSenderShares<Entry>()
    slotsOf.set(userId, shares)
    return shares
  }

  function hostOf(name: string): Host {
    const host = hosts.get(name) ?? {
      ...{ name, slots: createSenderShares<Entry>(), ready: new Map(), running: 0, pause: undefined },
    }
    hosts.set(name, host)
    return host
  }

  return {
    add(slot, messageId, { senderId, host: hostName }) {
      if (isStopped) return
      const key = `${slot.keyId} ${slot.recipient} ${slot.topic}`
      const known = entries.get(key)
      if (known !== undefined) {
        known.messageId = messageId
        giveToSmaller(known, senderId)
        return
      }
      const host = hostOf(hostName)
      const entry: Entry = {
        ...{ key, slot, host, senderId, messageId },
        ...{ tries: 0, isRunning: false, timer: undefined },
      }
      const ofAccount = sharesOf(slot.userId)
      entries.set(key, entry)
      for (const shares of [all, host.slots, ofAccount]) shares.add(senderId, entry)
      makeReady(entry)
      dropBeyond(ofAccount, SLOTS_OF_ACCOUNT_MAX)
      dropBeyond(host.slots, SLOTS_OF_HOST_MAX)
      dropBeyond(all, SLOTS_MAX)
    },
    quiet() {
      if (running === 0 && turn === undefined) return Promise.resolve()
      idle ??= Promise.withResolvers()
      const { promise } = idle
      return promise.finally(() => {
        idle = undefined
      })
    },
    stop() {
      isStopped = true
      for (const { timer } of entries.values()) clearTimeout(timer)
      for (const host of hosts.values()) {
        clearTimeout(host.pause)
        host.ready.clear()
      }
      entries.clear()
    },
  }
}
