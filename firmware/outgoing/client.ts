/**
 * The firmware's side of outgoing connections: decides which hosts may be reached, queues jobs, and starts the process that performs
 * them. The process runs while there are jobs and for a while after the last one. After a lock a fresh one takes its place, because
 * credentials have passed through it.
 */

import type { Duplex } from 'node:stream'
import type { Log } from '../base/log.ts'
import { openChannel, sendInTurn } from '../channel/channel.ts'
import { acceptConnections } from '../channel/connections.ts'
import { FrameError } from '../channel/frames.ts'
import type { ProcessWish, ToFirmware } from '../channel/protocol.ts'
import { OutgoingError } from './error.ts'
import { expectListed } from './hosts.ts'
import {
  type ConnectionSettings,
  type FromOutgoing,
  type HttpAnswer,
  type HttpJob,
  MAIL_BYTES_MAX,
  type MailAnswer,
  type MailJob,
  type OutgoingAnswer,
  type OutgoingJob,
  type ProbeAnswer,
  type ProbeJob,
  REQUEST_BYTES_MAX,
  readFromOutgoing,
  type SyslogAnswer,
  type SyslogJob,
  type ToOutgoing,
} from './link.ts'

const JOBS_MAX = { chat: 16, appliance: 32 } // the chat has half of all at most
const WAITING_MAX = { chat: 32, appliance: 256 } // each of the chat's takes up to 1 MiB
const IDLE_MS = 60_000 // a start takes as much processor time as many jobs
const WAIT_MS_MAX = 60_000 // for a process that starts, or other jobs
const GRACE_MS = 10_000 // after the job's own time the process has failed
const PROBE_MS_MAX = 60_000
const MAIL_MS_MAX = 70_000 // longer than the process takes
const URL_CHARACTERS_MAX = 8192
const HEADERS_CHARACTERS_MAX = 16_384

type Origin = keyof typeof JOBS_MAX

interface HttpOptions {
  origin: Origin
  /** `host` at the default port of its scheme, or `host:port`. No other host is asked. */
  hosts: readonly string[]
  signal?: AbortSignal
}

export interface OutgoingClient {
  /** Throws `OutgoingError`. */
  http(job: Omit<HttpJob, 'do'>, options: HttpOptions): Promise<HttpAnswer>
  /** Throws `OutgoingError` if the process does not answer. */
  probe(job: Omit<ProbeJob, 'do'>): Promise<ProbeAnswer>
  /** Resolves when the server has taken the mail for one recipient at least. Throws `OutgoingError`. */
  mail(job: Omit<MailJob, 'do'>): Promise<MailAnswer>
  /** True from repeated crashes of the process until one answers, or none is needed. */
  readonly isDown: boolean
  /** Resolves once the server has confirmed all frames, of up to `REQUEST_BYTES_MAX`. Throws `OutgoingError`. */
  syslog(job: Omit<SyslogJob, 'do'>, signal?: AbortSignal): Promise<SyslogAnswer>
  receive(message: ToFirmware): void
  /** Sends changed settings. */
  renewSettings(): void
  /** Replaces the process; unfinished jobs fail. */
  renew(): void
}

interface OutgoingClientOptions {
  pipe: Duplex
  want: (wish: Exclude<ProcessWish, 'fresh'>) => void
  log: Log
  settings: () => ConnectionSettings
}

interface Task {
  job: OutgoingJob
  origin: Origin
  timeoutMs: number
  resolve: (answer: OutgoingAnswer) => void
  reject: (error: OutgoingError) => void
  timer: NodeJS.Timeout
}

/** Sends to one process, in turn: requests may be large. The message is made when its turn comes; null if it is not needed by then. */
type Send = (make: () => ToOutgoing | null) => Promise<void>

export function createOutgoingClient({ pipe, want, log, settings }: OutgoingClientOptions): OutgoingClient {
  /** Null while no process is there that may have jobs. */
  let current: Send | null = null
  let isWanted = false
  let isDown = false
  let next = 1
  const waiting: Task[] = []
  const running = new Map<number, Task>()
  let idle: NodeJS.Timeout | undefined

  function end(task: Task, outcome: OutgoingAnswer | OutgoingError): void {
    clearTimeout(task.timer)
    if (outcome instanceof OutgoingError) task.reject(outcome)
    else task.resolve(outcome)
  }

  function endAll(problem: string): void {
    for (const task of running.values()) end(task, new OutgoingError(problem, false))
    running.clear()
  }

  const countOf = (tasks: Iterable<Task>, origin: Origin): number =>
    [...tasks].reduce((count, task) => count + (origin === 'appliance' || task.origin === origin ? 1 : 0), 0)

  const hasRoom = ({ origin }: Task): boolean =>
    running.size < JOBS_MAX.appliance && countOf(running.values(), origin) < JOBS_MAX[origin]

  /** Starts jobs in their order, but for those of the chat that exceed its share. */
  function proceed(): void {
    clearTimeout(idle)
    if (waiting.length === 0 && running.size === 0) {
      if (isWanted) idle = setTimeout(stop, IDLE_MS).unref()
      return
    }
    if (!isWanted) {
      isWanted = true
      want('running')
    }
    if (current === null) return
    for (const task of [...waiting]) {
      if (!hasRoom(task)) continue
      waiting.splice(waiting.indexOf(task), 1)
      begin(task, current)
    }
  }

  function begin(task: Task, send: Send): void {
    const id = next++
    clearTimeout(task.timer)
    task.timer = setTimeout(() => {
      send(cancellation(id))
      settle(id, new OutgoingError('the process for outgoing connections did not answer', false))
    }, task.timeoutMs + GRACE_MS).unref()
    running.set(id, task)
    send(jobOf(id)).catch((error) => {
      if (!(error instanceof FrameError)) throw error
      settle(id, new OutgoingError('the request is too long', true))
    })
  }

  /** Does not refer to the task: if the process reads nothing, requests that were canceled would stay in memory. */
  const jobOf = (id: number) => (): ToOutgoing | null => {
    const task = running.get(id)
    return task === undefined ? null : { type: 'job', id, job: task.job }
  }

  const settingsNow = (): ToOutgoing => ({ type: 'settings', settings: settings() })

  function settle(id: number, outcome: OutgoingAnswer | OutgoingError): void {
    const task = running.get(id)
    if (task === undefined) return
    running.delete(id)
    end(task, outcome)
    proceed()
  }

  function stop(): void {
    current = null // the process is ending, and the next job needs another one
    isWanted = false
    isDown = false
    want('none')
  }

  acceptConnections(pipe, (stream) => {
    endAll(ENDED)
    const own = openChannel<FromOutgoing, ToOutgoing>(stream, readFromOutgoing)
    const send: Send = sendInTurn({
      send(make: () => ToOutgoing | null, sent) {
        const message = make()
        if (message === null) sent()
        else own.send(message, sent)
      },
    })
    current = send
    const over = (problem: string) => {
      if (current !== send) return
      current = null
      endAll(problem)
      proceed()
    }
    own.on('message', (message) => {
      if (current !== send) return
      isDown = false
      const { id } = message
      if (message.type === 'answer') settle(id, message.answer)
      else settle(id, new OutgoingError(message.problem, message.isFinal))
    })
    own.on('refused', (why) => {
      log.warning('general', `the process for outgoing connections ${why}`)
      if (current !== send) return
      stop()
      endAll(ENDED)
      proceed()
    })
    own.on('end', () => over(ENDED))
    send(settingsNow)
    proceed()
  })

  function run(job: OutgoingJob, origin: Origin, timeoutMs: number, signal?: AbortSignal): Promise<OutgoingAnswer> {
    if (countOf(waiting, origin) >= WAITING_MAX[origin])
      return Promise.reject(new OutgoingError('too many other requests wait', false))
    const { promise, resolve, reject } = Promise.withResolvers<OutgoingAnswer>()
    const leave = (problem: string) => {
      const at = waiting.indexOf(task)
      if (at >= 0) waiting.splice(at, 1)
      for (const [id, other] of running) {
        if (other !== task) continue
        running.delete(id)
        current?.(cancellation(id))
      }
      end(task, new OutgoingError(problem, false))
      proceed()
    }
    const timer = setTimeout(() => leave('the process for outgoing connections is busy or does not start'), WAIT_MS_MAX)
    const task: Task = { job, origin, timeoutMs, resolve, reject, timer: timer.unref() }
    const abort = () => leave('it was canceled')
    signal?.addEventListener('abort', abort)
    waiting.push(task)
    if (signal?.aborted) abort()
    else proceed()
    return promise.finally(() => signal?.removeEventListener('abort', abort))
  }

  return {
    async http(job, { origin, hosts, signal }) {
      const url = expectListed(job.url, hosts)
      const characters = Object.entries(job.headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0)
      if (url.length > URL_CHARACTERS_MAX || characters > HEADERS_CHARACTERS_MAX || job.body.length > REQUEST_BYTES_MAX)
        throw new OutgoingError('the request is too long', true)
      const answer = await run({ ...job, url, do: 'http' }, origin, job.timeoutMs, signal)
      if (!('status' in answer)) throw new OutgoingError(MALFORMED, false)
      return answer
    },
    async probe(job) {
      const answer = await run({ ...job, do: 'probe' }, 'appliance', PROBE_MS_MAX)
      if (!('addresses' in answer)) throw new OutgoingError(MALFORMED, false)
      return answer
    },
    async mail(job) {
      if (job.message.length > MAIL_BYTES_MAX) throw new OutgoingError('the mail is too long', true)
      const answer = await run({ ...job, do: 'mail' }, 'appliance', MAIL_MS_MAX)
      if (!('accepted' in answer)) throw new OutgoingError(MALFORMED, false)
      return answer
    },
    get isDown() {
      return isDown
    },
    async syslog(job, signal) {
      const answer = await run({ ...job, do: 'syslog' }, 'appliance', job.timeoutMs, signal)
      if (!('isAuthenticated' in answer)) throw new OutgoingError(MALFORMED, false)
      return answer
    },
    receive(message) {
      if (message.type !== 'outgoingDown') return
      isDown = true
      log.error('general', `the process for outgoing connections has failed: ${message.problem}`)
      for (const task of waiting.splice(0)) end(task, new OutgoingError(ENDED, false))
      proceed()
    },
    renewSettings: () => current?.(settingsNow),
    renew() {
      if (!isWanted) return
      endAll('the appliance was locked')
      stop()
      proceed()
    },
  }
}

const cancellation = (id: number) => (): ToOutgoing => ({ type: 'cancel', id })

const ENDED = 'the process for outgoing connections ended'
const MALFORMED = 'the process for outgoing connections gave a malformed answer'
