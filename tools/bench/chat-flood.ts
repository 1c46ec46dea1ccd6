/** One address of a webhook is flooded while others send. The chat has its usual limits here. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { FlooderData } from './chat-flooder.ts'
import { median, quantile, type Server } from './harness.ts'

const CALLS_A_SECOND = 100
const WAITING_MAX = 20
const ROUNDS = 10 // of each, taking turns
const SENDS = 200 // in a round
const SENDS_OF_ONE = 100 // an account may do 200 calls a minute
const RATIO_MAX = 1.1

type Credentials = { email: string; key: string }
type Asked = (method: string, path: string, key: Credentials, values: Record<string, string>) => Promise<unknown>

/** Fails the run if the p99 of a send beside the flood is more than a tenth above that without it. */
export async function measureFlood({ port }: Server, keys: readonly Credentials[], asked: Asked) {
  const [owner, ...senders] = keys as [Credentials, ...Credentials[]]
  const bot = (await asked('POST', '/bots', owner, { full_name: 'Alerts', short_name: 'alerts', bot_type: '2' })) as {
    api_key: string
  }
  const path = `/api/v1/external/slack_incoming?api_key=${bot.api_key}&stream=channel+1&topic=alerts`
  let sent = 0
  const message = { type: 'channel', to: '"channel 9"', topic: 'a topic', content: 'sent beside a flood' }
  const send = () => asked('POST', '/messages', senders[Math.floor(sent++ / SENDS_OF_ONE) % senders.length]!, message)
  const sends = async (): Promise<number[]> => {
    const times: number[] = []
    for (let n = 0; n < SENDS; n++) {
      const startedMs = performance.now()
      await send()
      times.push(performance.now() - startedMs)
    }
    return times
  }

  const [quiet, beside]: [number[], number[]] = [[], []]
  const ratios: number[] = []
  const statuses: Record<string, number> = {}
  await sends() // code that runs for the first time
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await sends()
    const flooder = startFlooder({ port, path, everyMs: 1000 / CALLS_A_SECOND, waitingMax: WAITING_MAX })
    const flooded = await sends()
    for (const [status, count] of Object.entries(await flooder.stop()))
      statuses[status] = (statuses[status] ?? 0) + count
    quiet.push(...alone)
    beside.push(...flooded)
    ratios.push(quantile(flooded, 0.99) / quantile(alone, 0.99))
  }
  const [quietMs, besideMs] = [quantile(quiet, 0.99), quantile(beside, 0.99)]
  const ratio = median(ratios)
  const answers = Object.entries(statuses).map(([status, count]) => `${count} times ${status}`)
  console.log(
    `a webhook called ${CALLS_A_SECOND} times a second (${answers.join(', ')}): sends beside it p50 ${median(beside).toFixed(2)} ms, p99 ${besideMs.toFixed(2)}; ` +
      `without it ${median(quiet).toFixed(2)} and ${quietMs.toFixed(2)}; p99 of a round ${ratio.toFixed(2)} times that without`,
  )
  if (ratio > RATIO_MAX) {
    console.error(`The p99 of a send may be ${RATIO_MAX} times that without a flood.`)
    process.exitCode = 1
  }
  return { statuses, quietMs, besideMs, ratio }
}

function startFlooder(workerData: FlooderData): { stop: () => Promise<Record<string, number>> } {
  const worker = new Worker(new URL('./chat-flooder.ts', import.meta.url), { workerData })
  return {
    async stop() {
      worker.postMessage('stop')
      const [statuses] = await once(worker, 'message')
      return statuses
    },
  }
}
