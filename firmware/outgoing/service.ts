/** Main loop of the process for outgoing connections: performs jobs of the firmware and answers each once. */

import type { Log } from '../base/log.ts'
import { exitOnBugs, ignoreSignals } from '../base/process.ts'
import { type FramedChannel, sendInTurn } from '../channel/channel.ts'
import type { ToEveryProcess } from '../channel/protocol.ts'
import { type Connector, createConnector } from './connect.ts'
import { OutgoingError } from './error.ts'
import { exchange } from './http.ts'
import type { FromOutgoing, OutgoingAnswer, OutgoingJob, ToOutgoing } from './link.ts'
import { probe } from './probe.ts'
import { systemNetwork } from './resolve.ts'

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
      send({ type: 'answer', id, answer: await perform(connector!, job, canceled.signal) })
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      send({ type: 'failure', id, problem: error.message, isFinal: error.isFinal })
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
    if (message.type === 'settings') connector = createConnector(message.settings, systemNetwork(message.settings))
    else if (message.type === 'job') void run(message.id, message.job)
    else running.get(message.id)?.abort()
  })
}

const perform = (connector: Connector, job: OutgoingJob, signal: AbortSignal): Promise<OutgoingAnswer> =>
  job.do === 'http' ? exchange(connector, job, signal) : probe(connector, job, signal)
