/** Every client registers at once over a connection of its own, as after an unlock, while one user sends. */

import { Agent, request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { median, type Server } from './harness.ts'

const CLIENTS = 200
const SINGLE = 5 // registers one by one, for comparison
const ALONE_MS = 1500 // between them: what registers that come together share is kept for a second
const SINGLES_WANTED = 60
const SHARE_MAX = 0.1 // of the storm, for the longest send

type Credentials = { email: string; key: string }

/** Fails the run if a send took more than a tenth of the storm. Answers are not parsed, which would delay the sends of this process. */
export async function measureStorm({ port }: Server, clients: readonly Credentials[], send: () => Promise<unknown>) {
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 0, rejectUnauthorized: false })
  const register = ({ email, key }: Credentials): Promise<number> =>
    new Promise((resolve, reject) => {
      const startedMs = performance.now()
      const options = { agent, host: '127.0.0.1', port, method: 'POST', path: '/api/v1/register' }
      const sent = request(
        { ...options, auth: `${email}:${key}`, headers: { 'accept-encoding': 'gzip' } },
        (answer) => {
          answer.resume().once('error', reject)
          answer.once('end', () => {
            if (answer.statusCode === 200) resolve(performance.now() - startedMs)
            else reject(new Error(`A register was answered ${answer.statusCode}`))
          })
        },
      )
      sent.once('error', reject).end()
    })

  const single: number[] = []
  for (let n = 0; n < SINGLE; n++) {
    await wait(ALONE_MS)
    single.push(await register(clients[n]!))
  }
  const startedMs = performance.now()
  let stormMs: number | undefined
  const storm = Promise.all(clients.slice(0, CLIENTS).map(register)).then(() => {
    stormMs = performance.now() - startedMs
  })
  const sends: number[] = []
  while (stormMs === undefined) {
    const sentMs = performance.now()
    await send()
    sends.push(performance.now() - sentMs)
  }
  await storm
  const [singleMs, longestMs] = [median(single), Math.max(...sends)]
  const share = longestMs / stormMs
  console.log(
    `a storm of ${Math.min(CLIENTS, clients.length)} registers: ${stormMs.toFixed(0)} ms, ${(stormMs / singleMs).toFixed(0)} times one (${SINGLES_WANTED} are wished for with 50,000 unread messages each); ` +
      `the longest of ${sends.length} sends meanwhile: ${longestMs.toFixed(0)} ms, ${share.toFixed(3)} of it`,
  )
  if (share > SHARE_MAX) {
    console.error(`A send may take ${SHARE_MAX} of a storm.`)
    process.exitCode = 1
  }
  return { stormMs, singleMs, longestMs, medianSendMs: median(sends), share }
}
