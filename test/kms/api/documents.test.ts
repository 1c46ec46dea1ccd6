/** The API documents over the real declarations. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import webApi from 'webapi-parser'
import { parse } from 'yaml'
import { DECLARATIONS } from '../../../firmware/app.ts'
import { openRig } from '../../support/in-process.ts'

test('the OpenAPI document is valid and lists every endpoint with its states and who may call', async (t) => {
  const rig = await openRig(t)
  const { status, json } = await rig.call('GET', '/openapi.json')
  assert.equal(status, 200)
  const { valid, errors } = await new Validator().validate(structuredClone(json()))
  assert(valid, JSON.stringify(errors))
  for (const { method, path, states } of DECLARATIONS) {
    const pattern = path.replace(/:(\w+)/g, '{$1}')
    const operation = json().paths[pattern]?.[method.toLowerCase()]
    assert(operation !== undefined, `${method} ${path}`)
    assert.deepEqual(operation['x-states'], states)
  }
})

test('the RAML document is valid', async (t) => {
  const rig = await openRig(t)
  const { status, text } = await rig.call('GET', '/api.raml')
  assert.equal(status, 200)
  const { conforms, results } = await webApi.WebApiParser.raml10.validate(
    await webApi.WebApiParser.raml10.parse(text()),
  )
  assert(conforms, results.map(({ message }) => message).join('\n'))
})

test('the YAML document says what the JSON document says', async (t) => {
  const rig = await openRig(t)
  const { text } = await rig.call('GET', '/openapi.yaml')
  const { json } = await rig.call('GET', '/openapi.json')
  assert.deepEqual(parse(text()), json())
})

test('no two enumerations name a constant alike, which clients in Go have in one scope', async (t) => {
  const rig = await openRig(t)
  const { json } = await rig.call('GET', '/openapi.json')
  const schemas: { enum?: string[]; 'x-enum-varnames'?: string[] }[] = Object.values(json().components.schemas)
  const enumerations = schemas.filter((schema) => schema.enum !== undefined)
  assert(enumerations.length > 1)
  for (const schema of enumerations) assert.equal(schema['x-enum-varnames']?.length, schema.enum?.length)
  const names = enumerations.flatMap((schema) => schema['x-enum-varnames'] ?? [])
  assert.deepEqual(names, [...new Set(names)])
  for (const name of names) assert.match(name, /^[A-Z][A-Z0-9_]*$/)
})
