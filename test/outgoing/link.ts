/** The firmware's end of outgoing connections in the test's process, with an end of the other process in the test's hands. */

import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createRelay } from '../../boot/supervisor/relay.ts'
import { createLog } from '../../firmware/base/log.ts'
import { type FramedChannel, openChannel } from '../../firmware/channel/channel.ts'
import { createOutgoingClient, type OutgoingClient } from '../../firmware/outgoing/client.ts'
import {
  type ConnectionSettings,
  type FromOutgoing,
  type OutgoingJob,
  readToOutgoing,
  type ToOutgoing,
} from '../../firmware/outgoing/link.ts'
import { connected } from '../boot/socket-pair.ts'
import { NO_SETTINGS } from '../chat/support/outgoing.ts'

const TURNS_MAX = 1_000_000

export interface Worker {
  channel: FramedChannel<ToOutgoing, FromOutgoing>
  socket: Socket
  jobs: { id: number; job: OutgoingJob }[]
  canceled: number[]
  settings: ConnectionSettings[]
}

export interface ClientRig {
  client: OutgoingClient
  wishes: string[]
  logged: string[]
  workers: Worker[]
  /** Starts a worker, as the boot manager does for `running`. */
  start(): Promise<Worker>
  until(condition: () => boolean): Promise<void>
}

export async function openClient(t: TestContext, settings: ConnectionSettings = NO_SETTINGS): Promise<ClientRig> {
  const relay = createRelay('outgoing')
  const [near, pipe] = await connected(t)
  relay.joinFirmware(near, () => {})
  const [wishes, logged, workers]: [string[], string[], Worker[]] = [[], [], []]
  const log = createLog('debug', ({ message }) => void logged.push(message))
  const client = createOutgoingClient({ pipe, want: (wish) => void wishes.push(wish), log, settings: () => settings })
  const until = async (condition: () => boolean) => {
    for (let turns = 0; !condition(); turns++) {
      if (turns > TURNS_MAX) throw new Error('nothing came')
      await nextTurn()
    }
  }
  const start = async () => {
    const [ofBoot, socket] = await connected(t)
    const channel = openChannel<ToOutgoing, FromOutgoing>(socket, readToOutgoing)
    const worker: Worker = { channel, socket, jobs: [], canceled: [], settings: [] }
    channel.on('message', (message) => {
      if (message.type === 'job') worker.jobs.push(message)
      else if (message.type === 'cancel') worker.canceled.push(message.id)
      else worker.settings.push(message.settings)
    })
    relay.joinOther(ofBoot)
    workers.push(worker)
    await until(() => worker.settings.length > 0)
    return worker
  }
  return { client, wishes, logged, workers, start, until }
}
