/** The OpenAPI document of the transit API: complete, valid, and true of the recorded questions. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import * as z from 'zod'
import { createEndpointTable, endpointOf, splitTarget } from '../../../firmware/http/endpoint/table.ts'
import { auth, DESCRIBED } from '../../../firmware/kms/transit/described.ts'
import { TRANSIT_DECLARATIONS } from '../../../firmware/kms/transit/dialect.ts'
import { Conversation, cases, skip } from './recorded.ts'
import { say, switchWire, wiredRig } from './rig.ts'

const nameOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`

test('it is valid, public, lists every endpoint, and is linked from the page of the API', async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  const [off, unknown] = [await say(rig, 'GET', 'openapi.json'), await say(rig, 'GET', 'nowhere')]
  assert.deepEqual(off, unknown, 'not while the API is off')
  await switchWire(rig, 'on')
  const { status, body } = await say(rig, 'GET', 'openapi.json')
  assert.equal(status, 200)
  const { valid, errors } = await new Validator().validate(structuredClone(body))
  assert.ok(valid, JSON.stringify(errors))
  assert.equal(body.servers[0].url, '/v1')
  for (const declaration of TRANSIT_DECLARATIONS) {
    const path = declaration.path.slice('/v1'.length).replace(/:(\w+)/g, '{$1}')
    const method = declaration.method === 'LIST' ? 'get' : declaration.method.toLowerCase()
    const operation = body.paths[path]?.[method]
    assert.ok(operation !== undefined, nameOf(declaration))
    assert.deepEqual(operation['x-roles'], declaration.access === 'public' ? [] : declaration.access.roles)
    assert.deepEqual(operation.security, declaration.access === 'public' ? [] : [{ token: [] }])
  }
  assert.match((await rig.call('GET', '//docs')).text(), /<a href="\/v1\/openapi\.json">/)
})

test('every endpoint is described, and nothing else', () => {
  const names = TRANSIT_DECLARATIONS.map(nameOf)
  for (const name of Object.keys(DESCRIBED)) assert.ok(names.includes(name), name)
  for (const declaration of TRANSIT_DECLARATIONS) {
    const described = DESCRIBED[nameOf(declaration)]
    assert.ok(described !== undefined, nameOf(declaration))
    assert.equal(described.body !== undefined, declaration.body !== undefined, nameOf(declaration))
  }
})

/** Members that some recorded question sends although they do nothing. */
const IGNORED = /^(colo\w+|unknown|increment|name|context|nonce)$/

test('the answers of the recorded questions are as described, and so are the members that they send', {
  skip,
}, async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  const table = createEndpointTable(['', TRANSIT_DECLARATIONS])
  const checked = new Set<string>()
  const conversation = new Conversation(async (method, target, options) => {
    rig.nowMs += 2000 // a wrong guess blocks for a second
    const { status, bytes } = await rig.call(method, `/${target}`, options)
    const body = bytes.length === 0 ? null : JSON.parse(String(bytes))
    const [path, query] = splitTarget(target)
    const asked = method === 'PUT' ? 'POST' : query.includes('list=true') ? 'LIST' : method
    const found = endpointOf(table(path.replace(/\/$/, '')), asked)
    if (found === undefined || method === 'HEAD') return { status, body }
    const name = nameOf(found.endpoint)
    const described = DESCRIBED[name]
    if (status === 200 && described !== undefined) {
      checked.add(name)
      expectDescribed(name, body)
      const sent = JSON.parse(options.body || '{}') ?? {}
      for (const member of Object.keys(sent))
        assert.ok(IGNORED.test(member) || member in (described.body?.shape ?? {}), `${name}: ${member}`)
    }
    return { status, body }
  })
  for (const question of cases()) await conversation.answer(question)
  assert.ok(checked.size > 25, [...checked].join('\n'))
})

function expectDescribed(name: string, body: Record<string, unknown>): void {
  const { bare, data = z.null(), hasAuth = false } = DESCRIBED[name]!
  const parts: [z.ZodType, unknown][] =
    bare === undefined
      ? [
          [data, body.data],
          [hasAuth ? auth : z.null(), body.auth],
        ]
      : [[bare, body]]
  for (const [schema, value] of parts) {
    const { success, error } = schema.safeParse(value)
    assert.ok(success, `${name}: ${error} in ${JSON.stringify(value)}`)
  }
}
