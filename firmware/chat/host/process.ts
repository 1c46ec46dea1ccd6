/** The chat's process as the appliance sees it: whether one is wanted, which one runs, where it listens, why it has failed. */

import type { Duplex } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { CofferError } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import { acceptChatConnections } from '../../channel/chat-connections.ts'
import type { ChatWish } from '../../channel/protocol.ts'
import type { ChatAuditEvent } from '../link/chat-audit-event.ts'
import type { FromChat, Start } from '../link/link.ts'
import { type ChatConnection, openChatConnection } from './chat-connection.ts'

/** A lock ends one process long before another one may come, so none is asked for that follows at once. */
type Wish = Exclude<ChatWish, 'fresh'>

export interface ChatProcess {
  /** The one that runs. */
  readonly connection: ChatConnection | null
  /** Null while it does not listen. */
  readonly port: number | null
  /** The organization is open in it. */
  readonly isOpen: boolean
  /** It has, or has had, the key. */
  readonly isSpent: boolean
  /** Why it has failed; `retry` forgets it. */
  readonly problem: string | null
  want(wish: Wish): void
  retry(): void
  fail(reason: string): void
  /** It has crashed several times in a row; the boot manager starts it again by itself. */
  down(reason: string): void
  /** Resolves with a process that listens. Throws `unavailable` when none gets so far. */
  listening(): Promise<ChatConnection>
  /** It is about to get the key. */
  spend(): void
  opened(): void
  /** The organization is open no longer. */
  closed(): void
  /** The key was taken away: the process that had it goes. Another one comes when it is wanted. */
  renew(): void
  /** None is wanted any more. */
  end(): void
  /** Resolves when nothing more comes from the last one, or it has taken too long. */
  silent(): Promise<void>
}

interface ChatProcessOptions {
  /** To it, whichever runs. */
  pipe: Duplex
  want: (wish: Wish) => void
  log: Log
  /** A system that has chosen a port keeps to it: clients go on after a lock. */
  port: number
  start: (port: number) => Start
  onListening: () => void
  /** Also of one that is ending. */
  onCommits: (message: Extract<FromChat, { type: 'commits' }>) => void
  /** As well. Throws `storage` when the disk does not take it. */
  onAct: (act: ChatAuditEvent) => Promise<void> | undefined
}

const START_MS_MAX = 60_000 // of a process on a slow device that starts everything at once
const LAST_WORDS_MS_MAX = 5000 // they are on their way; the boot manager kills who takes 15 s

export function createChatProcess(options: ChatProcessOptions): ChatProcess {
  const { log } = options
  let connection: ChatConnection | null = null
  let silence: Promise<void> = Promise.resolve()
  let isSpent = false
  let isOpen = false
  let port: number | null = null
  let chosenPort = options.port
  let problem: string | null = null
  let waiting: (() => void)[] = []
  let wished: Wish = 'none'

  function want(wish: Wish): void {
    if (wish === wished) return
    wished = wish
    options.want(wish)
  }

  function wakeWaiting(): void {
    for (const resolve of waiting) resolve()
    waiting = []
  }

  function fail(reason: string): void {
    problem = reason
    log.error('general', `the chat has failed: ${reason}`)
    wakeWaiting()
  }

  function over(): void {
    connection = null
    isOpen = false
    port = null
    wakeWaiting()
  }

  function begin(stream: Duplex): void {
    over() // the end of the one before may still be unheard
    const ended = Promise.withResolvers<void>()
    silence = ended.promise
    const own = openChatConnection(stream, {
      onMessage: (message) => {
        if (message.type === 'commits') options.onCommits(message)
        else if (message.type === 'act') void keep(own, message)
        else if (connection === own) receive(message)
      },
      onRefused: (why) => {
        ended.resolve()
        if (connection !== own) return
        over()
        want('none')
        fail(`its process ${why}`)
      },
      onEnd: () => {
        ended.resolve()
        if (connection === own) over()
      },
    })
    connection = own
    isSpent = false
    own.send({ type: 'start', start: options.start(chosenPort) })
  }

  async function keep(teller: ChatConnection, { id, act }: Extract<FromChat, { type: 'act' }>): Promise<void> {
    let isKept = true
    try {
      await options.onAct(act)
    } catch {
      isKept = false // the audit log has said why
    }
    if (act.result < 400) teller.send({ type: 'recorded', id, isKept })
  }

  function receive(message: Exclude<FromChat, { type: 'answer' | 'commits' | 'act' }>): void {
    if (message.type === 'refused') {
      want('none')
      fail(message.reason)
      return
    }
    port = message.port
    chosenPort = message.port
    wakeWaiting()
    options.onListening()
  }

  async function listening(): Promise<ChatConnection> {
    let isLate = false
    const deadline = setTimeout(() => {
      isLate = true
      wakeWaiting()
    }, START_MS_MAX)
    try {
      while (connection === null || port === null) {
        if (problem !== null) throw new CofferError('unavailable', `The chat does not start: ${problem}`)
        if (isLate) throw new CofferError('unavailable', 'The chat did not start in time')
        await new Promise<void>((resolve) => waiting.push(resolve))
      }
      return connection
    } finally {
      clearTimeout(deadline)
    }
  }

  acceptChatConnections(options.pipe, begin)

  return {
    get connection() {
      return connection
    },
    get port() {
      return port
    },
    get isOpen() {
      return isOpen
    },
    get isSpent() {
      return isSpent
    },
    get problem() {
      return problem
    },
    want,
    retry: () => (problem = null),
    fail,
    down(reason) {
      over()
      fail(reason)
    },
    listening,
    spend: () => (isSpent = true),
    opened() {
      isOpen = true
      problem = null
      wakeWaiting()
    },
    closed: () => (isOpen = false),
    renew() {
      if (!isSpent) return
      connection?.send({ type: 'close' })
      isSpent = false
      over()
      want('none')
    },
    end() {
      isSpent = false
      over()
      want('none')
    },
    silent: () => Promise.race([silence, wait(LAST_WORDS_MS_MAX, undefined, { ref: false })]),
  }
}
