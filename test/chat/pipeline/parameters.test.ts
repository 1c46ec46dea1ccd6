/** Every parameter of every endpoint refuses what it cannot be: contract sections 1.1 and 1.4. Made from the declarations. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'
import type { AnyDeclaration } from '../../../firmware/chat/api/declare.ts'
import { ChatError } from '../../../firmware/chat/base/error.ts'
import type { Parameter } from '../../../firmware/chat/pipeline/parameters.ts'
import { endpointName } from '../../../firmware/http/endpoint/endpoint.ts'
import { chatSuite } from '../support/suite.ts'

const { rig } = await chatSuite()
let botKey: string
before(async () => {
  botKey = (await rig.owner.post('/bots', { full_name: 'Alerts', short_name: 'alerts', bot_type: 2 })).api_key
})

/** Values of each kind. The first one that a parameter accepts is its value while another parameter is tested. */
const SAMPLES = [
  '1',
  'x',
  'true',
  '[]',
  '{}',
  '[1]',
  '["x"]',
  '"x"',
  'start',
  'add',
  'direct',
  'active',
  'spam',
  'widget',
  'fcm',
  'public',
  '0'.repeat(64),
]

const TYPES = [
  'null',
  'true',
  '1',
  '-1',
  '1.5',
  '"x"',
  '[]',
  '{}',
  '[1]',
  '["x"]',
  '[[]]',
  '{"x":[]}',
  '[{"x":{}}]',
  '1e400',
]

for (const declaration of DECLARATIONS) {
  for (const [name, parameter] of Object.entries<Parameter<unknown>>(declaration.parameters ?? {})) {
    if (declaration.who === 'webhook' && name === 'api_key') continue // credentials: api/external.test.ts
    test(`${endpointName(declaration)} refuses a wrong ${name}`, async () => {
      const wrong = ['\0', '[', ...TYPES.filter((value) => fails(parameter, value))].filter((value) =>
        fails(parameter, value),
      )
      assert.ok(wrong.length > 0, 'something is always wrong')
      for (const value of wrong) {
        const { body } = await call(declaration, { ...earlier(declaration, name), [name]: value })
        const codes = ['REQUEST_VARIABLE_INVALID', 'INVALID_JSON']
        assert.ok(codes.includes(body.code), `${JSON.stringify(value)}: ${JSON.stringify(body)}`)
        assert.equal(body.var_name, name)
        assert.equal(body.result, 'error')
      }
    })
    if (parameter.fallback !== null) continue
    test(`${endpointName(declaration)} asks for ${name}`, async () => {
      const { status, body } = await call(declaration, earlier(declaration, name))
      assert.equal(status, 400)
      assert.equal(body.code, 'REQUEST_VARIABLE_MISSING')
      assert.equal(body.var_name, name)
    })
  }
}

function earlier({ parameters = {} }: AnyDeclaration, name: string): Record<string, string> {
  const values: Record<string, string> = {}
  for (const [other, parameter] of Object.entries<Parameter<unknown>>(parameters)) {
    if (other === name) return values
    if (parameter.fallback === null) values[other] = SAMPLES.find((value) => !fails(parameter, value))!
  }
  return values
}

function fails(parameter: Parameter<unknown>, value: string): boolean {
  try {
    parameter.read(value, 'x')
    return false
  } catch (error) {
    assert.ok(error instanceof ChatError, `${JSON.stringify(value)}: ${error}`)
    return true
  }
}

/** Webhooks have parameters in the query alone, and the key of a bot among them. */
const call = ({ method, path, who }: AnyDeclaration, values: Record<string, string>) =>
  who === 'webhook'
    ? rig.owner.call(method, `/external/json?${new URLSearchParams({ ...values, api_key: botKey })}`)
    : rig.owner.call(method, path.replace(/:\w+/g, '1'), values)
