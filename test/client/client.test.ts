/** The typed calls against the API's own description, and how they deal with refusals. */

import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { createClient } from '../../firmware/client/client.ts'
import { ApiError, type Request, withRetries } from '../../firmware/client/request.ts'
import type { OpenApi } from '../../firmware/kms/documents/openapi.ts'
import { type Appliance, startAppliance } from '../support/suite.ts'

let appliance: Appliance
let operations: Set<string>
before(async () => {
  appliance = await startAppliance()
  const { paths } = (await appliance.call('GET', '/openapi.json')).json<OpenApi>()
  operations = new Set(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    ),
  )
})
after(() => appliance.dispose())

function operationOf({ method, path }: Request): string[] {
  const bare = decodeURIComponent(path.split('?')[0]!)
  const literal = `${method} ${bare}`
  if (operations.has(literal)) return [literal]
  return [...operations].filter((operation) => {
    const pattern = operation.replace(/[.*~]/g, '\\$&').replace(/\{\w+\}/g, 'variable')
    return new RegExp(`^${pattern}$`).test(literal)
  })
}

test('every operation of the API has one function with its method and path, and no function is left over', async () => {
  let seen: Request[] = []
  const client = createClient(
    async (request) => {
      seen.push(request)
      return new Response('{}')
    },
    async () => null,
  )
  const unused = new Set(operations)
  for (const [name, call] of Object.entries(client)) {
    seen = []
    await (call as (...values: unknown[]) => Promise<unknown>)(...Array(call.length).fill('variable').slice(0, 2))
    assert.equal(seen.length, 1, name)
    const found = operationOf(seen[0]!)
    assert.equal(found.length, 1, `${name}: ${seen[0]!.method} ${seen[0]!.path}`)
    assert.ok(unused.delete(found[0]!), `${name}: ${found[0]} has another function`)
  }
  // The older path of the cluster's authority, for clients before NetHSM 5.1: contract section 3.4.
  assert.deepEqual([...unused], ['GET /config/tls/cluster-ca.pem', 'PUT /config/tls/cluster-ca.pem'])
})

test('a refusal is an error with the status, the words and the time of the appliance', async () => {
  const answer = () => Response.json({ message: 'Later' }, { status: 503, headers: { 'retry-after': '7' } })
  const client = createClient(
    async () => answer(),
    async () => null,
  )
  await assert.rejects(client.state(), (error) => {
    assert.ok(error instanceof ApiError)
    assert.deepEqual([error.status, error.message, error.retryAfter], [503, 'Later', 7])
    return true
  })
})

test('what may be asked again is asked five times more at most, after the time that was named', async () => {
  const waits: number[] = []
  let calls = 0
  const transport = withRetries(
    async () => {
      calls++
      return Response.json({ message: 'Later' }, { status: 429, headers: { 'retry-after': '2' } })
    },
    async (seconds) => void waits.push(seconds),
  )
  const client = createClient(transport, async () => null)
  await assert.rejects(client.info(), { status: 429 })
  assert.deepEqual([calls, waits], [6, [2, 2, 2, 2, 2]])
})

test('what has no time to wait for, or is another refusal, is asked once', async () => {
  for (const [status, headers] of [
    [503, {}],
    [400, { 'retry-after': '1' }],
  ] as const) {
    let calls = 0
    const transport = withRetries(
      async () => {
        calls++
        return Response.json({ message: 'No' }, { status, headers })
      },
      async () => {},
    )
    await assert.rejects(createClient(transport, async () => null).info(), { status })
    assert.equal(calls, 1)
  }
})
