/** The order of checks of contract section 1.7: of two failing checks, the earlier one answers. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { z } from 'zod'
import { CofferError } from '../../firmware/base/error.ts'
import type { ApplianceState } from '../../firmware/base/states.ts'
import { id } from '../../firmware/kms/api/schema.ts'
import { endpoint } from '../../firmware/kms/pipeline/endpoint.ts'
import { basic, type Sample, sampleApi } from './sample-api.ts'

/** An endpoint on which every check can fail. */
const everything = endpoint({
  method: 'PUT',
  path: '/things/:id',
  summary: 'Fails wherever asked to.',
  states: ['Operational'],
  access: { roles: ['Administrator'], scope: 'any' },
  params: z.object({ id }),
  exists: ({ params }) => {
    if (params.id === 'missing') throw new CofferError('notFound', 'No such thing')
  },
  version: () => 'current',
  creates: true,
  body: { kind: 'json', schema: z.strictObject({ taken: z.boolean() }) },
  answers: { status: 201, json: z.object({ id }) },
  handle: ({ params, body }: { params: { id: string }; body: { taken: boolean } }) => {
    if (body.taken) throw new CofferError('conflict', 'The thing exists')
    return { status: 201, json: params }
  },
})

interface Specimen {
  state: ApplianceState
  method: string
  root: string
  id: string
  query: string
  user: string
  passphrase: string | undefined
  limited: boolean
  headers: Record<string, string>
  body: string
}

const good = (): Specimen => ({
  state: 'Operational',
  method: 'PUT',
  root: '/things',
  id: 'one',
  query: '',
  user: 'admin',
  passphrase: undefined,
  limited: false,
  headers: { 'content-type': 'application/json' },
  body: '{"taken":false}',
})

interface Check {
  name: string
  fail: (specimen: Specimen) => void
  status: number
  message: RegExp
  /** Part of the request that it changes; two checks that change the same part cannot fail together. */
  uses?: string
}

const checks: Check[] = [
  { name: '1 path', fail: (s) => (s.root = '/nothing'), status: 404, message: /path/ },
  { name: '2 state', fail: (s) => (s.state = 'Locked'), status: 412, message: /Service not available/ },
  { name: '3 method known', fail: (s) => (s.method = 'PATCH'), status: 501, message: /method/, uses: 'method' },
  { name: '4 target length', fail: (s) => (s.query = `?${'x'.repeat(2000)}`), status: 414, message: /longer/ },
  { name: '5 method offered', fail: (s) => (s.method = 'DELETE'), status: 405, message: /not allowed/, uses: 'method' },
  { name: '6 rate limit', fail: (s) => (s.limited = true), status: 429, message: /attempts/ },
  { name: '6 credentials', fail: (s) => (s.passphrase = 'wrong one'), status: 401, message: /Wrong/ },
  { name: '7 role', fail: (s) => (s.user = 'metrics'), status: 403, message: /role/ },
  { name: '8 content type', fail: (s) => (s.headers['content-type'] = 'text/plain'), status: 415, message: /type/ },
  { name: '9 declared size', fail: (s) => (s.headers['content-length'] = '1048577'), status: 413, message: /larger/ },
  { name: '10 accept', fail: (s) => (s.headers.accept = 'text/html'), status: 406, message: /answer has type/ },
  { name: '11 id', fail: (s) => (s.id = '-bad'), status: 400, message: /^id: not a valid ID/, uses: 'id' },
  { name: '12 resource', fail: (s) => (s.id = 'missing'), status: 404, message: /No such thing/, uses: 'id' },
  { name: '13 condition', fail: (s) => (s.headers['if-match'] = '"other"'), status: 412, message: /condition/ },
  { name: '14 body', fail: (s) => (s.body = '{}}}'), status: 400, message: /not JSON/, uses: 'body' },
  { name: '15 semantics', fail: (s) => (s.body = '{"taken":true}'), status: 409, message: /exists/, uses: 'body' },
]

async function send(specimen: Specimen): Promise<{ status: number; message: string }> {
  const { app, sample, limiter } = sampleApi({
    declarations: [endpoint<Sample, unknown, unknown, unknown>(everything)],
  })
  sample.state = specimen.state
  if (specimen.limited) limiter.fail('', specimen.user)
  const response = await app.request(`/api/v1${specimen.root}/${specimen.id}${specimen.query}`, {
    method: specimen.method,
    headers: { authorization: basic(specimen.user, specimen.passphrase), ...specimen.headers },
    body: specimen.body,
  })
  assert.equal(response.headers.get('content-type'), 'application/json')
  const { message } = (await response.json()) as { message: string }
  return { status: response.status, message }
}

test('a request that fails no check succeeds', async () => {
  assert.equal((await send(good())).status, 201)
})

for (const [index, first] of checks.entries()) {
  test(`check ${first.name} answers ${first.status}, alone and before every later check`, async () => {
    const later = checks.slice(index + 1).filter((check) => check.uses === undefined || check.uses !== first.uses)
    for (const second of [undefined, ...later]) {
      const specimen = good()
      first.fail(specimen)
      second?.fail(specimen)
      const { status, message } = await send(specimen)
      const what = `${first.name} with ${second?.name ?? 'nothing else'}`
      assert.equal(status, first.status, what)
      assert.match(message, first.message, what)
    }
  })
}
