/** Valid clients in a process of their own: each connection signs with credentials that are remembered. For flood.ts. */

import { Agent, request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '../../firmware/base/defined.ts'
import { basic } from './target.ts'

export interface Signing {
  port: number
  connections: number
  credentials: string
}

export interface Signed {
  perSecond: number
  p99Ms: number
  failures: number
}

/** Each message is how many milliseconds to sign, and is answered by a `Signed`. */
if (import.meta.main) {
  const { port, connections, credentials } = JSON.parse(defined(process.argv[2])) as Signing
  const agent = new Agent({ keepAlive: true, maxSockets: connections, rejectUnauthorized: false })
  const body = JSON.stringify({ mode: 'EdDSA', message: Buffer.alloc(32, 1).toString('base64') })
  const headers = {
    authorization: basic(credentials),
    'content-type': 'application/json',
    'content-length': body.length,
  }
  const options = { agent, host: '127.0.0.1', port, method: 'POST', path: '/api/v1/keys/ed/sign', headers }
  const sign = () =>
    new Promise<boolean>((resolve) => {
      const sent = request(options, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode === 200))
      })
      sent.once('error', () => resolve(false)).end(body)
    })
  process.on('message', async (ms: number) => {
    const tookMs: number[] = []
    let failures = 0
    const startedMs = performance.now()
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (performance.now() - startedMs < ms) {
          const beganMs = performance.now()
          if (await sign()) tookMs.push(performance.now() - beganMs)
          else {
            failures++
            await wait(10)
          }
        }
      }),
    )
    tookMs.sort((a, b) => a - b)
    const perSecond = (tookMs.length * 1000) / (performance.now() - startedMs)
    process.send?.({
      perSecond,
      p99Ms: tookMs[Math.floor(tookMs.length * 0.99)] ?? Infinity,
      failures,
    } satisfies Signed)
  })
}
