import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { createLog } from '../../firmware/base/log.ts'
import { createLoginLimiter } from '../../firmware/base/login-limiter.ts'
import type { Connection } from '../../firmware/http/server/exchange.ts'
import { endpoint, type Request } from '../../firmware/kms/pipeline/endpoint.ts'
import { createApi } from '../../firmware/kms/pipeline/pipeline.ts'

test('the signal of a request is aborted when its client goes, and not when it has its answer', async (t) => {
  const handled = Promise.withResolvers<AbortSignal>()
  const signals: AbortSignal[] = []
  const declaration = (path: string, handle: (request: Request<null, unknown, unknown, unknown>) => Promise<void>) =>
    endpoint({
      ...({ method: 'GET', path, summary: 'Waits.', states: ['Operational'], access: 'public' } as const),
      answers: { status: 204, empty: true },
      handle: async (request: Request<null, unknown, unknown, unknown>) => {
        await handle(request)
        return { status: 204 }
      },
    })
  const app = createApi<null>({
    declarations: [
      declaration('/slow', async ({ signal }) => {
        handled.resolve(signal())
        await once(signal(), 'abort')
      }),
      declaration('/quick', async ({ signal }) => void signals.push(signal())),
    ],
    services: null,
    state: () => 'Operational',
    epoch: () => 0,
    authenticate: () => null,
    limiter: createLoginLimiter(),
    log: createLog('error', () => {}),
  })
  const server = createServer(getRequestListener((request, env) => app.fetch(request, env as Connection)))
  server.listen(0)
  t.after(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`

  const slow = get(`${url}/slow`).on('error', () => {})
  const signal = await handled.promise
  assert.equal(signal.aborted, false)
  slow.destroy()
  if (!signal.aborted) await once(signal, 'abort')

  const [response] = await once(get(`${url}/quick`, { agent: false }), 'response')
  response.resume()
  await once(response, 'close')
  await new Promise(setImmediate)
  assert.equal(response.statusCode, 204)
  assert.equal(signals[0]!.aborted, false)
})
