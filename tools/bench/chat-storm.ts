/** Every client registers at once over a connection of its own, as after an unlock, while one user sends. */

import { Agent, request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { median, type Server } from './harness.ts'

const SINGLE = 5 // registers one by one, for comparison
const ALONE_MS = 1500 // between them: what registers that come together share is kept for a second
const SINGLES_WANTED = 60
const SHARE_WANTED = 0.05
const SHARE_MAX = 0.1 // of the storm, for the longest send

type Credentials = { email: string; key: string }

interface Registered {
  client: Credentials
  tookMs: number
  /** Compressed. */
  answer: Buffer
}

/**
 * Fails the run if, in the median of the storms, a send took more than a tenth of one. Answers are not read before a storm is over, which
 * would delay the sends of this process. Then the queues are deleted: a client has one, not one of each storm before.
 */
export async function measureStorm(
  { port }: Server,
  clients: readonly Credentials[],
  send: () => Promise<unknown>,
  { clients: count, rounds }: { clients: number; rounds: number },
) {
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 0, rejectUnauthorized: false })
  const call = (client: Credentials, method: string, path: string): Promise<Registered> =>
    new Promise((resolve, reject) => {
      const startedMs = performance.now()
      const options = { agent, host: '127.0.0.1', port, method, path: `/api/v1${path}` }
      const sent = request(
        { ...options, auth: `${client.email}:${client.key}`, headers: { 'accept-encoding': 'gzip' } },
        (answer) => {
          const parts: Buffer[] = []
          answer.on('data', (part: Buffer) => parts.push(part)).once('error', reject)
          answer.once('end', () => {
            if (answer.statusCode !== 200) reject(new Error(`${method} ${path} was answered ${answer.statusCode}`))
            else resolve({ client, tookMs: performance.now() - startedMs, answer: Buffer.concat(parts) })
          })
        },
      )
      sent.once('error', reject).end()
    })
  const register = (client: Credentials): Promise<Registered> => call(client, 'POST', '/register')
  const deleteQueue = ({ client, answer }: Registered): Promise<unknown> => {
    const { queue_id } = JSON.parse(gunzipSync(answer).toString())
    return call(client, 'DELETE', `/events?queue_id=${encodeURIComponent(queue_id)}`)
  }

  async function storm() {
    const single: number[] = []
    for (let n = 0; n < SINGLE; n++) {
      await wait(ALONE_MS)
      const registered = await register(clients[n]!)
      single.push(registered.tookMs)
      await deleteQueue(registered)
    }
    const startedMs = performance.now()
    let stormMs: number | undefined
    const all = Promise.all(clients.slice(0, count).map(register)).then((registered) => {
      stormMs = performance.now() - startedMs
      return registered
    })
    const sends: number[] = []
    while (stormMs === undefined) {
      const sentMs = performance.now()
      await send()
      sends.push(performance.now() - sentMs)
    }
    for (const registered of await all) await deleteQueue(registered)
    const [singleMs, longestMs] = [median(single), Math.max(...sends)]
    const times = stormMs / singleMs
    return { stormMs, singleMs, times, longestMs, medianSendMs: median(sends), share: longestMs / stormMs }
  }

  const storms: Awaited<ReturnType<typeof storm>>[] = []
  for (let round = 0; round < rounds; round++) storms.push(await storm())
  const of = (name: keyof (typeof storms)[number]): number => median(storms.map((one) => one[name]))
  const share = of('share')
  console.log(
    `a storm of ${Math.min(count, clients.length)} registers, medians of ${rounds}: ${of('stormMs').toFixed(0)} ms, ${of('times').toFixed(0)} times one of ${of('singleMs').toFixed(0)} ms (${SINGLES_WANTED} are wished for from 200 with 50,000 unread messages each); ` +
      `the longest send meanwhile: ${of('longestMs').toFixed(0)} ms, ${share.toFixed(3)} of it (${SHARE_WANTED} is wished for), and in the first storm ${storms[0]!.share.toFixed(3)}`,
  )
  if (share > SHARE_MAX) {
    console.error(`A send may take ${SHARE_MAX} of a storm.`)
    process.exitCode = 1
  }
  return { storms, share }
}
