/** Large requests of one user that wait for a thread leave room for those of other users. Contract section 1.5. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../../firmware/base/log.ts'
import { createLoginLimiter } from '../../../firmware/base/login-limiter.ts'
import { endpoint } from '../../../firmware/kms/pipeline/endpoint.ts'
import { createApi } from '../../../firmware/kms/pipeline/pipeline.ts'
import { jsonBody } from '../../../firmware/kms/transit/body.ts'

const LARGE = JSON.stringify({ input: 'x'.repeat(200) })

test('requests of one user that hold their bodies do not refuse those of another user', async () => {
  const released = Promise.withResolvers<void>()
  let acting = 0
  const app = createApi<null>({
    declarations: [
      endpoint({
        ...({ method: 'POST', path: '/x', summary: 'Waits.', states: ['Operational'] } as const),
        access: { roles: ['Operator'], scope: 'any' },
        body: jsonBody,
        answers: { status: 204, empty: true },
        handle: async () => {
          acting++
          await released.promise
          return { status: 204 }
        },
      }),
    ],
    services: null,
    state: () => 'Operational',
    epoch: () => 0,
    authenticate: (userId) => ({ userId, namespace: '', role: 'Operator' }),
    limiter: createLoginLimiter(),
    log: createLog('error', () => {}),
    bodyLimits: { totalBytesMax: 1000, smallBytes: 0 },
  })
  const send = async (user: string): Promise<number> => {
    const authorization = `Basic ${Buffer.from(`${user}:passphrase`).toString('base64')}`
    return (await app.request('http://x/api/v1/x', { method: 'POST', headers: { authorization }, body: LARGE })).status
  }
  /** Sends until one is refused; all others wait. */
  const fill = async (user: string): Promise<Promise<number>[]> => {
    const waiting: Promise<number>[] = []
    for (;;) {
      const before = acting
      let isRefused = false
      const status = send(user)
      void status.then((code) => {
        isRefused = code === 503
      })
      await until(() => isRefused || acting > before)
      if (isRefused) return waiting
      waiting.push(status)
    }
  }
  const [anna, ben] = [await fill('anna'), await fill('ben')]
  assert.deepEqual([anna.length, ben.length], [2, 1])
  released.resolve()
  assert.deepEqual(await Promise.all([...anna, ...ben]), [204, 204, 204])
})

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise(setImmediate)
}
