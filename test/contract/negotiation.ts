/** Methods, media types and conditions. */

import assert from 'node:assert/strict'
import { type Client, expect } from '../support/appliance.ts'
import { BASE, type Call, type Reply } from '../support/client.ts'
import { ADMIN, as, type Check, OPERATOR as operator, UNLOCK } from './check.ts'
import { BLOCK, ED25519, NEW_USER, SYSTEM_TIME } from './samples.ts'

const get = (appliance: Client, path: string, call: Call = as(ADMIN)): Promise<Reply> =>
  appliance.call('GET', path, call)

const conditional = (
  appliance: Client,
  method: string,
  path: string,
  headers: Record<string, string>,
  call: Call = {},
): Promise<Reply> => appliance.call(method, path, as(ADMIN, { ...call, headers }))

const UNREAD: Call[] = [
  { body: '', type: 'application/json' },
  { body: '{}', type: 'application/json' },
  { body: 'anything', type: 'text/plain' },
  { body: '{}}}' },
]

export const negotiation: Check[] = [
  {
    section: '1.4',
    name: '405 names what is offered',
    async run(appliance) {
      const allow = async (method: string, path: string) =>
        (await expect(405, appliance.call(method, path, as(ADMIN)))).headers
          .allow!.split(/\s*,\s*/)
          .filter((name) => name !== 'OPTIONS')
          .sort()
      assert.deepEqual(await allow('DELETE', '/keys'), ['GET', 'HEAD', 'POST'])
      assert.deepEqual(await allow('POST', '/keys/ed'), ['DELETE', 'GET', 'HEAD', 'PUT'])
      assert.deepEqual(await allow('GET', '/keys/ed/sign'), ['POST'])
      assert.deepEqual(await allow('OPTIONS', '/keys/ed/sign'), ['POST'])
      assert.deepEqual(await allow('HEAD', '/random'), ['POST'])
    },
  },
  {
    section: '1.4',
    name: 'TRACE is not offered',
    needs: ['port'], // which makes the request that no Request of the web standard can be
    async run(appliance) {
      const { headers } = await expect(405, appliance.call('TRACE', '/info'))
      assert.match(headers.allow!, /^GET, HEAD/)
    },
  },
  {
    section: '1.5',
    name: 'the body of a GET is ignored',
    needs: ['port'], // as above
    async run(appliance) {
      for (const call of UNREAD) await expect(200, get(appliance, '/keys', as(ADMIN, call)))
    },
  },
  {
    section: '1.4',
    name: 'HEAD answers as GET does, without the body',
    needs: ['port'],
    async run(appliance) {
      for (const path of ['/info', '/health/state', '/keys', '/keys/ed', '/keys/ed/public.pem', '/keys/ed/cert']) {
        const full = await get(appliance, path)
        const head = await expect(200, appliance.call('HEAD', path, as(ADMIN)))
        assert.equal(head.bytes.length, 0)
        for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'vary']) {
          assert.equal(head.headers[name], full.headers[name], `${path} ${name}`)
        }
      }
      await expect(401, appliance.call('HEAD', '/keys'))
      await expect(404, appliance.call('HEAD', '/keys/missing', as(ADMIN)))
    },
  },
  {
    section: '1.5',
    name: 'the target may have 2000 characters and no more',
    async run(appliance) {
      const base = `${BASE}/keys?label=`
      const rest = 2000 - base.length
      // A label of that length is none: 400, but the target is read.
      assert.notEqual((await get(appliance, `/keys?label=${'x'.repeat(rest)}`)).status, 414)
      await expect(414, get(appliance, `/keys?label=${'x'.repeat(rest + 1)}`))
    },
  },
  {
    section: '1.4',
    name: 'accept is matched against the one type of the endpoint',
    async run(appliance) {
      const status = async (path: string, accept: string | string[]) =>
        (await get(appliance, path, as(ADMIN, { headers: { accept } }))).status
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
    },
  },
  {
    section: '1.4',
    name: 'what a published client sends where nothing is answered is accepted',
    async run(appliance) {
      for (const accept of ['application/json', undefined, '*/*']) {
        const headers: Record<string, string> = accept === undefined ? {} : { accept }
        await expect(204, appliance.call('DELETE', '/keys/ed/label', as(ADMIN, { headers })))
      }
    },
  },
  {
    section: '1.4',
    name: 'encodings, languages and charsets are ignored',
    async run(appliance) {
      const headers = {
        'accept-encoding': 'gzip, br;q=1, identity;q=0',
        'accept-language': 'tlh',
        'accept-charset': 'utf-16',
      }
      const reply = await expect(200, get(appliance, '/keys', as(ADMIN, { headers })))
      assert.equal(reply.headers['content-encoding'], undefined)
      reply.json()
    },
  },
  {
    section: '1.5',
    name: 'requests that create something need the right content type, in any case and with parameters',
    needs: ['processors'],
    async run(appliance) {
      const generate = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
      const creating: [string, string, unknown, number][] = [
        ['POST', '/keys', ED25519, 201],
        ['POST', '/keys/generate', generate, 201],
        ['PUT', '/keys/typed1', ED25519, 204],
        ['POST', '/users', NEW_USER, 201],
        ['POST', '/users/void~', NEW_USER, 201],
        ['PUT', '/users/typed1', NEW_USER, 201],
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
    },
  },
  {
    section: '1.5',
    name: 'other requests are read whatever their content type',
    needs: ['processors'],
    async run(appliance) {
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
    },
  },
  {
    section: '1.5',
    name: 'bodies that nobody reads are ignored',
    needs: ['processors'],
    async run(appliance) {
      for (const call of UNREAD) {
        await expect(204, appliance.call('PUT', '/namespaces/ns', as(ADMIN, call)))
        await expect(204, appliance.call('DELETE', '/namespaces/ns', as(ADMIN, call)))
        await expect(204, appliance.call('PUT', '/keys/ed/restrictions/tags/t', as(ADMIN, call)))
        await expect(204, appliance.call('DELETE', '/keys/ed/restrictions/tags/t', as(ADMIN, call)))
        await expect(204, appliance.call('PUT', '/users/operator/tags/t', as(ADMIN, call)))
        await expect(204, appliance.call('DELETE', '/users/operator/tags/t', as(ADMIN, call)))
        await expect(204, appliance.call('POST', '/lock', as(ADMIN, call)))
        await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
      }
    },
  },
  {
    section: '1.4',
    name: 'if-none-match answers 304 to reads and 412 to writes',
    async run(appliance) {
      const paths = ['/info', '/users', '/users/admin', '/keys', '/keys/ed', '/keys/ed/public.pem', '/keys/ed/cert']
      for (const path of [...paths, '/config/unattended-boot']) {
        const etag = (await get(appliance, path)).headers.etag!
        for (const value of [etag, '*', `"other", ${etag}`, `W/${etag}`]) {
          const reply = await expect(304, conditional(appliance, 'GET', path, { 'if-none-match': value }))
          assert.equal(reply.headers['content-length'], undefined)
          assert.equal(reply.headers.etag, etag)
          await expect(304, conditional(appliance, 'HEAD', path, { 'if-none-match': value }))
        }
        await expect(200, conditional(appliance, 'GET', path, { 'if-none-match': '"other"' }))
      }
      await expect(412, conditional(appliance, 'DELETE', '/keys/ed', { 'if-none-match': '*' }))
      await expect(412, conditional(appliance, 'PUT', '/keys/ed', { 'if-none-match': '*' }, { json: ED25519 }))
      await expect(404, conditional(appliance, 'GET', '/keys/missing', { 'if-none-match': '*' }))
      await expect(204, conditional(appliance, 'PUT', '/keys/fresh', { 'if-none-match': '*' }, { json: ED25519 }))
    },
  },
  {
    section: '1.4',
    name: 'if-match lets through only what is as the caller saw it',
    async run(appliance) {
      const etag = (await get(appliance, '/keys/fresh')).headers.etag!
      await expect(200, conditional(appliance, 'GET', '/keys/fresh', { 'if-match': etag }))
      await expect(200, conditional(appliance, 'GET', '/keys/fresh', { 'if-match': `"a", ${etag}` }))
      await expect(200, conditional(appliance, 'GET', '/keys/fresh', { 'if-match': '*' }))
      await expect(412, conditional(appliance, 'GET', '/keys/fresh', { 'if-match': '"a"' }))
      await expect(412, conditional(appliance, 'DELETE', '/keys/fresh', { 'if-match': '"a"' }))
      await expect(412, conditional(appliance, 'PUT', '/keys/not-there', { 'if-match': '*' }, { json: ED25519 }))
      await expect(412, conditional(appliance, 'PUT', '/keys/not-there', { 'if-match': etag }, { json: ED25519 }))
      await expect(404, get(appliance, '/keys/not-there'))
      await expect(412, conditional(appliance, 'GET', '/health/state', { 'if-match': '"a"' })) // has no etag
      await expect(204, conditional(appliance, 'DELETE', '/keys/fresh', { 'if-match': etag }))
    },
  },
  {
    section: '1.4',
    name: 'the etag changes with what it stands for',
    async run(appliance) {
      const etag = async (path: string) => (await get(appliance, path)).headers.etag!
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
    },
  },
  {
    section: '1.4',
    name: 'dates are ignored',
    async run(appliance) {
      const headers = {
        'if-modified-since': 'Fri, 01 Jan 2099 00:00:00 GMT',
        'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT',
      }
      for (const [name, value] of Object.entries(headers)) {
        await expect(200, conditional(appliance, 'GET', '/keys/ed', { [name]: value }))
      }
    },
  },
]
