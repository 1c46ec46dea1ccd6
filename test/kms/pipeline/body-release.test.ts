/** A parsed body, which may hold the text of a key, is not kept by anything that a request began and that goes on after it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { z } from 'zod'
import { createLog } from '../../../firmware/base/log.ts'
import { createLoginLimiter } from '../../../firmware/base/login-limiter.ts'
import { endpoint } from '../../../firmware/kms/pipeline/endpoint.ts'
import { createApi } from '../../../firmware/kms/pipeline/pipeline.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

for (const [name, fails] of [
  ['succeeds', false],
  ['fails', true],
] as const)
  test(`a timer of a request that ${name} does not keep its body`, async (t) => {
    const bodies: WeakRef<object>[] = []
    const app = createApi<null>({
      declarations: [
        endpoint({
          ...({ method: 'POST', path: '/x', summary: 'Begins a timer.', states: ['Operational'] } as const),
          access: 'public',
          body: { kind: 'json', schema: z.strictObject({ data: z.string() }) },
          answers: { status: 204, empty: true },
          handle: ({ body }: { body: { data: string } }) => {
            bodies.push(new WeakRef(body))
            const timer = setInterval(() => {}, 60_000)
            t.after(() => clearInterval(timer))
            if (fails) throw new TypeError('a fault')
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
    })
    const headers = { 'content-type': 'application/json' }
    const { status } = await app.request('http://x/api/v1/x', { method: 'POST', headers, body: '{"data":"a secret"}' })
    assert.equal(status, fails ? 503 : 204)
    for (let turn = 0; turn < 3; turn++) {
      await new Promise(setImmediate)
      collect()
    }
    assert.deepEqual(
      bodies.map((body) => body.deref()),
      [undefined],
    )
  })
