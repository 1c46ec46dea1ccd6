/** Methods, media types and conditions: contract 1.4 and 1.5. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import type { Call } from '../support/client.ts'
import { ADMIN, type Appliance, addUser, BASE, credentialsOf, startProvisioned, UNLOCK } from '../support/suite.ts'
import { AES, as, BLOCK, ED25519, SYSTEM_TIME } from './samples.ts'

let appliance: Appliance
const operator = credentialsOf('operator')
const get = (path: string, call: Call = as(ADMIN)) => appliance.call('GET', path, call)

describe('negotiation', () => {
  before(async () => {
    appliance = await startProvisioned()
    await addUser(appliance, 'operator', 'Operator')
    await expect(204, appliance.call('PUT', '/keys/ed', as(ADMIN, { json: ED25519 })))
    await expect(204, appliance.call('PUT', '/keys/aes', as(ADMIN, { json: AES })))
    const certificate = { body: 'certificate', type: 'application/octet-stream' }
    await expect(201, appliance.call('PUT', '/keys/ed/cert', as(ADMIN, certificate)))
  })
  after(() => appliance?.dispose())

  describe('methods', () => {
    test('405 names what is offered', async () => {
      const allow = async (method: string, path: string) =>
        (await expect(405, appliance.call(method, path, as(ADMIN)))).headers
          .allow!.split(/\s*,\s*/)
          .filter((name) => name !== 'OPTIONS')
          .sort()
      assert.deepEqual(await allow('DELETE', '/keys'), ['GET', 'HEAD', 'POST'])
      assert.deepEqual(await allow('POST', '/keys/ed'), ['DELETE', 'GET', 'HEAD', 'PUT'])
      assert.deepEqual(await allow('GET', '/keys/ed/sign'), ['POST'])
      assert.deepEqual(await allow('OPTIONS', '/keys/ed/sign'), ['POST'])
      assert.deepEqual(await allow('TRACE', '/info'), ['GET', 'HEAD'])
      assert.deepEqual(await allow('HEAD', '/random'), ['POST'])
    })

    test('HEAD answers as GET does, without the body', async () => {
      for (const path of ['/info', '/health/state', '/keys', '/keys/ed', '/keys/ed/public.pem', '/keys/ed/cert']) {
        const full = await get(path)
        const head = await expect(200, appliance.call('HEAD', path, as(ADMIN)))
        assert.equal(head.bytes.length, 0)
        for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'vary']) {
          assert.equal(head.headers[name], full.headers[name], `${path} ${name}`)
        }
      }
      await expect(401, appliance.call('HEAD', '/keys'))
      await expect(404, appliance.call('HEAD', '/keys/missing', as(ADMIN)))
    })

    test('the target may have 2000 characters and no more', async () => {
      const base = `${BASE}/keys?label=`
      const rest = 2000 - base.length
      // A label of that length is none: 400, but the target is read.
      assert.notEqual((await get(`/keys?label=${'x'.repeat(rest)}`)).status, 414)
      await expect(414, get(`/keys?label=${'x'.repeat(rest + 1)}`))
    })
  })

  describe('media types', () => {
    test('accept is matched against the one type of the endpoint', async () => {
      const status = async (path: string, accept: string | string[]) =>
        (await get(path, as(ADMIN, { headers: { accept } }))).status
      for (const accept of [
        'application/json',
        '*/*',
        'application/*',
        'text/plain, application/json',
        'text/plain;q=0.9, */*;q=0.1',
        'APPLICATION/JSON',
        ['text/plain', 'application/json'],
        'application/octet-stream,application/json;q=0.5',
      ]) {
        assert.equal(await status('/keys', accept), 200, String(accept))
      }
      for (const accept of ['text/plain', 'application/x-pem-file', 'text/*', 'application/jso']) {
        assert.equal(await status('/keys', accept), 406, accept)
      }
      assert.equal(await status('/keys/ed/public.pem', 'application/x-pem-file'), 200)
      assert.equal(await status('/keys/ed/public.pem', 'application/x-pem-file, application/json'), 200)
      assert.equal(await status('/keys/ed/public.pem', 'application/json'), 406)
    })

    test('what a published client sends where nothing is answered is accepted', async () => {
      for (const accept of ['application/json', undefined, '*/*']) {
        const headers: Record<string, string> = accept === undefined ? {} : { accept }
        await expect(204, appliance.call('DELETE', '/keys/ed/label', as(ADMIN, { headers })))
      }
    })

    test('encodings, languages and charsets are ignored', async () => {
      const headers = {
        'accept-encoding': 'gzip, br;q=1, identity;q=0',
        'accept-language': 'tlh',
        'accept-charset': 'utf-16',
      }
      const reply = await expect(200, get('/keys', as(ADMIN, { headers })))
      assert.equal(reply.headers['content-encoding'], undefined)
      reply.json()
    })

    test('requests that create something need the right content type, in any case and with parameters', async () => {
      const user = { realName: 'n', role: 'Operator', passphrase: 'passphrase of new' }
      const generate = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
      const creating: [string, string, unknown, number][] = [
        ['POST', '/keys', ED25519, 201],
        ['POST', '/keys/generate', generate, 201],
        ['PUT', '/keys/typed1', ED25519, 204],
        ['POST', '/users', user, 201],
        ['POST', '/users/void~', user, 201],
        ['PUT', '/users/typed1', user, 201],
        ['PUT', '/config/time', { time: SYSTEM_TIME }, 204],
        ['PUT', '/config/unattended-boot', { status: 'off' }, 204],
        ['PUT', '/config/unlock-passphrase', { newPassphrase: UNLOCK, currentPassphrase: UNLOCK }, 204],
      ]
      for (const [method, path, value, status] of creating) {
        const body = JSON.stringify(value)
        for (const type of [
          'text/plain',
          'application/octet-stream',
          'application/x-www-form-urlencoded',
          'json',
          '',
        ]) {
          await expect(415, appliance.call(method, path, as(ADMIN, { body, headers: { 'content-type': type } })))
        }
        await expect(415, appliance.call(method, path, as(ADMIN, { body })))
        await expect(status, appliance.call(method, path, as(ADMIN, { body, type: 'Application/JSON; charset=utf-8' })))
      }
      const label = as(ADMIN, { body: '{"label":"x"}', type: 'text/plain' })
      await expect(415, appliance.call('PUT', '/keys/ed/label', label)) // a PUT with a body
      for (const type of ['application/json', 'text/plain']) {
        await expect(415, appliance.call('PUT', '/keys/aes/cert', as(ADMIN, { body: 'c', type })))
      }
    })

    test('other requests are read whatever their content type', async () => {
      for (const type of ['text/plain', 'application/octet-stream', 'application/json; charset=utf-8', undefined]) {
        const call = (value: unknown): Call => {
          const body = JSON.stringify(value)
          return as(operator, type === undefined ? { body } : { body, type })
        }
        await expect(200, appliance.call('POST', '/random', call({ length: 1 })))
        await expect(200, appliance.call('POST', '/keys/ed/sign', call({ mode: 'EdDSA', message: BLOCK })))
        await expect(200, appliance.call('POST', '/keys/aes/encrypt', call({ mode: 'AES_CBC', message: BLOCK })))
        await expect(200, appliance.call('POST', '/keys/ed/csr.pem', call({ commonName: 'x' })))
        await expect(
          204,
          appliance.call(
            'POST',
            '/users/operator/passphrase',
            call({ passphrase: operator.slice('operator:'.length) }),
          ),
        )
      }
    })

    test('bodies that nobody reads are ignored', async () => {
      for (const call of [
        { body: '', type: 'application/json' },
        { body: '{}', type: 'application/json' },
        { body: 'anything', type: 'text/plain' },
        { body: '{}}}' },
      ] as Call[]) {
        await expect(204, appliance.call('PUT', '/namespaces/ns', as(ADMIN, call)))
        await expect(204, appliance.call('DELETE', '/namespaces/ns', as(ADMIN, call)))
        await expect(204, appliance.call('PUT', '/keys/ed/restrictions/tags/t', as(ADMIN, call)))
        await expect(204, appliance.call('DELETE', '/keys/ed/restrictions/tags/t', as(ADMIN, call)))
        await expect(204, appliance.call('PUT', '/users/operator/tags/t', as(ADMIN, call)))
        await expect(204, appliance.call('DELETE', '/users/operator/tags/t', as(ADMIN, call)))
        await expect(204, appliance.call('POST', '/lock', as(ADMIN, call)))
        await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
        await expect(200, get('/keys', as(ADMIN, call)))
      }
    })
  })

  describe('conditions', () => {
    const conditional = (method: string, path: string, headers: Record<string, string>, call: Call = {}) =>
      appliance.call(method, path, as(ADMIN, { ...call, headers }))

    test('if-none-match answers 304 to reads and 412 to writes', async () => {
      const paths = ['/info', '/users', '/users/admin', '/keys', '/keys/ed', '/keys/ed/public.pem', '/keys/ed/cert']
      for (const path of [...paths, '/config/unattended-boot']) {
        const etag = (await get(path)).headers.etag!
        for (const value of [etag, '*', `"other", ${etag}`, `W/${etag}`]) {
          const reply = await expect(304, conditional('GET', path, { 'if-none-match': value }))
          assert.equal(reply.headers['content-length'], undefined)
          assert.equal(reply.headers.etag, etag)
          await expect(304, conditional('HEAD', path, { 'if-none-match': value }))
        }
        await expect(200, conditional('GET', path, { 'if-none-match': '"other"' }))
      }
      await expect(412, conditional('DELETE', '/keys/ed', { 'if-none-match': '*' }))
      await expect(412, conditional('PUT', '/keys/ed', { 'if-none-match': '*' }, { json: ED25519 }))
      await expect(404, conditional('GET', '/keys/missing', { 'if-none-match': '*' }))
      await expect(204, conditional('PUT', '/keys/fresh', { 'if-none-match': '*' }, { json: ED25519 }))
    })

    test('if-match lets through only what is as the caller saw it', async () => {
      const etag = (await get('/keys/fresh')).headers.etag!
      await expect(200, conditional('GET', '/keys/fresh', { 'if-match': etag }))
      await expect(200, conditional('GET', '/keys/fresh', { 'if-match': `"a", ${etag}` }))
      await expect(200, conditional('GET', '/keys/fresh', { 'if-match': '*' }))
      await expect(412, conditional('GET', '/keys/fresh', { 'if-match': '"a"' }))
      await expect(412, conditional('DELETE', '/keys/fresh', { 'if-match': '"a"' }))
      await expect(412, conditional('PUT', '/keys/not-there', { 'if-match': '*' }, { json: ED25519 }))
      await expect(412, conditional('PUT', '/keys/not-there', { 'if-match': etag }, { json: ED25519 }))
      await expect(404, get('/keys/not-there'))
      await expect(412, conditional('GET', '/health/state', { 'if-match': '"a"' })) // has no etag
      await expect(204, conditional('DELETE', '/keys/fresh', { 'if-match': etag }))
    })

    test('the etag changes with what it stands for', async () => {
      const etag = async (path: string) => (await get(path)).headers.etag!
      const steps: [string, string, string, Call?][] = [
        ['/keys', 'PUT', '/keys/tagged', { json: ED25519 }],
        ['/keys/tagged', 'PUT', '/keys/tagged/label', { json: { label: 'other' } }],
        ['/keys/tagged', 'PUT', '/keys/tagged/restrictions/tags/t'],
        ['/keys/tagged', 'DELETE', '/keys/tagged/restrictions/tags/t'],
        ['/keys/tagged', 'POST', '/keys/tagged/sign', { as: operator, json: { mode: 'EdDSA', message: BLOCK } }],
        ['/keys', 'DELETE', '/keys/tagged'],
        [
          '/users',
          'PUT',
          '/users/another',
          { json: { realName: 'n', role: 'Metrics', passphrase: 'passphrase of new' } },
        ],
        ['/config/unattended-boot', 'PUT', '/config/unattended-boot', { json: { status: 'on' } }],
      ]
      for (const [path, method, change, call] of steps) {
        const earlier = await etag(path)
        assert.equal(await etag(path), earlier)
        const reply = await appliance.call(method, change, as(ADMIN, call))
        assert(reply.status < 300, `${method} ${change} ${reply.status} ${reply.text()}`)
        assert.notEqual(await etag(path), earlier, `${method} ${change}`)
      }
      await appliance.call('PUT', '/config/unattended-boot', as(ADMIN, { json: { status: 'off' } }))
    })

    test('dates are ignored', async () => {
      const headers = {
        'if-modified-since': 'Fri, 01 Jan 2099 00:00:00 GMT',
        'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT',
      }
      for (const [name, value] of Object.entries(headers)) {
        await expect(200, conditional('GET', '/keys/ed', { [name]: value }))
      }
    })
  })
})
