/** The API documents over the real declarations. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { DECLARATIONS } from '../../firmware/app.ts'
import { openRig } from './rig.ts'

test('the OpenAPI document is valid and lists every endpoint with its states and who may call', async (t) => {
  const rig = await openRig(t)
  const { status, json } = await rig.call('GET /openapi.json', { as: null })
  assert.equal(status, 200)
  const { valid, errors } = await new Validator().validate(structuredClone(json))
  assert(valid, JSON.stringify(errors))
  for (const { method, path, states } of DECLARATIONS) {
    const pattern = path.replace(/:(\w+)/g, '{$1}')
    const operation = json.paths[pattern]?.[method.toLowerCase()]
    assert(operation !== undefined, `${method} ${path}`)
    assert.deepEqual(operation['x-states'], states)
  }
})

test('every other form of the documents is made', async (t) => {
  const rig = await openRig(t)
  for (const path of ['/openapi.yaml', '/api.raml']) assert.equal(await rig.status(`GET ${path}`, { as: null }), 200)
})
