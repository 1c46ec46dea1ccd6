/** What every answer looks like on the wire: headers, negotiation, methods, conditions. Contract 1.1, 1.3 to 1.6, 10. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import type { Call, Reply } from '../support/client.ts'
import { RawClient } from '../support/raw-client.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, provision, startAppliance, UNLOCK } from '../support/suite.ts'
import { AES, as, BLOCK, ED25519, SYSTEM_TIME } from './samples.ts'

let appliance: Appliance
const operator = credentialsOf('operator')
const metrics = credentialsOf('metrics')
const get = (path: string, call: Call = as(ADMIN)) => appliance.call('GET', path, call)

/** Holds for every answer of the TLS port. */
function checkAlways(reply: Pick<Reply, 'status' | 'headers'> & { bytes: Buffer }, what: string) {
  const { headers } = reply
  assert.match(String(headers['strict-transport-security']), /max-age=\d+/, what)
  assert.equal(headers['x-frame-options'], 'DENY', what)
  assert.equal(headers['x-content-type-options'], 'nosniff', what)
  assert.equal(headers['x-xss-protection'], '1; mode=block', what)
  assert.equal(headers['x-permitted-cross-domain-policies'], 'none', what)
  assert.match(String(headers.date), /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/, what)
  assert.equal(headers['transfer-encoding'], undefined, what)
  if (reply.status === 304) assert.equal(headers['content-length'], undefined, what)
  else assert.notEqual(headers['content-length'], undefined, what)
  if (reply.status === 204 || reply.status === 304) assert.equal(reply.bytes.length, 0, what)
  if (reply.status >= 400) {
    assert.equal(headers['content-type'], 'application/json', what)
    assert.equal(typeof JSON.parse(reply.bytes.toString()).message, 'string', what)
  }
}

describe('on the wire', () => {
  before(async () => {
    appliance = await startAppliance()
  })
  after(() => appliance?.dispose())

  test('provisioning answers 204 with an empty body and sets the clock that date headers show', async () => {
    await expect(200, get('/health/alive', {}))
    await provision(appliance, SYSTEM_TIME)
    const reply = await get('/info', {})
    const shown = Date.parse(reply.headers.date!)
    assert(Math.abs(shown - Date.parse(SYSTEM_TIME)) < 60_000, `date is ${reply.headers.date}`)
    for (const role of ['Operator', 'Metrics']) await addUser(appliance, role.toLowerCase(), role)
    await expect(204, appliance.call('PUT', '/keys/ed', as(ADMIN, { json: ED25519 })))
    await expect(204, appliance.call('PUT', '/keys/aes', as(ADMIN, { json: AES })))
    const certificate = { body: 'certificate', type: 'application/octet-stream' }
    await expect(201, appliance.call('PUT', '/keys/ed/cert', as(ADMIN, certificate)))
  })

  /** Success answers: status, media type, and which of the headers of 1.3 they carry. */
  const successes: [string, string, Call, number, string | undefined, ('etag' | 'no-cache' | 'location')[]][] = [
    ['GET', '/info', {}, 200, 'application/json', ['etag']],
    ['GET', '/health/ready', {}, 200, undefined, ['no-cache']],
    ['GET', '/health/state', {}, 200, 'application/json', ['no-cache']],
    ['GET', '/health/diagnose', as(ADMIN), 200, 'application/json', ['no-cache']],
    ['GET', '/metrics', as(metrics), 200, 'application/json', ['no-cache']],
    ['POST', '/random', as(operator, { json: { length: 8 } }), 200, 'application/json', ['no-cache']],
    ['GET', '/keys', as(ADMIN), 200, 'application/json', ['etag']],
    ['GET', '/keys?filter', as(ADMIN), 200, 'application/json', []],
    ['GET', '/keys/ed', as(ADMIN), 200, 'application/json', ['etag']],
    ['GET', '/keys/ed/public.pem', as(ADMIN), 200, 'application/x-pem-file', ['etag']],
    ['GET', '/keys/ed/cert', as(ADMIN), 200, 'application/octet-stream', ['etag']],
    ['POST', '/keys/ed/csr.pem', as(ADMIN, { json: { commonName: 'x' } }), 200, 'application/x-pem-file', ['no-cache']],
    [
      'POST',
      '/keys/ed/sign',
      as(operator, { json: { mode: 'EdDSA', message: BLOCK } }),
      200,
      'application/json',
      ['no-cache'],
    ],
    [
      'POST',
      '/keys/aes/encrypt',
      as(operator, { json: { mode: 'AES_CBC', message: BLOCK } }),
      200,
      'application/json',
      ['no-cache'],
    ],
    [
      'POST',
      '/keys/aes/decrypt',
      as(operator, { json: { mode: 'AES_CBC', encrypted: BLOCK, iv: BLOCK } }),
      200,
      'application/json',
      ['no-cache'],
    ],
    [
      'POST',
      '/keys/generate',
      as(ADMIN, { json: { type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id: 'generated' } }),
      201,
      'application/json',
      ['no-cache', 'location'],
    ],
    ['POST', '/keys', as(ADMIN, { json: ED25519 }), 201, 'application/json', ['location']],
    ['PUT', '/keys/put', as(ADMIN, { json: ED25519 }), 204, undefined, []],
    ['PUT', '/keys/put/label', as(ADMIN, { json: { label: 'l' } }), 204, undefined, ['no-cache']],
    ['PUT', '/keys/put/label', as(ADMIN, { json: { label: 'l' } }), 304, undefined, ['no-cache']],
    ['DELETE', '/keys/put/label', as(ADMIN), 204, undefined, ['no-cache']],
    ['PUT', '/keys/put/restrictions/tags/t', as(ADMIN), 204, undefined, ['no-cache']],
    ['PUT', '/keys/put/restrictions/tags/t', as(ADMIN), 304, undefined, ['no-cache']],
    ['DELETE', '/keys/put/restrictions/tags/t', as(ADMIN), 204, undefined, ['no-cache']],
    [
      'PUT',
      '/keys/put/cert',
      as(ADMIN, { body: 'c', type: 'application/x-pem-file' }),
      201,
      undefined,
      [], // no location
    ],
    ['DELETE', '/keys/put/cert', as(ADMIN), 204, undefined, []],
    ['POST', '/keys/put/move', as(ADMIN, { json: { newId: 'moved' } }), 200, 'application/json', ['no-cache']],
    ['DELETE', '/keys/moved', as(ADMIN), 204, undefined, []],
    ['GET', '/namespaces', as(ADMIN), 200, 'application/json', []],
    ['PUT', '/namespaces/ns', as(ADMIN), 204, undefined, []],
    ['DELETE', '/namespaces/ns', as(ADMIN), 204, undefined, []],
    ['GET', '/users', as(ADMIN), 200, 'application/json', ['etag']],
    ['GET', '/users/operator', as(ADMIN), 200, 'application/json', ['etag']],
    [
      'PUT',
      '/users/new',
      as(ADMIN, { json: { realName: 'n', role: 'Operator', passphrase: 'passphrase of new' } }),
      201,
      undefined,
      ['location'],
    ],
    [
      'POST',
      '/users',
      as(ADMIN, { json: { realName: 'n', role: 'Operator', passphrase: 'passphrase of new' } }),
      201,
      'application/json',
      ['location'],
    ],
    [
      'POST',
      '/users/ns~',
      as(ADMIN, { json: { realName: 'n', role: 'Operator', passphrase: 'passphrase of new' } }),
      201,
      'application/json',
      ['location'],
    ],
    [
      'POST',
      '/users/new/passphrase',
      as(ADMIN, { json: { passphrase: 'passphrase of new' } }),
      204,
      undefined,
      ['no-cache'],
    ],
    ['PUT', '/users/new/tags/t', as(ADMIN), 204, undefined, ['no-cache']],
    ['PUT', '/users/new/tags/t', as(ADMIN), 304, undefined, ['no-cache']],
    ['GET', '/users/new/tags', as(ADMIN), 200, 'application/json', ['no-cache']],
    ['DELETE', '/users/new/tags/t', as(ADMIN), 204, undefined, ['no-cache']],
    ['DELETE', '/users/new', as(ADMIN), 204, undefined, []],
    [
      'PUT',
      '/config/unlock-passphrase',
      as(ADMIN, { json: { newPassphrase: UNLOCK, currentPassphrase: UNLOCK } }),
      204,
      undefined,
      ['no-cache'],
    ],
    ['GET', '/config/unattended-boot', as(ADMIN), 200, 'application/json', ['etag']],
    ['PUT', '/config/unattended-boot', as(ADMIN, { json: { status: 'off' } }), 204, undefined, []],
    ['GET', '/config/time', as(ADMIN), 200, 'application/json', ['no-cache']],
    ['PUT', '/config/time', as(ADMIN, { json: { time: SYSTEM_TIME } }), 204, undefined, ['no-cache']],
    ['POST', '/lock', as(ADMIN), 204, undefined, ['no-cache']],
    ['GET', '/health/alive', {}, 200, undefined, ['no-cache']],
    ['POST', '/unlock', { json: { passphrase: UNLOCK } }, 204, undefined, ['no-cache']],
  ]

  test('successful answers carry exactly the headers that belong to them', async () => {
    const problems: string[] = []
    for (const [method, path, call, status, type, marks] of successes) {
      const reply = await appliance.call(method, path, call)
      const what = `${method} ${path}`
      const check = (holds: boolean, text: string) => {
        if (!holds) problems.push(`${what}: ${text}`)
      }
      check(reply.status === status, `status ${reply.status} ${reply.text()}, expected ${status}`)
      if (reply.status !== status) continue
      checkAlways(reply, what)
      check(reply.headers['content-type'] === type, `content-type ${reply.headers['content-type']}, expected ${type}`)
      if (type === undefined && status !== 304)
        check(reply.headers['content-length'] === '0', 'content-length is not 0')
      if (type === 'application/json') reply.json()
      const noCache = reply.headers['cache-control'] === 'no-cache'
      check(noCache === marks.includes('no-cache'), `cache-control is ${reply.headers['cache-control']}`)
      const { etag, location } = reply.headers
      if (marks.includes('etag')) check(/^"[^"]+"$/.test(etag ?? ''), `etag is ${etag}`)
      else check(etag === undefined, `etag is ${etag}`)
      if (marks.includes('location')) check(/^\/api\/v1\/.*[^/]$/.test(location ?? ''), `location is ${location}`)
      else check(location === undefined, `location is ${location}`)
      const reasons: Record<number, string> = { 200: 'OK', 201: 'Created', 204: 'No Content', 304: 'Not Modified' }
      check(reply.reason === reasons[status], `reason phrase ${reply.reason}`)
    }
    assert.deepEqual(problems, [])
  })

  test('vary names the four headers', async () => {
    const reply = await get('/keys')
    assert.equal(reply.headers.vary, 'Accept, Accept-Encoding, Accept-Charset, Accept-Language')
  })

  test('location ends in the new id', async () => {
    const generate = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
    const key = await expect(201, appliance.call('POST', '/keys/generate', as(ADMIN, { json: generate })))
    const { id } = key.json<{ id: string }>()
    assert.match(id, /^[0-9a-f]{20}$/)
    assert.equal(key.headers.location, `/api/v1/keys/${id}`)
    const imported = await expect(201, appliance.call('POST', '/keys', as(ADMIN, { json: ED25519 })))
    assert.equal(imported.headers.location, `/api/v1/keys/${imported.json<{ id: string }>().id}`)
    const json = { realName: 'n', role: 'Operator', passphrase: 'passphrase of new' }
    const user = await expect(201, appliance.call('POST', '/users', as(ADMIN, { json })))
    assert.match(user.json<{ id: string }>().id, /^[0-9a-f]{20}$/)
    assert.equal(user.headers.location, `/api/v1/users/${user.json<{ id: string }>().id}`)
    const namespaced = await expect(201, appliance.call('POST', '/users/void~', as(ADMIN, { json })))
    const namespacedId = namespaced.json<{ id: string }>().id
    assert.match(namespacedId, /^void~[0-9a-f]{20}$/)
    assert(
      [`/api/v1/users/${namespacedId}`, `/api/v1/users/${namespacedId.replace('~', '%7E')}`].includes(
        namespaced.headers.location!,
      ),
      String(namespaced.headers.location),
    )
    const put = await expect(201, appliance.call('PUT', '/users/named', as(ADMIN, { json })))
    assert.equal(put.headers.location, '/api/v1/users/named')
  })

  test('refusals carry a JSON message, the reason phrase and their own headers', async () => {
    const found: [Reply, number, string][] = [
      [await get('/keys/missing'), 404, 'Not Found'],
      [await get('/keys/.bad'), 400, 'Bad Request'],
      [await get('//nothing'), 404, 'Not Found'],
      [await get('//index.html'), 404, 'Not Found'],
      [await get('//api/v2/info'), 404, 'Not Found'],
      [await get('//api/v1'), 404, 'Not Found'],
      [await get('/config/logging2'), 404, 'Not Found'],
      [await get('/keys', {}), 401, 'Unauthorized'],
      [await get('/namespaces', as(operator)), 403, 'Forbidden'],
      [await appliance.call('DELETE', '/keys', as(ADMIN)), 405, 'Method Not Allowed'],
      [await get('/keys', as(ADMIN, { accept: 'text/plain' })), 406, 'Not Acceptable'],
      [await appliance.call('PUT', '/keys/ed', as(ADMIN, { json: ED25519 })), 409, 'Conflict'],
      [await appliance.call('POST', '/provision'), 412, 'Precondition Failed'],
      [await get(`/keys?${'x'.repeat(2000)}`), 414, 'URI Too Long'],
      [await appliance.call('PUT', '/keys/x', as(ADMIN, { body: 'x' })), 415, 'Unsupported Media Type'],
      [await appliance.call('PATCH', '/keys'), 501, 'Not Implemented'],
    ]
    for (const [reply, status, reason] of found) {
      assert.equal(reply.status, status, reply.request)
      assert.equal(reply.reason, reason, reply.request)
      checkAlways(reply, reply.request)
      assert.equal(/^Basic realm="[^"]*"/.test(reply.headers['www-authenticate'] ?? ''), status === 401, reply.request)
      assert.equal(reply.headers.allow !== undefined, status === 405, reply.request)
      assert.equal(reply.headers.etag, undefined, reply.request)
    }
  })

  test('a second attempt within a second is 429 with retry-after 1', async () => {
    const call = { as: 'whoever:wrong passphrase', from: '127.0.0.9' }
    await expect(401, get('/keys', call))
    const reply = await expect(429, get('/keys', call))
    assert.equal(reply.headers['retry-after'], '1')
    assert.equal(reply.reason, 'Too Many Requests')
    checkAlways(reply, '429')
    // Another user from there and the same user from elsewhere are not delayed.
    await expect(200, get('/keys', { as: ADMIN, from: '127.0.0.9' }))
    await expect(401, get('/keys', { ...call, from: '127.0.0.10' }))
  })

  test('403 comes where a wrong unlock passphrase is given as the current one', async () => {
    const json = { newPassphrase: 'another unlock passphrase', currentPassphrase: 'not this one' }
    await expect(403, appliance.call('PUT', '/config/unlock-passphrase', as(ADMIN, { json })))
    await expect(403, appliance.call('PUT', '/config/unlock-passphrase', as(ADMIN, { json })))
  })

  test('an answer to bytes that are no request is still one of ours', async () => {
    const raw = await RawClient.connect(appliance)
    await raw.send('this is not http\r\n\r\n')
    const answer = (await raw.answers(1))[0]!
    assert.equal(answer.status, 400)
    checkAlways({ status: answer.status, headers: answer.headers, bytes: answer.bytes }, 'not http')
    await raw.closed(5000)
    raw.destroy()
  })
})
