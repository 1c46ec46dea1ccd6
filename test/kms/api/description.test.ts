/** The API documents where they follow the reference's description to the letter: contract section 5.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DECLARATIONS } from '../../../firmware/app.ts'
import type { JsonSchema } from '../../../firmware/kms/documents/json-schema.ts'
import { openApiDocument } from '../../../firmware/kms/documents/openapi.ts'

const { paths, components } = openApiDocument(DECLARATIONS, { title: 'x', version: '1', vendor: 'v' }, '/api/v1')
const { schemas } = components

const resolved = (schema: JsonSchema): JsonSchema =>
  schema.$ref === undefined ? schema : resolved(schemas[schema.$ref.split('/').at(-1)!]!)

const answer = (path: string, method: 'get' | 'post'): JsonSchema =>
  resolved(paths[path]![method]!.responses[200]!.content!['application/json']!.schema)

const request = (path: string, method: 'post' | 'put', type = 'application/json'): JsonSchema =>
  resolved(paths[path]![method]!.requestBody!.content[type]!.schema)

test('the exit numbers of diagnose are optional and 0 to 255', () => {
  const { required, properties } = resolved(answer('/health/diagnose', 'get').properties!.clusterState!)
  assert.deepEqual(required, ['running'])
  for (const name of ['exited', 'signaled', 'stopped']) {
    const { type, minimum, maximum } = properties![name]!
    assert.deepEqual([type, minimum, maximum], ['integer', 0, 255], name)
  }
})

test('the file part of a restore is called backup_file', () => {
  const { properties, required } = request('/system/restore', 'post', 'multipart/form-data')
  assert.deepEqual(Object.keys(properties!), ['arguments', 'backup_file'])
  assert.deepEqual(required, ['arguments', 'backup_file'])
})

test('Base64 has its encoding and its pattern wherever it is sent and received', () => {
  const bytes = [
    answer('/keys/{id}/sign', 'post').properties!.signature,
    answer('/keys/{id}/decrypt', 'post').properties!.decrypted,
    answer('/keys/{id}/encrypt', 'post').properties!.encrypted,
    answer('/random', 'post').properties!.random,
    request('/keys/{id}/sign', 'post').properties!.message,
    request('/keys/{id}/decrypt', 'post').properties!.encrypted,
    request('/keys/{id}/encrypt', 'post').properties!.message,
    ...request('/keys', 'post').properties!.private!.anyOf!.flatMap(({ properties }) => Object.values(properties!)),
    ...answer('/keys/{id}', 'get').properties!.public!.anyOf!.flatMap(({ properties }) => Object.values(properties!)),
  ]
  assert.equal(bytes.length, 14)
  for (const schema of bytes) {
    const { contentEncoding, pattern } = resolved(schema!)
    assert.equal(contentEncoding, 'base64')
    for (const text of ['', 'QQ==', 'QUI=', 'ab+/']) assert.match(text, new RegExp(pattern!), text)
    for (const text of ['QQ===', 'a-_b', 'QQ==QQ==', 'a b']) assert.doesNotMatch(text, new RegExp(pattern!), text)
  }
})

test('an integer without bounds is described without any, and operations as the reference has them', () => {
  const text = JSON.stringify({ paths, schemas })
  assert.equal(text.includes('9007199254740991'), false)
  for (const path of ['/keys/generate', '/config/tls/generate'])
    assert.deepEqual(request(path, 'post').properties!.length, { type: 'integer' })
  const { minimum, maximum } = answer('/keys/{id}', 'get').properties!.operations!
  assert.deepEqual([minimum, maximum], [0, 2_147_483_647])
})

test('the default vocabulary is described: type and restrictions of a key and id of an item are required', () => {
  assert.deepEqual(answer('/keys/{id}', 'get').required, ['mechanisms', 'type', 'restrictions', 'operations'])
  const lists = Object.entries(paths).filter(([path]) => /^\/keys(?:\/\{prefix\}\*)?$/.test(path))
  assert.equal(lists.length, 2)
  for (const [path] of lists) {
    const schema = answer(path, 'get')
    const list = [schema, ...(schema.anyOf ?? [])].map(resolved).find(({ type }) => type === 'array')!
    assert.deepEqual(resolved(list.items!).required, ['id'], path)
  }
})
