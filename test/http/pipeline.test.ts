/** The pipeline without sockets: routes, methods, access, negotiation, conditions, results and errors. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { encodeBase64 } from '../../firmware/base/base64.ts'
import { STATES } from '../../firmware/base/states.ts'
import { basic, sampleApi } from './sample-api.ts'

const admin = { authorization: basic('admin') }
const operator = { authorization: basic('operator') }
const json = { ...admin, 'content-type': 'application/json' }

test('an answer has exactly the content type application/json and its length', async () => {
  const response = await sampleApi().app.request('/api/v1/info')
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'application/json')
  assert.equal(response.headers.get('content-length'), '17')
  assert.deepEqual(await response.json(), { vendor: 'Test' })
})

test('empty answers say content-length 0, and 304 says none', async () => {
  const { app } = sampleApi()
  const ready = await app.request('/api/v1/health/ready')
  assert.deepEqual([ready.status, ready.headers.get('content-length')], [200, '0'])
  const tag = await app.request('/api/v1/keys/k/tags/new', { method: 'PUT', headers: admin })
  assert.deepEqual([tag.status, tag.headers.get('content-length')], [204, '0'])
  const same = await app.request('/api/v1/keys/k/tags/there', { method: 'PUT', headers: admin })
  assert.deepEqual([same.status, same.headers.get('content-length')], [304, null])
  const created = await app.request('/api/v1/keys/k/cert', {
    method: 'PUT',
    headers: { ...admin, 'content-type': 'application/octet-stream' },
    body: 'x',
  })
  assert.deepEqual([created.status, created.headers.get('content-length')], [201, '0'])
  assert.equal(created.headers.get('content-type'), null)
})

test('a created resource is pointed at by a path-absolute location', async () => {
  const { app } = sampleApi()
  const response = await app.request('/api/v1/keys/generate', { method: 'POST', headers: json, body: '{"id":"new"}' })
  assert.equal(response.status, 201)
  assert.equal(response.headers.get('location'), '/api/v1/keys/new')
  assert.equal(response.headers.get('cache-control'), 'no-cache')
  assert.deepEqual(await response.json(), { id: 'new' })
})

test('paths outside the API, and unknown ones in it, are 404', async () => {
  const { app } = sampleApi()
  for (const path of [
    '//',
    '/api',
    '/api/v1',
    '/api/v1/',
    '/api/v1/keys/',
    '/api/v1/keys/k/',
    '/api/v1//keys',
    '/api/v2/info',
    '/api/v1/info/x',
    '/keys',
    `/api/v1${'/a'.repeat(40)}`,
  ]) {
    const response = await app.request(path)
    assert.equal(response.status, 404, path)
    assert.deepEqual(Object.keys((await response.json()) as object), ['message'])
  }
})

test('HEAD is GET without the body, and not offered where GET is not', async () => {
  const { app } = sampleApi()
  const response = await app.request('/api/v1/info', { method: 'HEAD' })
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-length'), '17')
  assert.equal(await response.text(), '')
  const refused = await app.request('/api/v1/keys/generate', { method: 'HEAD', headers: admin })
  assert.equal(refused.status, 405)
})

test('a known method that is not offered is 405 with allow, an unknown one 501', async () => {
  const { app } = sampleApi()
  const response = await app.request('/api/v1/keys/k', { method: 'POST' })
  assert.equal(response.status, 405)
  assert.equal(response.headers.get('allow'), 'DELETE, GET, HEAD, PUT')
  assert.equal((await app.request('/api/v1/keys/k', { method: 'OPTIONS' })).status, 405)
  assert.equal((await app.request('/api/v1/keys/k', { method: 'PATCH' })).status, 501)
  assert.equal((await app.request('/api/v1/keys/k', { method: 'PROPFIND' })).status, 501)
})

test('where nothing is available in this state, any method is 412', async () => {
  const { app, sample } = sampleApi()
  sample.state = 'Locked'
  for (const method of ['GET', 'POST', 'PATCH', 'OPTIONS', 'DELETE']) {
    const response = await app.request('/api/v1/keys/k', { method })
    assert.equal(response.status, 412, method)
    assert.deepEqual(await response.json(), { message: 'Service not available' })
  }
  assert.equal((await app.request('/api/v1/info', { method: 'PATCH' })).status, 501)
})

test('a literal segment hides a parameter in its place', async () => {
  const { app } = sampleApi()
  const response = await app.request('/api/v1/keys/generate', { headers: admin })
  assert.equal(response.status, 405)
  assert.equal(response.headers.get('allow'), 'POST')
  assert.equal((await app.request('/api/v1/keys/gener%61te', { headers: admin })).status, 405)
})

test('a path ending in * lists by prefix, encoded or not, and is no key for other methods', async () => {
  const { app, sample } = sampleApi()
  sample.keys.set('kitchen', 'two').set('other', 'three')
  for (const path of ['/api/v1/keys/k*', '/api/v1/keys/k%2A', '/api/v1/keys/%6b%2a']) {
    const response = await app.request(path, { headers: operator })
    assert.deepEqual(await response.json(), [{ id: 'k' }, { id: 'kitchen' }], path)
  }
  assert.equal((await app.request('/api/v1/keys/*', { headers: operator })).status, 400)
  assert.equal((await app.request('/api/v1/keys/k**', { headers: operator })).status, 400)
  assert.equal((await app.request('/api/v1/keys/k*', { method: 'DELETE', headers: admin })).status, 400)
})

test('a path ending in ~ is a namespace for POST and a malformed user for GET', async () => {
  const { app } = sampleApi()
  for (const path of ['/api/v1/users/ns~', '/api/v1/users/ns%7E']) {
    const response = await app.request(path, { method: 'POST', headers: admin })
    assert.deepEqual(await response.json(), { id: 'ns~new' }, path)
  }
  assert.equal((await app.request('/api/v1/users/ns~', { headers: admin })).status, 400)
  assert.equal((await app.request('/api/v1/users/ns', { method: 'POST', headers: admin })).status, 400)
  assert.equal((await app.request('/api/v1/users/~', { method: 'POST', headers: admin })).status, 400)
  const read = await app.request('/api/v1/users/ns%7Ename', { headers: admin })
  assert.deepEqual(await read.json(), { user: 'ns~name' })
})

test('a segment is decoded once, and a bad encoding is a malformed id', async () => {
  const { app } = sampleApi()
  for (const name of [
    '%',
    '%zz',
    '%ff',
    '%25',
    '%2525',
    'a%00',
    'a%2Fb',
    '%E2%82',
    '-k',
    '.k',
    'k%20',
    '%C3%A4',
    'a'.repeat(129),
  ]) {
    const response = await app.request(`/api/v1/keys/${name}`, { headers: admin })
    assert.equal(response.status, 400, name)
  }
  assert.equal((await app.request(`/api/v1/keys/${'a'.repeat(128)}`, { headers: admin })).status, 404)
  assert.equal((await app.request('/api/v1/keys/%6B', { headers: admin })).status, 200)
})

test('roles, scope, targets and missing namespaces are refused with 403', async () => {
  const { app } = sampleApi()
  const time = (user: string) =>
    app.request('/api/v1/config/time', {
      method: 'PUT',
      headers: { authorization: basic(user), 'content-type': 'application/json' },
      body: '{"time":"2024-01-01T00:00:00Z"}',
    })
  assert.equal((await time('admin')).status, 204)
  assert.equal((await time('operator')).status, 403)
  assert.equal((await time('ns~admin')).status, 403)
  const list = (user: string) => app.request('/api/v1/keys', { headers: { authorization: basic(user) } })
  assert.equal((await list('ns~admin')).status, 200)
  assert.equal((await list('gone~admin')).status, 403)
  assert.equal((await list('metrics')).status, 403)
  assert.equal((await app.request('/api/v1/users/operator', { headers: operator })).status, 200)
  assert.equal((await app.request('/api/v1/users/admin', { headers: operator })).status, 403)
  // The target is judged before its syntax is.
  assert.equal((await app.request('/api/v1/users/-', { headers: operator })).status, 403)
})

test('an endpoint that is public in a state ignores credentials there', async () => {
  const { app, sample } = sampleApi()
  const restore = (headers: Record<string, string>) =>
    app.request('/api/v1/system/restore', { method: 'POST', headers, body: 'abc' })
  assert.equal((await restore({})).status, 401)
  sample.state = 'Unprovisioned'
  assert.equal((await restore({})).status, 204)
  assert.equal((await restore({ authorization: basic('admin', 'wrong one') })).status, 204)
  assert.equal(sample.verifications, 0)
  assert.deepEqual(sample.calls, ['restore by anyone: 3', 'restore by anyone: 3'])
})

test('missing, unparsable and wrong credentials are 401 with a challenge; only wrong ones count and are logged', async () => {
  const { app, sample, entries } = sampleApi()
  const get = (authorization?: string) =>
    app.request('/api/v1/keys', { headers: authorization === undefined ? {} : { authorization } })
  for (const header of [undefined, 'Basic', 'Basic !', 'Bearer x', basic('a b'), basic('-')]) {
    const response = await get(header)
    assert.equal(response.status, 401)
    assert.match(response.headers.get('www-authenticate') ?? '', /^Basic realm="[^"]+"$/)
  }
  assert.equal(sample.verifications, 0)
  assert.equal((await get(basic('admin', 'guess number 1'))).status, 401)
  const limited = await get(basic('admin'))
  assert.equal(limited.status, 429)
  assert.equal(limited.headers.get('retry-after'), '1')
  assert.equal(sample.verifications, 1)
  assert.equal((await get(basic('operator'))).status, 200)
  sample.nowMs += 1000
  assert.equal((await get(basic('admin'))).status, 200)
  const warnings = entries.filter(({ level }) => level === 'warning')
  assert.equal(warnings.length, 1)
  assert.match(warnings[0]!.message, /admin/)
  assert.doesNotMatch(JSON.stringify(entries), /guess|YWRtaW4/)
})

test('the passphrase is bytes, and is wiped after it was verified', async () => {
  const seen: Uint8Array[] = []
  const { app } = sampleApi({
    authenticate: async (_user, passphrase) => {
      assert.deepEqual([...passphrase], [0xff, 0x3a, 0x00])
      seen.push(passphrase)
      return null
    },
  })
  const authorization = `Basic ${encodeBase64(new Uint8Array([0x61, 0x3a, 0xff, 0x3a, 0x00]))}`
  assert.equal((await app.request('/api/v1/keys', { headers: { authorization } })).status, 401)
  assert.deepEqual(
    seen.map((bytes) => [...bytes]),
    [[0, 0, 0]],
  )
})

test('unlock is limited per address: a wrong passphrase and a failing body count, unparsable JSON does not', async () => {
  const { app, sample } = sampleApi()
  sample.state = 'Locked'
  const unlock = (body: string) => app.request('/api/v1/unlock', { method: 'POST', body })
  const statuses = async (...bodies: string[]) => {
    const all: number[] = []
    for (const body of bodies) all.push((await unlock(body)).status)
    sample.nowMs += 1000
    return all
  }
  const right = '{"passphrase":"right passphrase"}'
  assert.deepEqual(await statuses(right, right), [204, 204])
  assert.deepEqual(await statuses('{"passphrase":"wrong passphrase"}', right, '{}}}'), [403, 429, 429])
  assert.deepEqual(await statuses('{"passphrase":"short"}', right), [400, 429])
  assert.deepEqual(await statuses('{}}}', '', right), [400, 400, 204])
})

test('of unlock attempts that come together, one wrong guess blocks the rest', async () => {
  const { app, sample } = sampleApi()
  sample.state = 'Locked'
  const unlock = (passphrase: string) =>
    app.request('/api/v1/unlock', { method: 'POST', body: JSON.stringify({ passphrase }) })
  const answers = await Promise.all(['wrong guess 1', 'wrong guess 2', 'right passphrase'].map(unlock))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [403, 429, 429])
})

test('creating requests must name the content type, with or without parameters; others need not', async () => {
  const { app } = sampleApi()
  const put = (type: string | undefined) =>
    app.request('/api/v1/keys/new', {
      method: 'PUT',
      headers: type === undefined ? admin : { ...admin, 'content-type': type },
      body: new TextEncoder().encode('{"text":"x"}'),
    })
  assert.equal((await put('application/json')).status, 204)
  assert.equal((await put('Application/JSON; charset=utf-8')).status, 204)
  assert.equal((await put('text/plain')).status, 415)
  assert.equal((await put('application/jsonx')).status, 415)
  assert.equal((await put(undefined)).status, 415)
  const sign = await app.request('/api/v1/keys/k/sign', {
    method: 'POST',
    headers: { ...operator, 'content-type': 'text/plain' },
    body: '{"mode":"EdDSA","message":""}',
  })
  assert.equal(sign.status, 200)
})

test('declared and chunked bodies over the limit are 413, those at the limit are read', async () => {
  const { app } = sampleApi()
  const post = (body: ReadableStream | Uint8Array<ArrayBuffer>) =>
    app.request('/api/v1/keys/k/cert', {
      method: 'PUT',
      headers: { ...admin, 'content-type': 'application/octet-stream' },
      body,
      duplex: 'half',
    } as RequestInit)
  const chunked = (bytes: number) =>
    new ReadableStream({
      start(controller) {
        for (let sent = 0; sent < bytes; sent += 65536)
          controller.enqueue(new Uint8Array(Math.min(65536, bytes - sent)))
        controller.close()
      },
    })
  assert.equal((await post(new Uint8Array(1024 * 1024))).status, 201)
  assert.equal((await post(chunked(1024 * 1024))).status, 201)
  assert.equal((await post(chunked(1024 * 1024 + 1))).status, 413)
})

test('bodies are ignored where none is used', async () => {
  const { app } = sampleApi()
  const response = await app.request('/api/v1/keys/k', { method: 'DELETE', headers: admin, body: '{}}}' })
  assert.equal(response.status, 204)
})

test('accept is compared with what the endpoint produces, but for empty answers', async () => {
  const { app } = sampleApi()
  const get = (path: string, accept: string) => app.request(`/api/v1${path}`, { headers: { ...admin, accept } })
  assert.equal((await get('/keys', 'text/html, application/json;q=0.1')).status, 200)
  assert.equal((await get('/keys', 'application/json;q=0, */*')).status, 406)
  assert.equal((await get('/health/ready', 'image/png')).status, 200)
  const refused = await get('/keys', 'text/html')
  assert.equal(refused.status, 406)
  assert.equal(refused.headers.get('content-type'), 'application/json')
})

test('with several types, accept chooses; otherwise the type of the resource is sent', async () => {
  const { app } = sampleApi()
  const type = async (accept: string) => {
    const response = await app.request('/api/v1/keys/k/cert', { headers: { ...admin, accept } })
    assert.deepEqual([...(await response.bytes())], response.status === 200 ? [1, 2, 3] : [...(await response.bytes())])
    return response.headers.get('content-type')
  }
  assert.equal(await type('*/*'), 'application/octet-stream')
  assert.equal(await type('application/octet-stream, application/json'), 'application/octet-stream')
  assert.equal(await type('application/x-pem-file'), 'application/x-pem-file')
})

test('conditional requests follow the etag of the resource', async () => {
  const { app, sample } = sampleApi()
  const send = async (method: string, path: string, headers: Record<string, string>) => {
    const body = method === 'PUT' ? '{"text":"two"}' : undefined
    const response = await app.request(`/api/v1${path}`, {
      method,
      headers: { ...json, ...headers },
      body: body ?? null,
    })
    return response.status
  }
  const read = await app.request('/api/v1/keys/k', { headers: admin })
  const etag = read.headers.get('etag')!
  assert.match(etag, /^"[\x21\x23-\x7e]+"$/)
  assert.equal(await send('GET', '/keys/k', { 'if-none-match': etag }), 304)
  assert.equal(await send('HEAD', '/keys/k', { 'if-none-match': `"x", W/${etag}` }), 304)
  assert.equal(await send('GET', '/keys/k', { 'if-none-match': '"x"' }), 200)
  assert.equal(await send('GET', '/keys/k', { 'if-modified-since': 'Sat, 01 Jan 2050 00:00:00 GMT' }), 200)
  assert.equal(await send('PUT', '/keys/k', { 'if-none-match': '*' }), 412)
  assert.equal(await send('PUT', '/keys/none', { 'if-match': '*' }), 412)
  assert.equal(await send('PUT', '/keys/none', { 'if-match': etag }), 412)
  assert.equal(await send('GET', '/keys/none', { 'if-match': '*' }), 404)
  assert.equal(await send('PUT', '/keys/k', { 'if-match': `W/${etag}` }), 412)
  assert.equal(await send('PUT', '/keys/k', { 'if-match': etag }), 204)
  assert.equal(await send('PUT', '/keys/k', { 'if-match': etag }), 412)
  assert.equal(await send('PUT', '/keys/fresh', { 'if-none-match': '*' }), 204)
  assert.equal(await send('DELETE', '/keys/fresh', { 'if-match': '*' }), 204)
  assert.equal(await send('PUT', '/config/time', { 'if-match': '"x"' }), 412)
  assert.equal(sample.keys.get('k'), 'two')
  const missed = await app.request('/api/v1/keys/k', { headers: { ...admin, 'if-none-match': '*' } })
  assert.deepEqual([missed.status, missed.headers.has('etag')], [304, true])
})

test('query values are decoded, the last of a name wins, and a bad encoding is 400', async () => {
  const { app, sample } = sampleApi()
  const list = async (query: string) => (await app.request(`/api/v1/keys?${query}`, { headers: admin })).status
  assert.equal(await list('filter&label=a+b%C3%BC&label=z%20&unknown=1&&='), 200)
  assert.equal(await list('label=%ff'), 400)
  assert.equal(await list('label=%'), 400)
  assert.equal(await list(`label=${'x'.repeat(33)}`), 400)
  assert.equal(await list('__proto__=1&constructor=2'), 200)
  assert.deepEqual(sample.calls, ['list {"filter":"","label":"z "}', 'list {}'])
})

test('faults are 500 and 503, and no message of an unexpected exception leaves or is logged', async () => {
  const { app, entries } = sampleApi()
  const fault = async (body: string) => {
    const response = await app.request('/api/v1/fault', { method: 'POST', body })
    return { status: response.status, retry: response.headers.get('retry-after'), text: await response.text() }
  }
  assert.deepEqual(await fault('storage'), { status: 500, retry: null, text: '{"message":"The disk is full"}' })
  assert.deepEqual(await fault('busy'), { status: 503, retry: '1', text: '{"message":"Try again"}' })
  assert.deepEqual(await fault('hunter2'), { status: 503, retry: null, text: '{"message":"Internal error"}' })
  const errors = entries.filter(({ level }) => level === 'error').map(({ message }) => message)
  assert.equal(errors.length, 2)
  assert.match(errors[0]!, /storage: The disk is full/)
  assert.match(errors[1]!, /TypeError at .*sample-api\.ts/)
  assert.doesNotMatch(JSON.stringify(entries), /hunter2/)
})

test('the documents are there in every state', async () => {
  for (const state of STATES) {
    const { app, sample } = sampleApi()
    sample.state = state
    for (const path of ['/api/v1/openapi.json', '/api/v1/openapi.yaml', '/api/v1/api.raml', '/docs']) {
      assert.equal((await app.request(path)).status, 200, `${state} ${path}`)
    }
  }
})

test('a page of somebody else changes nothing: a cross-site request is 403, whatever credentials a browser adds', async () => {
  const { app, sample } = sampleApi()
  const host = { host: 'coffer.example:8443' }
  const post = (headers: Record<string, string>, path = '/system/restore') =>
    app.request(`/api/v1${path}`, {
      method: 'POST',
      headers: { ...admin, ...host, 'content-type': 'application/octet-stream', ...headers },
      body: 'x',
    })
  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'anything' },
    { 'sec-fetch-site': 'cross-site', origin: 'https://coffer.example:8443' },
    { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
    ...[
      'https://evil.example',
      'null',
      '',
      'https://coffer.example',
      'https://coffer.example:8444',
      'http://coffer.example:8443',
      'https://coffer.example:8443.evil.example',
      'https://coffer.example:8443@evil.example',
      'https://evil.example/https://coffer.example:8443',
      'coffer.example:8443',
      'https://coffer.example:8443, https://evil.example',
    ].map((origin) => ({ origin })),
    { origin: 'https://', host: '' },
  ]
  for (const headers of foreign) assert.equal((await post(headers)).status, 403, JSON.stringify(headers))
  for (const headers of foreign) {
    sample.state = 'Unprovisioned' // public then
    assert.equal((await post({ ...headers, authorization: '' })).status, 403)
    sample.state = 'Operational'
  }
  assert.equal(sample.verifications, 0, 'no credentials are tried')
  assert.deepEqual(sample.calls, [])
  const own: Record<string, string>[] = [
    {},
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin', origin: 'https://coffer.example:8443' },
    { origin: 'https://Coffer.example:8443' },
    { origin: 'https://coffer.example', host: 'coffer.example:443' },
    { origin: 'https://coffer.example:443', host: 'coffer.example' },
    { origin: 'https://[2001:db8::1]:8443', host: '[2001:DB8::1]:8443' },
  ]
  for (const headers of own) assert.equal((await post(headers)).status, 204, JSON.stringify(headers))
  assert.equal((await app.request('/api/v1/info', { headers: foreign[0]! })).status, 200, 'reading is for everybody')
})

test('where a page stands comes after what exists, and before who asks', async () => {
  const { app, sample, limiter } = sampleApi()
  const headers = { 'sec-fetch-site': 'cross-site', authorization: basic('admin', 'wrong') }
  const status = async (method: string, path: string) =>
    (await app.request(`/api/v1${path}`, { method, headers })).status
  assert.equal(await status('POST', '/nothing'), 404)
  assert.equal(await status('POST', '/unlock'), 412)
  assert.equal(await status('PATCH', '/keys'), 501)
  assert.equal(await status('POST', '/keys'), 405)
  assert.equal(await status('DELETE', '/keys/k'), 403)
  assert.equal(limiter.size, 0)
  sample.state = 'Locked'
  assert.equal(await status('POST', '/unlock'), 403)
})
