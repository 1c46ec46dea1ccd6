/** The chat process as the appliance sees it: whether it should run, its connection, its port, its failure. */

import type { Duplex } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { CofferError } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import { acceptConnections } from '../../channel/connections.ts'
import type { ProcessWish } from '../../channel/protocol.ts'
import type { ChatAuditEvent } from '../link/chat-audit-event.ts'
import type { FromChat, Start } from '../link/link.ts'
import { type ChatConnection, openChatConnection } from './chat-connection.ts'
import { createRequests, type RequestHandler } from './outgoing.ts'

/** Without `fresh`: after a lock, a new process starts only after a pause. */
type Wish = Exclude<ProcessWish, 'fresh'>

export interface ChatProcess {
  readonly connection: ChatConnection | null
  /** Null while the process does not listen. */
  readonly port: number | null
  readonly isOpen: boolean
  /** True if the process has, or has had, the key. */
  readonly isSpent: boolean
  /** Reason of a failure; `retry` clears it. */
  readonly problem: string | null
  want(wish: Wish): void
  retry(): void
  fail(reason: string): void
  /** Reports that the process crashed repeatedly. The boot manager will start it again. */
  down(reason: string): void
  /** Resolves to a process that listens. Rejects with `unavailable` if it fails first. */
  listening(): Promise<ChatConnection>
  /** Call it before sending the key. */
  spend(): void
  opened(): void
  closed(): void
  /** Ends a process whose key was revoked. A new one starts when it is wanted. */
  renew(): void
  end(): void
  /** Resolves when the last process has closed its connection, or after a timeout. */
  silent(): Promise<void>
}

interface ChatProcessOptions {
  pipe: Duplex
  want: (wish: Wish) => void
  log: Log
  /** 0 lets the system choose once; the port then stays the same, so that clients can reconnect after a lock. */
  port: () => number
  start: (port: number) => Start
  onListening: () => void
  /** May also be called for a process that is ending. */
  onCommits: (message: Extract<FromChat, { type: 'commits' }>) => void
  /** May also be called for a process that is ending. Rejects with `storage` if the disk cannot store the event. */
  onAct: (act: ChatAuditEvent) => Promise<void> | undefined
  /** `signal` aborts when the process ends or cancels. */
  onRequest: RequestHandler
}

const START_MS_MAX = 60_000 // on a slow device that starts everything at once
const LAST_WORDS_MS_MAX = 5000 // for messages in transit; the boot manager kills a process after 15 s

export function createChatProcess(options: ChatProcessOptions): ChatProcess {
  const { log } = options
  let connection: ChatConnection | null = null
  let silence: Promise<void> = Promise.resolve()
  let isSpent = false
  let isOpen = false
  let port: number | null = null
  let systemPort = 0
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
    over() // the end of the previous connection may not have been reported yet
    const ended = Promise.withResolvers<void>()
    const requests = createRequests(options.onRequest)
    ended.promise.then(requests.cancelAll)
    silence = ended.promise
    const own = openChatConnection(stream, {
      onMessage: (message) => {
        if (message.type === 'commits') options.onCommits(message)
        else if (message.type === 'act') void keep(own, message)
        else if (message.type === 'request') void requests.begin(own, message)
        else if (message.type === 'cancelRequest') requests.cancel(message.id)
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
    own.send({ type: 'start', start: options.start(options.port() || systemPort) })
  }

  async function keep(teller: ChatConnection, { id, act }: Extract<FromChat, { type: 'act' }>): Promise<void> {
    let isKept = true
    try {
      await options.onAct(act)
    } catch {
      isKept = false // the audit log has logged the reason
    }
    if (act.result < 400) teller.send({ type: 'recorded', id, isKept })
  }

  function receive(
    message: Exclude<FromChat, { type: 'answer' | 'commits' | 'act' | 'request' | 'cancelRequest' }>,
  ): void {
    if (message.type === 'refused') {
      want('none')
      fail(message.reason)
      return
    }
    port = message.port
    systemPort = message.port
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

  acceptConnections(options.pipe, begin)

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
