/** A body counts against the bound of all bodies as long as its handler keeps it, as one does that waits for the pool. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import { createLog } from '../../../firmware/base/log.ts'
import { createLoginLimiter } from '../../../firmware/base/login-limiter.ts'
import { type Body, endpoint } from '../../../firmware/kms/pipeline/endpoint.ts'
import { createApi } from '../../../firmware/kms/pipeline/pipeline.ts'
import { jsonBody } from '../../../firmware/kms/transit/body.ts'

const json: Body<unknown> = { kind: 'json', schema: z.strictObject({ input: z.string() }) }

/** Resolves with the status of each answer, or with `acts` once the handler of the request runs. */
function waiting(body: Body<unknown>) {
  const acts: (() => void)[] = []
  const released = Promise.withResolvers<void>()
  const app = createApi<null>({
    declarations: [
      endpoint({
        ...({ method: 'POST', path: '/x', summary: 'Waits.', states: ['Operational'] } as const),
        access: 'public',
        body,
        answers: { status: 204, empty: true },
        handle: async () => {
          acts.shift()?.()
          await released.promise
          return { status: 204 }
        },
      }),
    ],
    services: null,
    state: () => 'Operational',
    epoch: () => 0,
    authenticate: () => null,
    limiter: createLoginLimiter(),
    log: createLog('error', () => {}),
    bodyLimits: { totalBytesMax: 1000, smallBytes: 100 },
  })
  const send = (bytes: number) => {
    const acting = Promise.withResolvers<'acts'>()
    acts.push(() => acting.resolve('acts'))
    const given = JSON.stringify({ input: 'x'.repeat(bytes) })
    const headers = { 'content-type': 'application/json' }
    const asked = app.request('http://x/api/v1/x', { method: 'POST', headers, body: given })
    const status = Promise.resolve(asked).then(({ status }) => status)
    return { status, first: Promise.race([status, acting.promise]) }
  }
  return { send, release: released.resolve }
}

for (const [name, body] of [
  ['JSON of the own API', json],
  ['JSON of the transit API', jsonBody],
] as const)
  test(`${name}: requests that wait with large bodies have a bound together, and none once they are answered`, async () => {
    const { send, release } = waiting(body)
    const large = send(600)
    assert.equal(await large.first, 'acts')
    const refused = send(600)
    assert.equal(await refused.first, 503)
    const small = send(20)
    release()
    assert.deepEqual(await Promise.all([large.status, small.status]), [204, 204])
    assert.equal(await send(600).status, 204)
  })
