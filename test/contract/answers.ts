/** Form of every answer: statuses, media types, headers. */

import assert from 'node:assert/strict'
import { type Client, expect } from '../support/appliance.ts'
import type { Call } from '../support/client.ts'
import { ADMIN, as, type Check, type Look, METRICS as metrics, OPERATOR as operator, UNLOCK } from './check.ts'
import { BLOCK, ED25519, NEW_USER, SYSTEM_TIME } from './samples.ts'

/** Method, path, call, status, media type, and which of the headers of 1.3 it carries: these and no other. */
type Success = [string, string, Call, number, string | undefined, ('etag' | 'no-cache' | 'location')[]]

const TIME_MS_MAX = 600_000 // the checks take their time

/** In this order: some make what others take away. */
const successes: readonly Success[] = [
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
  ['GET', '/keys/ed/versions', as(ADMIN), 200, 'application/json', ['etag']],
  ['POST', '/keys/ed/versions', as(ADMIN), 201, 'application/json', ['location']],
  ['PUT', '/keys/ed/versions', as(ADMIN, { json: { minDecryption: 1 } }), 204, undefined, []],
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
  ['PUT', '/users/new', as(ADMIN, { json: NEW_USER }), 201, undefined, ['location']],
  ['POST', '/users', as(ADMIN, { json: NEW_USER }), 201, 'application/json', ['location']],
  ['POST', '/users/ns~', as(ADMIN, { json: NEW_USER }), 201, 'application/json', ['location']],
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
  ['GET', '/users/new/access-keys', as(ADMIN), 200, 'application/json', ['no-cache']],
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
  ...['/config/tls', '/cluster/tls'].flatMap((tls): Success[] => [
    ['GET', `${tls}/public.pem`, as(ADMIN), 200, 'application/x-pem-file', ['etag']],
    ['GET', `${tls}/cert.pem`, as(ADMIN), 200, 'application/x-pem-file', ['etag']],
    ['POST', `${tls}/csr.pem`, as(ADMIN, { json: { commonName: 'x' } }), 200, 'application/x-pem-file', ['no-cache']],
    ['POST', `${tls}/generate`, as(ADMIN, { json: { type: 'EC_P256' } }), 204, undefined, ['no-cache']],
  ]),
  ['POST', '/lock', as(ADMIN), 204, undefined, ['no-cache']],
  ['GET', '/health/alive', {}, 200, undefined, ['no-cache']],
  ['POST', '/unlock', { json: { passphrase: UNLOCK } }, 204, undefined, ['no-cache']],
]

async function checkSuccesses(appliance: Client, look: Look): Promise<void> {
  const problems: string[] = []
  for (const [method, path, call, status, type, marks] of successes) {
    const reply = await appliance.call(method, path, call)
    const what = `${method} ${path}`
    const check = (holds: boolean, text: string) => {
      if (!holds) problems.push(`${what}: ${text}`)
    }
    check(reply.status === status, `status ${reply.status} ${reply.text()}, expected ${status}`)
    if (reply.status !== status) continue
    look(reply, what)
    check(reply.headers['content-type'] === type, `content-type ${reply.headers['content-type']}, expected ${type}`)
    if (type === undefined && status !== 304) check(reply.headers['content-length'] === '0', 'content-length is not 0')
    if (type === 'application/json') reply.json()
    const noCache = reply.headers['cache-control'] === 'no-cache'
    check(noCache === marks.includes('no-cache'), `cache-control is ${reply.headers['cache-control']}`)
    const { etag, location } = reply.headers
    if (marks.includes('etag')) check(/^"[^"]+"$/.test(etag ?? ''), `etag is ${etag}`)
    else check(etag === undefined, `etag is ${etag}`)
    if (marks.includes('location')) check(/^\/api\/v1\/.*[^/]$/.test(location ?? ''), `location is ${location}`)
    else check(location === undefined, `location is ${location}`)
  }
  assert.deepEqual(problems, [])
}

/** Method, path, call, status. */
const refusals: readonly [string, string, Call, number][] = [
  ['GET', '/keys/missing', as(ADMIN), 404],
  ['GET', '/keys/.bad', as(ADMIN), 400],
  ['GET', '//nothing', as(ADMIN), 404],
  ['GET', '//index.html', as(ADMIN), 404],
  ['GET', '//api/v2/info', as(ADMIN), 404],
  ['GET', '//api/v1', as(ADMIN), 404],
  ['GET', '/config/logging2', as(ADMIN), 404],
  ['GET', '/keys', {}, 401],
  ['GET', '/namespaces', as(operator), 403],
  ['DELETE', '/keys', as(ADMIN), 405],
  ['GET', '/keys', as(ADMIN, { accept: 'text/plain' }), 406],
  ['PUT', '/keys/ed', as(ADMIN, { json: ED25519 }), 409],
  ['POST', '/provision', {}, 412],
  ['GET', `/keys?${'x'.repeat(2000)}`, as(ADMIN), 414],
  ['PUT', '/keys/x', as(ADMIN, { body: 'x' }), 415],
  ['PATCH', '/keys', {}, 501],
]

async function checkRefusals(appliance: Client, look: Look): Promise<void> {
  for (const [method, path, call, status] of refusals) {
    const reply = await appliance.call(method, path, call)
    assert.equal(reply.status, status, reply.request)
    look(reply, reply.request)
  }
}

export const answers: Check[] = [
  {
    section: '1.1, 1.3',
    name: 'successful answers carry exactly the headers that belong to them',
    run: checkSuccesses,
  },
  {
    section: '1.6',
    name: 'refusals carry a JSON message and the headers that belong to them',
    run: checkRefusals,
  },
  {
    section: '4.1, 4.2',
    name: 'the time is what provisioning has set, as the date of answers is',
    async run(appliance) {
      const { headers } = await expect(200, appliance.call('GET', '/info'))
      const { time } = (await expect(200, appliance.call('GET', '/config/time', as(ADMIN)))).json<{ time: string }>()
      for (const shown of [time, headers.date ?? time])
        assert(Math.abs(Date.parse(shown) - Date.parse(SYSTEM_TIME)) < TIME_MS_MAX, `shows ${shown}`)
    },
  },
  {
    section: '1.3',
    name: 'location of a certificate that is set is the path of the request',
    async run(appliance) {
      for (const tls of ['/config/tls', '/cluster/tls']) {
        const path = `${tls}/cert.pem`
        const body = (await expect(200, appliance.call('GET', path, as(ADMIN)))).text()
        const call = as(ADMIN, { body, type: 'application/x-pem-file' })
        const { headers } = await expect(201, appliance.call('PUT', path, call))
        assert.equal(headers.location, `/api/v1${path}`)
      }
    },
  },
  {
    section: '1.3',
    name: 'location ends in the new id',
    needs: ['processors'],
    async run(appliance) {
      const generate = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
      const key = await expect(201, appliance.call('POST', '/keys/generate', as(ADMIN, { json: generate })))
      const { id } = key.json<{ id: string }>()
      assert.match(id, /^[0-9a-f]{20}$/)
      assert.equal(key.headers.location, `/api/v1/keys/${id}`)
      const imported = await expect(201, appliance.call('POST', '/keys', as(ADMIN, { json: ED25519 })))
      assert.equal(imported.headers.location, `/api/v1/keys/${imported.json<{ id: string }>().id}`)
      const json = NEW_USER
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
    },
  },
  {
    section: '7.1',
    name: 'a second attempt within a second is 429 with retry-after 1',
    needs: ['addresses'],
    async run(appliance, look) {
      const call = { as: 'unknown:wrong passphrase', from: '127.0.0.9' }
      await expect(401, appliance.call('GET', '/keys', call))
      const reply = await expect(429, appliance.call('GET', '/keys', call))
      assert.equal(reply.headers['retry-after'], '1')
      look(reply, '429')
      // Another user from there and the same user from elsewhere are not delayed.
      await expect(200, appliance.call('GET', '/keys', { as: ADMIN, from: '127.0.0.9' }))
      await expect(401, appliance.call('GET', '/keys', { ...call, from: '127.0.0.10' }))
    },
  },
  {
    section: '7.1',
    name: '403 comes where a wrong unlock passphrase is given as the current one',
    needs: ['processors'],
    async run(appliance) {
      const json = { newPassphrase: 'another unlock passphrase', currentPassphrase: 'not this one' }
      await expect(403, appliance.call('PUT', '/config/unlock-passphrase', as(ADMIN, { json })))
      await expect(403, appliance.call('PUT', '/config/unlock-passphrase', as(ADMIN, { json })))
    },
  },
]
