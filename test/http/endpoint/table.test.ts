import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Endpoint, endpointName } from '../../../firmware/http/endpoint/endpoint.ts'
import { allowedMethods, createEndpointTable, endpointOf, splitTarget } from '../../../firmware/http/endpoint/table.ts'

const list = (...names: string[]): Endpoint[] =>
  names.map((name) => {
    const [method, path] = name.split(' ') as [Endpoint['method'], string]
    return { method, path }
  })

const table = createEndpointTable(
  ['/api', list('GET /keys', 'POST /keys', 'DELETE /keys/:id', 'GET /keys/:prefix*', 'PUT /keys/:id')],
  ['', list('GET /page')],
)

const found = (method: string, path: string) => {
  const one = endpointOf(table(path), method)
  return one && { name: endpointName(one.endpoint), params: one.params, malformed: one.malformed }
}

test('an endpoint is found by method and path, below the path of its list', () => {
  assert.deepEqual(found('POST', '/api/keys'), { name: 'POST /keys', params: {}, malformed: false })
  assert.deepEqual(found('GET', '/page'), { name: 'GET /page', params: {}, malformed: false })
  assert.deepEqual(found('PUT', '/api/keys/a%20b'), { name: 'PUT /keys/:id', params: { id: 'a b' }, malformed: false })
  assert.deepEqual(table('/keys'), [])
  assert.deepEqual(table('/api/page'), [])
})

test('of two that fit, the one that offers the method', () => {
  assert.equal(found('GET', '/api/keys/a*')?.name, 'GET /keys/:prefix*')
  assert.equal(found('DELETE', '/api/keys/a*')?.name, 'DELETE /keys/:id')
})

test('HEAD is offered where GET is, and nowhere else', () => {
  assert.equal(found('HEAD', '/api/keys')?.name, 'GET /keys')
  const [deleteOnly] = [createEndpointTable(['', list('DELETE /session')])]
  assert.equal(endpointOf(deleteOnly('/session'), 'HEAD'), undefined)
})

test('the methods of all that fit are allowed', () => {
  assert.equal(found('PATCH', '/api/keys'), undefined)
  assert.deepEqual(allowedMethods(table('/api/keys')), ['GET', 'HEAD', 'POST'])
  assert.deepEqual(allowedMethods(table('/api/keys/a*')), ['DELETE', 'GET', 'HEAD', 'PUT'])
})

test('two with one method and path are refused, in one list or in two', () => {
  assert.throws(() => createEndpointTable(['', list('GET /a', 'GET /a')]), { message: 'Declared twice: GET /a' })
  assert.throws(() => createEndpointTable(['/api', list('PUT /a')], ['', list('PUT /api/a')]), {
    message: 'Declared twice: PUT /api/a',
  })
})

test('a target is a path and a query', () => {
  assert.deepEqual(splitTarget('/a?b=1?2'), ['/a', 'b=1?2'])
  assert.deepEqual(splitTarget('/a'), ['/a', ''])
})
