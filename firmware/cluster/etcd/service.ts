/** The etcd that the boot manager runs for this appliance, as the firmware asks for it. It outlives the firmware's process. */

import { setTimeout as wait } from 'node:timers/promises'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { isEtcdName, isPeerUrl, PEERS_MAX, PEM_BYTES_MAX, URLS_MAX } from '../../channel/etcd-texts.ts'
import type { EtcdAnswer, EtcdLaunch, EtcdState, EtcdStep, ToBoot, ToFirmware } from '../../channel/protocol.ts'
import { connectToEtcd } from './etcd.ts'

export interface EtcdService {
  /** There is a program. Without one, `run` throws `invalid`, and there is nothing to stop, to erase or to warn of. */
  readonly available: boolean
  /** Where it answers; empty without a program. */
  readonly socket: string
  /**
   * `create` and `join` resolve when it answers, and throw `conflict` where there is data of an earlier run, `busy` when it has
   * ended or does not answer in time: then it is stopped. `run` resolves when its process was started, whether there is a quorum
   * or not, and throws `conflict` where there is no such data: none is started empty under the name of one that was there. It
   * comes back by itself when it crashes. Where it runs with another address or certificate it is restarted, and left alone
   * otherwise. Throws `invalid` for texts that it cannot be told, `storage` for what the machine refuses. Wipes the key.
   */
  run(start: EtcdStart): Promise<void>
  /** Resolves when it does not run. */
  stop(): Promise<void>
  /** Stopped, and nothing of it left. */
  erase(): Promise<void>
  /** There is data of an earlier run, or of one that runs. */
  hasData(): Promise<boolean>
  /** As far as it was heard of: nothing before the first answer. */
  readonly state: EtcdState
  /** Calls it each time that its etcd has ended because the others have removed this member. */
  onRemoved(listener: () => void): void
  /** Its lines of level warning or above since the firmware started, the oldest first; only the last of many. */
  warnings(): readonly string[]
}

export interface EtcdStart extends Omit<EtcdLaunch, 'tls'> {
  /** PEM texts; null in tests only, whose members meet without TLS. */
  tls: {
    /** With its chain. */
    certificate: string
    key: Uint8Array
    authority: string
  } | null
}

interface EtcdServiceOptions {
  /** Undefined where there is no program. */
  socket: string | undefined
  send: (message: ToBoot) => void
  timeouts?: EtcdTimeouts
}

interface EtcdTimeouts {
  answerMsMax: number
  pollMs: number
}

const TIMEOUTS: EtcdTimeouts = {
  answerMsMax: 180_000, // a joiner may have to wait for an election, on a small machine that signs
  pollMs: 50,
}
const POLL_TIMEOUT_MS = 1000
const WARNINGS_MAX = 1024 // lines: contract section 3.3, `diagnose`

export function createEtcdService(options: EtcdServiceOptions): EtcdService & {
  /** Takes what comes from the boot manager. */
  receive(message: ToFirmware): void
} {
  const { socket, send, timeouts = TIMEOUTS } = options
  const waiting: ((answer: EtcdAnswer) => void)[] = []
  const warned: string[] = []
  const removedListeners: (() => void)[] = []
  let state: EtcdState = { running: false }
  let onEnded = (_problem: string): void => {}

  const ask = async (step: EtcdStep): Promise<EtcdAnswer> => {
    const { promise, resolve } = Promise.withResolvers<EtcdAnswer>()
    waiting.push(resolve)
    send({ type: 'etcd', step })
    return promise
  }

  const mustDo = async (step: EtcdStep): Promise<void> => {
    const { problem, conflict } = await ask(step)
    if (problem !== null) throw new CofferError(conflict ? 'conflict' : 'storage', problem)
  }

  /** Throws `busy` when it has ended, or does not answer in time. */
  async function answers(path: string, ended: Promise<string>): Promise<void> {
    const etcd = connectToEtcd(path)
    const stop = new AbortController()
    const answered = async (): Promise<null> => {
      for (;;) {
        try {
          await etcd.status(POLL_TIMEOUT_MS)
          return null
        } catch {
          await wait(timeouts.pollMs, undefined, { signal: stop.signal })
        }
      }
    }
    const tooLate = wait(timeouts.answerMsMax, 'does not answer', { signal: stop.signal })
    const polled = answered()
    for (const promise of [tooLate, polled]) promise.catch(() => {}) // aborted, below
    try {
      const problem = await Promise.race([polled, ended, tooLate])
      if (problem !== null) throw new CofferError('busy', `The etcd of this node was stopped again: it ${problem}`)
    } finally {
      stop.abort()
      etcd.close()
    }
  }

  return {
    available: socket !== undefined,
    socket: socket ?? '',
    async run(start) {
      try {
        if (socket === undefined) throw new CofferError('invalid', 'Clustering is not available')
        const ended = new Promise<string>((resolve) => {
          onEnded = resolve
        })
        await mustDo({ do: 'run', start: launchOf(start) })
        if (start.how === 'run') return
        await answers(socket, ended).catch(async (error) => {
          await mustDo({ do: 'stop' })
          throw error
        })
        await ask({ do: 'look' }) // from now on the boot manager knows that there was data
      } finally {
        wipe(start.tls?.key)
      }
    },
    async stop() {
      if (socket !== undefined) await mustDo({ do: 'stop' })
    },
    async erase() {
      if (socket !== undefined) await mustDo({ do: 'erase' })
    },
    hasData: async () => socket !== undefined && (await ask({ do: 'look' })).hasData,
    get state() {
      return state
    },
    onRemoved: (listener) => void removedListeners.push(listener),
    warnings: () => warned,
    receive(message) {
      if (message.type === 'etcdResult') {
        state = message.state
        waiting.shift()?.(message)
      } else if (message.type === 'etcdState') state = message.state
      else if (message.type === 'etcdEnded') {
        onEnded(message.problem)
        if (message.isRemoved) for (const listener of removedListeners) listener()
      } else if (message.type === 'etcdLines') {
        warned.push(...message.lines)
        warned.splice(0, warned.length - WARNINGS_MAX)
      }
    },
  }
}

/** Throws `invalid`. */
function launchOf({ how, name, peerUrl, members, token, tls }: EtcdStart): EtcdLaunch {
  const expect = (isFit: boolean, what: string): void => {
    if (!isFit) throw new CofferError('invalid', what)
  }
  const nameOf = (text: string): string => {
    expect(isEtcdName(text), `${JSON.stringify(text)} cannot be the name of a member`)
    return text
  }
  const urlOf = (url: string): string => {
    const plain = url.replace(/\/$/, '')
    expect(tls === null || isPeerUrl(plain), `${JSON.stringify(url)} cannot be the address of a member`)
    return plain
  }
  const pem = (text: string): Uint8Array => {
    const bytes = new TextEncoder().encode(text)
    expect(bytes.length <= PEM_BYTES_MAX, 'The certificates are too large for a cluster')
    return bytes
  }
  expect(members.length <= PEERS_MAX && members.every(({ urls }) => urls.length <= URLS_MAX), 'Too many members')
  return {
    how,
    name: nameOf(name),
    peerUrl: urlOf(peerUrl),
    members: members.map(({ name, urls }) => ({ name: nameOf(name), urls: urls.map(urlOf) })),
    token: nameOf(token),
    tls: tls && { certificate: pem(tls.certificate), key: plain(tls.key), authority: pem(tls.authority) },
  }
}

/** The same memory. A Buffer would be another text in a frame. */
const plain = ({ buffer, byteOffset, length }: Uint8Array): Uint8Array => new Uint8Array(buffer, byteOffset, length)
