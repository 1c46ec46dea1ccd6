/** Keys as they are made, shown, listed, moved, tagged and certified. */

import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { type Client, expect } from '../support/appliance.ts'
import { ADMIN, type Check, OPERATOR as operator } from './check.ts'
import { ED25519 } from './samples.ts'

const SEED = ED25519.private.data

function calls(appliance: Client) {
  const get = (path: string, as = ADMIN) => appliance.call('GET', path, { as })
  const send = (method: string, path: string, json: unknown, as = ADMIN) => appliance.call(method, path, { as, json })
  const generate = (json: unknown) => send('POST', '/keys/generate', json)
  const put = (path: string, body: Uint8Array | string, type: string) =>
    appliance.call('PUT', path, { as: ADMIN, body, type })
  return { get, send, generate, put }
}

function checkPem(text: string, label: string) {
  const lines = text.split('\n')
  assert.equal(lines.shift(), `-----BEGIN ${label}-----`)
  assert.equal(lines.pop(), '', 'one LF at the end')
  assert.equal(lines.pop(), `-----END ${label}-----`)
  const last = lines.pop()!
  for (const line of lines) assert.match(line, /^[A-Za-z0-9+/]{64}$/)
  assert.match(last, /^[A-Za-z0-9+/=]{1,64}$/)
}

export const keys: Check[] = [
  {
    section: '3.2',
    name: 'lists are in byte order and prefixes are case-sensitive',
    async run(appliance) {
      const { get, send } = calls(appliance)
      const ids = ['b', 'B', 'a', 'a.', 'a-', 'a_', 'aa', 'A', '1', '10', '2', 'Z', 'z']
      for (const id of ids) await expect(204, send('PUT', `/keys/o${id}`, ED25519))
      const list = async (path: string) => (await expect(200, get(path))).json<{ id: string; key: string }[]>()
      const listed = await list('/keys/o*')
      assert.deepEqual(
        listed.map(({ id }) => id),
        ids.map((id) => `o${id}`).sort(),
      )
      for (const item of listed) assert.equal(item.key, item.id)
      assert.deepEqual(
        (await list('/keys/oa*')).map(({ id }) => id),
        ['oa', 'oa-', 'oa.', 'oa_', 'oaa'],
      )
      assert.deepEqual(await list('/keys/O*'), [])
      assert.deepEqual((await list('/keys/oa%2A')).length, 5)
      await expect(400, get('/keys/*'))
      await expect(400, get('/keys/.x*'))
      await expect(400, get('/keys/a**'))
      const everything = (await list('/keys')).map(({ id }) => id)
      assert.deepEqual(everything, [...everything].sort())
      const users = (await get('/users')).json<{ user: string }[]>().map(({ user }) => user)
      assert.deepEqual(users, [...users].sort())
    },
  },
  {
    section: '3.2',
    name: 'label and filter select keys',
    async run(appliance) {
      const { get, send } = calls(appliance)
      await expect(204, send('PUT', '/keys/sel1', { ...ED25519, label: 'red' }))
      await expect(204, send('PUT', '/keys/sel2', { ...ED25519, label: 'red', restrictions: { tags: ['t'] } }))
      await expect(204, send('PUT', '/keys/sel3', { ...ED25519, restrictions: { tags: ['t'] } }))
      await expect(204, send('PUT', '/keys/sel4', ED25519))
      const list = async (query: string, as = operator) =>
        (await expect(200, get(`/keys/sel*${query}`, as))).json<{ id: string }[]>().map(({ id }) => id)
      assert.deepEqual(await list(''), ['sel1', 'sel2', 'sel3', 'sel4'])
      assert.deepEqual(await list('?label=red'), ['sel1', 'sel2'])
      assert.deepEqual(await list('?label='), ['sel3', 'sel4'])
      assert.deepEqual(await list('?label=blue'), [])
      for (const filter of ['?filter', '?filter=', '?filter=anything']) {
        assert.deepEqual(await list(filter), ['sel1', 'sel4'])
        assert.deepEqual(await list(filter, ADMIN), ['sel1', 'sel2', 'sel3', 'sel4'])
      }
      assert.deepEqual(await list('?label=red&filter'), ['sel1'])
      assert.deepEqual(await list('?filter=true&label='), ['sel4'])
      const whole = (await expect(200, get('/keys?filter&label=red', operator))).json<{ id: string }[]>()
      assert.deepEqual(
        whole.map(({ id }) => id),
        ['sel1'],
      )
      await expect(204, appliance.call('PUT', '/users/operator/tags/t', { as: ADMIN }))
      assert.deepEqual(await list('?filter'), ['sel1', 'sel2', 'sel3', 'sel4'])
      await expect(204, appliance.call('DELETE', '/users/operator/tags/t', { as: ADMIN }))
      await expect(400, get(`/keys?label=${'x'.repeat(33)}`))
      await expect(400, get('/keys?label=%ff'))
    },
  },
  {
    section: '4.5',
    name: 'a key shows what it was made with',
    async run(appliance) {
      const { get, generate } = calls(appliance)
      const json = {
        type: 'RSA',
        length: 1024,
        mechanisms: ['RSA_Signature_PSS_SHA256', 'RSA_Decryption_RAW', 'RSA_Decryption_RAW'],
        id: 'shown',
        label: 'its label',
        restrictions: { tags: ['z', 'a', 'z', 'M'] },
      }
      assert.deepEqual((await expect(201, generate(json))).json(), { id: 'shown' })
      const reply = (await get('/keys/shown')).json<Record<string, unknown>>()
      const { modulus, publicExponent } = reply as { modulus: string; publicExponent: string }
      assert.deepEqual(reply, {
        mechanisms: ['RSA_Decryption_RAW', 'RSA_Signature_PSS_SHA256'], // canonical order, once each
        type: 'RSA',
        algorithm: 'RSA',
        restrictions: { tags: ['M', 'a', 'z'] },
        public: { modulus, publicExponent },
        modulus,
        publicExponent,
        operations: 0,
        label: 'its label',
      })
      assert.equal(publicExponent, 'AQAB')
      assert.equal(Buffer.from(modulus, 'base64').length, 128)
      assert(Buffer.from(modulus, 'base64')[0]! >= 0x80)
      await expect(409, generate(json))
      const pem = (await expect(200, get('/keys/shown/public.pem'))).text()
      checkPem(pem, 'PUBLIC KEY')
      const jwk = createPublicKey(pem).export({ format: 'jwk' })
      assert.equal(jwk.n, Buffer.from(modulus, 'base64').toString('base64url'))
    },
  },
  {
    section: '5',
    name: 'both vocabularies are understood and given back as they were used',
    async run(appliance) {
      const { get, send, generate } = calls(appliance)
      const show = async (id: string) => (await expect(200, get(`/keys/${id}`))).json<Record<string, unknown>>()
      const cases: [Record<string, unknown>, string, string[]][] = [
        [{ algorithm: 'RSA', length: 1024, mechanisms: ['RSA_Decryption_PKCS1'] }, 'RSA', ['RSA_Decryption_PKCS1']],
        [{ algorithm: 'ED25519', mechanisms: ['ED25519_Signature'] }, 'ED25519', ['ED25519_Signature']],
        [{ type: 'ED25519', mechanisms: ['EdDSA_Signature'] }, 'ED25519', ['EdDSA_Signature']],
        [{ algorithm: 'Curve25519', mechanisms: ['ED25519_Signature'] }, 'Curve25519', ['ED25519_Signature']],
        [{ algorithm: 'ECDSA', mechanisms: ['ECDSA_Signature'] }, 'ECDSA', ['ECDSA_Signature']],
        [{ algorithm: 'ECDSA', length: 0, mechanisms: ['ECDSA_Signature'] }, 'ECDSA', ['ECDSA_Signature']],
        [
          { type: 'ECDSA', algorithm: 'ECDSA', length: 384, mechanisms: ['ECDSA_Signature'] },
          'ECDSA',
          ['ECDSA_Signature'],
        ],
        [{ type: 'ECDSA', length: 521, mechanisms: ['ECDSA_Signature'] }, 'ECDSA', ['ECDSA_Signature']],
      ]
      const pointBytes: (number | undefined)[] = [undefined, 32, 32, 32, 65, 65, 97, 133]
      for (const [index, [json, type, mechanisms]] of cases.entries()) {
        const id = `voc${index}`
        await expect(201, generate({ ...json, id }))
        const shown = await show(id)
        assert.equal(shown.type, type)
        assert.equal(shown.algorithm, type)
        assert.deepEqual(shown.mechanisms, mechanisms)
        const { data } = shown.public as { data?: string }
        assert.equal(data === undefined ? undefined : Buffer.from(data, 'base64').length, pointBytes[index], id)
        if (data !== undefined) assert(!('modulus' in shown))
      }
      const ec = { mechanisms: ['ECDSA_Signature'] }
      await expect(400, generate({ ...ec, type: 'ECDSA', length: 255 }))
      await expect(400, generate({ ...ec, type: 'ECDSA', algorithm: 'EC_P256' }))
      await expect(400, generate({ ...ec, type: 'EC_P224' }))
      await expect(400, generate({ ...ec, type: 'ecdsa' }))
      await expect(400, generate(ec))
      // Import: the curve of ECDSA by the length of its data, the private part under either name but not both.
      for (const [bytes, point] of [
        [32, 65],
        [48, 97],
        [66, 133],
      ] as const) {
        const data = Buffer.concat([Buffer.alloc(bytes - 1), Buffer.from([5])]).toString('base64')
        await expect(204, send('PUT', `/keys/vec${bytes}`, { ...ec, algorithm: 'ECDSA', key: { data } }))
        const shown = await show(`vec${bytes}`)
        assert.equal(shown.type, 'ECDSA')
        assert.equal(Buffer.from((shown.public as { data: string }).data, 'base64').length, point)
      }
      await expect(
        400,
        send('PUT', '/keys/vec', { ...ec, type: 'ECDSA', private: { data: Buffer.alloc(64, 1).toString('base64') } }),
      )
      const half = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
      await expect(400, send('PUT', '/keys/vec', { ...half, private: { data: SEED }, key: { data: SEED } }))
      await expect(400, send('PUT', '/keys/vec', half))
      await expect(400, send('PUT', '/keys/vec', { ...ED25519, algorithm: 'ED25519' }))
      await expect(204, send('PUT', '/keys/vec', { ...ED25519, algorithm: 'Curve25519' }))
    },
  },
  {
    section: '5',
    name: 'mechanisms have to fit the type',
    async run(appliance) {
      const { get, send, generate } = calls(appliance)
      await expect(400, generate({ type: 'EC_P256', mechanisms: [] }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['EdDSA_Signature'] }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['BIP340_Signature'] }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature', 'RSA_Decryption_RAW'] }))
      await expect(400, generate({ type: 'Curve25519', mechanisms: ['ECDSA_Signature'] }))
      await expect(400, generate({ type: 'RSA', length: 1024, mechanisms: ['AES_Encryption_CBC'] }))
      await expect(400, generate({ type: 'Generic', length: 256, mechanisms: ['RSA_Signature_PKCS1'] }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['nonsense'] }))
      await expect(400, generate({ type: 'EC_P256' }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], more: 1 }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], label: '\ud800' }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], label: 'é'.repeat(17) }))
      for (const restrictions of [{ tags: ['no good'] }, { users: [] }])
        await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], restrictions }))
      await expect(400, send('PUT', '/keys/mech', { ...ED25519, mechanisms: ['ECDSA_Signature'] }))
      await expect(204, send('PUT', '/keys/mech', { ...ED25519, mechanisms: [] }))
      assert.deepEqual((await get('/keys/mech')).json<{ mechanisms: [] }>().mechanisms, [])
      await expect(400, send('POST', '/keys/mech/sign', { mode: 'EdDSA', message: 'AAAA' }, operator))
    },
  },
  {
    section: '4.4',
    name: 'lengths are bounded where they count and ignored elsewhere',
    async run(appliance) {
      const { get, send, generate } = calls(appliance)
      const rsa = { type: 'RSA', mechanisms: ['RSA_Signature_PKCS1'] }
      for (const length of [undefined, 0, 1023, 8193, -2048, 1e6]) await expect(400, generate({ ...rsa, length }))
      for (const length of ['2048', '1024']) await expect(400, generate({ ...rsa, length }))
      const generic = { type: 'Generic', mechanisms: ['AES_Encryption_CBC'] }
      for (const length of [undefined, 0, 127, 8193]) await expect(400, generate({ ...generic, length }))
      for (const length of [128, 512, 8192, 129]) {
        const { id } = (await expect(201, generate({ ...generic, length }))).json<{ id: string }>()
        const shown = (await get(`/keys/${id}`)).json<object>()
        assert(!('public' in shown) && !('modulus' in shown) && !('data' in shown))
        await expect(400, get(`/keys/${id}/public.pem`))
        await expect(400, send('POST', `/keys/${id}/csr.pem`, { commonName: 'x' }))
      }
      for (const type of [
        'EC_P256',
        'EC_P384',
        'EC_P521',
        'EC_P256K1',
        'BrainpoolP256',
        'BrainpoolP384',
        'BrainpoolP512',
      ]) {
        await expect(201, generate({ type, length: 1, mechanisms: ['ECDSA_Signature'] }))
      }
      await expect(201, generate({ type: 'Curve25519', length: 2048, mechanisms: ['EdDSA_Signature'] }))
      const data = (bytes: number) => ({ ...generic, private: { data: Buffer.alloc(bytes, 1).toString('base64') } })
      await expect(400, send('PUT', '/keys/g15', data(15)))
      await expect(204, send('PUT', '/keys/g16', data(16)))
      await expect(204, send('PUT', '/keys/g1024', data(1024)))
      await expect(400, send('PUT', '/keys/g1025', data(1025)))
    },
  },
  {
    section: '1.2',
    name: 'an empty id at generation is none',
    async run(appliance) {
      const { generate } = calls(appliance)
      const reply = await expect(201, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id: '' }))
      assert.match(reply.json<{ id: string }>().id, /^[0-9a-f]{20}$/)
    },
  },
  {
    section: '3.2',
    name: 'moving keeps everything but the id',
    async run(appliance) {
      const { get, send } = calls(appliance)
      await expect(204, send('PUT', '/keys/old', { ...ED25519, label: 'l', restrictions: { tags: [] } }))
      await expect(
        201,
        appliance.call('PUT', '/keys/old/cert', { as: ADMIN, body: 'c', type: 'application/x-pem-file' }),
      )
      await expect(200, send('POST', '/keys/old/sign', { mode: 'EdDSA', message: 'AAAA' }, operator))
      const earlier = (await get('/keys/old')).json<Record<string, unknown>>()
      assert.equal(earlier.operations, 1)
      assert.deepEqual(earlier.restrictions, {}) // no tags: the member is left out
      assert.deepEqual((await expect(200, send('POST', '/keys/old/move', { newId: 'new' }))).json(), { id: 'new' })
      await expect(404, get('/keys/old/public.pem'))
      await expect(200, get('/keys/new/public.pem'))
      assert.deepEqual((await get('/keys/new')).json(), earlier)
      assert.equal((await get('/keys/new/cert')).text(), 'c')
      await expect(409, send('POST', '/keys/new/move', { newId: 'ed' }))
      await expect(409, send('POST', '/keys/new/move', { newId: 'new' }))
      await expect(404, send('POST', '/keys/old/move', { newId: 'other' }))
    },
  },
  {
    section: '6.6',
    name: 'tags restrict use, not reading',
    async run(appliance) {
      const { get, send } = calls(appliance)
      await expect(204, send('PUT', '/keys/tg', { ...ED25519, restrictions: { tags: ['berlin'] } }))
      const use = () => send('POST', '/keys/tg/sign', { mode: 'EdDSA', message: 'AAAA' }, operator)
      await expect(403, use())
      for (const path of ['', '/public.pem']) await expect(200, get(`/keys/tg${path}`, operator))
      await expect(200, send('POST', '/keys/tg/csr.pem', { commonName: 'x' }, operator))
      const tag = (method: string, path: string) => appliance.call(method, path, { as: ADMIN })
      await expect(204, tag('PUT', '/users/operator/tags/paris'))
      await expect(403, use())
      await expect(204, tag('PUT', '/keys/tg/restrictions/tags/paris'))
      await expect(304, tag('PUT', '/keys/tg/restrictions/tags/paris'))
      await expect(200, use())
      assert.deepEqual((await get('/users/operator/tags', operator)).json(), ['paris'])
      await expect(204, tag('DELETE', '/keys/tg/restrictions/tags/berlin'))
      await expect(404, tag('DELETE', '/keys/tg/restrictions/tags/berlin'))
      await expect(204, tag('DELETE', '/users/operator/tags/paris'))
      await expect(404, tag('DELETE', '/users/operator/tags/paris'))
      await expect(403, use())
      await expect(204, tag('DELETE', '/keys/tg/restrictions/tags/paris'))
      await expect(200, use())
      assert.equal((await get('/keys/tg')).json<{ operations: number }>().operations, 2)
      for (const bad of ['.x', 'a b', '', 'x'.repeat(129), 1, null]) {
        const json = { ...ED25519, restrictions: { tags: [bad] } }
        assert.equal((await send('PUT', '/keys/tg2', json)).status, 400, String(bad))
      }
      await expect(400, send('PUT', '/keys/tg2', { ...ED25519, restrictions: { tags: {} } }))
      await expect(400, send('PUT', '/keys/tg2', { ...ED25519, restrictions: { other: [] } }))
    },
  },
  {
    section: '3.2',
    name: 'certificates come back byte for byte under the type they came with',
    async run(appliance) {
      const { get, send, put } = calls(appliance)
      const bytes = Uint8Array.from({ length: 256 * 300 }, (_, index) => index * 7)
      for (const [index, type] of ['application/octet-stream', 'application/x-pem-file'].entries()) {
        const path = `/keys/cert${index}/cert`
        await expect(204, send('PUT', `/keys/cert${index}`, ED25519))
        await expect(404, get(path))
        await expect(201, put(path, bytes, type))
        await expect(409, put(path, bytes, type))
        const other = ['application/octet-stream', 'application/x-pem-file'][1 - index]!
        const read = (accept?: string) =>
          appliance.call('GET', path, { as: operator, headers: accept === undefined ? {} : { accept } })
        for (const [accept, answered] of [
          [undefined, type],
          ['*/*', type],
          ['application/x-pem-file, application/octet-stream', type],
          [other, other],
          [type, type],
          [`${other}, application/json`, other],
        ] as const) {
          const reply = await expect(200, read(accept))
          assert.equal(reply.headers['content-type'], answered, String(accept))
          assert.deepEqual(new Uint8Array(reply.bytes), bytes)
        }
        await expect(406, read('application/json'))
        await expect(204, appliance.call('DELETE', path, { as: ADMIN }))
        await expect(404, appliance.call('DELETE', path, { as: ADMIN }))
        await expect(404, get(path))
      }
      await expect(404, put('/keys/missing/cert', 'c', 'application/x-pem-file'))
    },
  },
  {
    section: '1.5',
    name: 'certificates may fill the body limit and go with their key',
    async run(appliance) {
      const { get, send, put } = calls(appliance)
      await expect(204, send('PUT', '/keys/full', ED25519))
      const bytes = Buffer.alloc(1024 * 1024, 0x5a)
      await expect(413, put('/keys/full/cert', Buffer.concat([bytes, Buffer.from([1])]), 'application/octet-stream'))
      await expect(201, put('/keys/full/cert', bytes, 'application/octet-stream'))
      assert((await get('/keys/full/cert')).bytes.equals(bytes))
      await expect(204, appliance.call('DELETE', '/keys/full', { as: ADMIN }))
      await expect(204, send('PUT', '/keys/full', ED25519))
      await expect(404, get('/keys/full/cert'))
    },
  },
]
