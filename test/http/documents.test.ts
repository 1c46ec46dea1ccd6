/** The API documents: valid, complete, and saying who may do what when. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { parse } from 'yaml'
import type { OpenApi } from '../../firmware/kms/documents/openapi.ts'
import { declarations, sampleApi } from './sample-api.ts'

const fetchText = async (path: string): Promise<string> => (await sampleApi().app.request(path)).text()
const fetchOpenApi = async (): Promise<OpenApi> => JSON.parse(await fetchText('/api/v1/openapi.json'))

test('the OpenAPI document is valid, and the same in JSON and YAML', async () => {
  const document = await fetchOpenApi()
  const result = await new Validator().validate(structuredClone(document) as object as Record<string, unknown>)
  assert.deepEqual(result, { valid: true })
  assert.deepEqual(parse(await fetchText('/api/v1/openapi.yaml')), document)
  // YAML 1.1 reads an unquoted `on` as a boolean and a date as a time.
  assert.deepEqual(parse(await fetchText('/api/v1/openapi.yaml'), { schema: 'yaml-1.1' }), document)
})

test('every declaration is an operation with its states, roles, scope and errors', async () => {
  const { paths } = await fetchOpenApi()
  const operations = Object.values(paths).flatMap((item) => Object.values(item))
  assert.equal(operations.length, declarations.length)
  assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, declarations.length)
  const sign = paths['/keys/{id}/sign']?.post
  assert.deepEqual(sign?.['x-states'], ['Operational'])
  assert.deepEqual(sign?.['x-roles'], ['Operator'])
  assert.equal(sign?.['x-scope'], 'any')
  assert.match(sign?.description ?? '', /States: Operational\. Roles: Operator/)
  assert.deepEqual(sign?.security, [{ basic: [] }])
  assert.deepEqual(Object.keys(sign?.responses ?? {}), ['200', '400', '401', '403', '404', '406', '412', '413', '429'])
  const restore = paths['/system/restore']?.post
  assert.deepEqual(restore?.['x-public-in'], ['Unprovisioned'])
  assert.deepEqual(restore?.security, [{}, { basic: [] }])
  assert.ok(paths['/keys/{prefix}*']?.get)
  assert.ok(paths['/users/{namespace}~']?.post)
  assert.deepEqual(paths['/info']?.get?.security, [])
})

test('every reference in the OpenAPI document leads somewhere', async () => {
  const document = await fetchOpenApi()
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target!)
  assert.ok(references.length > 10)
  for (const reference of references) {
    const [, , kind, name] = reference.split('/')
    assert.equal(kind, 'schemas', reference)
    assert.ok(document.components.schemas[name!], reference)
  }
})

test('the RAML document has every method with states and roles, and every type it names', async () => {
  const text = await fetchText('/api/v1/api.raml')
  assert.ok(text.startsWith('#%RAML 1.0\n'))
  const document = parse(text, { schema: 'yaml-1.1' }) as Record<string, Record<string, Record<string, unknown>>>
  const resources = Object.entries(document).filter(([name]) => name.startsWith('/'))
  const methods = resources.flatMap(([, resource]) =>
    Object.entries(resource).filter(([name]) => ['get', 'post', 'put', 'delete'].includes(name)),
  )
  assert.equal(methods.length, declarations.length)
  for (const [, method] of methods) assert.ok(method['(states)'] && method['(roles)'])
  const builtin = /^(any|object|array|string|number|integer|boolean|nil|file|datetime|string\[\])$/
  for (const [, name] of text.matchAll(/^ +type: "?([^"\n]+)"?$/gm)) {
    for (const member of name!.split(' | ')) {
      assert.ok(builtin.test(member) || member === 'Basic Authentication' || document.types?.[member], member)
    }
  }
})

test('the page needs no script and loads nothing', async () => {
  const { app } = sampleApi()
  const response = await app.request('/docs', { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
  const page = await response.text()
  assert.match(response.headers.get('content-type') ?? '', /^text\/html/)
  assert.match(page, /content="default-src &#39;none&#39;; style-src &#39;sha256-/)
  const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] ?? ''
  assert.ok(page.includes(createHash('sha256').update(style).digest('base64')))
  assert.doesNotMatch(page, /<script|<img|<link|<iframe|\ssrc=|\son\w+=|style="|@import|url\(/i)
  assert.doesNotMatch(page, /href="(?!#|\/api\/v1\/)/)
  const text = page.replace(/<\/?code>/g, '`')
  for (const { summary } of declarations) assert.ok(text.includes(summary), summary)
  assert.match(page, /States: Operational\. Roles: Operator/)
  assert.doesNotMatch(page, /\[object Object\]|undefined/)
})

test('the documents answer conditional requests', async () => {
  const { app } = sampleApi()
  const etag = (await app.request('/docs')).headers.get('etag')!
  assert.equal((await app.request('/docs', { headers: { 'if-none-match': etag } })).status, 304)
})
