/** Main loop of the process for outgoing connections: performs jobs of the firmware and answers each once. */

import { defined } from '../base/defined.ts'
import type { Log } from '../base/log.ts'
import { exitOnBugs, ignoreSignals } from '../base/process.ts'
import { type FramedChannel, sendInTurn } from '../channel/channel.ts'
import { FrameError } from '../channel/frames.ts'
import type { ToEveryProcess } from '../channel/protocol.ts'
import { type Connector, createConnector } from './connect.ts'
import { OutgoingError } from './error.ts'
import { exchange } from './http.ts'
import type { FromOutgoing, OutgoingAnswer, OutgoingJob, ToOutgoing } from './link.ts'
import { sendMail } from './mail.ts'
import { probe } from './probe.ts'
import { systemNetwork } from './resolve.ts'
import { deliver } from './syslog.ts'

type Link = FramedChannel<ToOutgoing, FromOutgoing>

/** Ends with `stop`, or when the boot manager or the firmware closes its channel. */
export function obey(channel: FramedChannel<ToEveryProcess, { type: 'pong' }>, link: Link, log: Log): void {
  ignoreSignals()
  exitOnBugs(log, () => false)
  const running = new Map<number, AbortController>()
  const send = sendInTurn(link)
  let connector: Connector | null = null

  const run = async (id: number, job: OutgoingJob) => {
    const canceled = new AbortController()
    running.set(id, canceled)
    try {
      await send({ type: 'answer', id, answer: await perform(defined(connector), job, canceled.signal) })
    } catch (error) {
      const failure = error instanceof FrameError ? new OutgoingError('its answer is too long', true) : error
      if (!(failure instanceof OutgoingError)) throw failure
      await send({ type: 'failure', id, problem: failure.message, isFinal: failure.isFinal })
    } finally {
      running.delete(id)
    }
  }

  channel.on('message', ({ type }) => {
    if (type === 'ping') channel.send({ type: 'pong' })
    else process.exit(0)
  })
  for (const broken of ['end', 'refused'] as const) {
    channel.on(broken, () => process.exit(0))
    link.on(broken, () => process.exit(0))
  }
  link.on('message', (message) => {
    if (message.type === 'settings') {
      connector?.idle.close()
      connector = createConnector(message.settings, systemNetwork(message.settings))
    } else if (message.type === 'job') void run(message.id, message.job)
    else running.get(message.id)?.abort()
  })
}

function perform(connector: Connector, job: OutgoingJob, signal: AbortSignal): Promise<OutgoingAnswer> {
  if (job.do === 'http') return exchange(connector, job, signal)
  if (job.do === 'probe') return probe(connector, job, signal)
  return job.do === 'syslog' ? deliver(connector, job, signal) : sendMail(connector, job, signal)
}
