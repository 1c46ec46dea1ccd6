/** Bodies and identifiers: contract 1.1, 1.2, section 4 and the resolutions of section 5. */

import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { Call } from './client.ts'
import {
  ADMIN,
  type Appliance,
  addUser,
  credentialsOf,
  expect,
  passphraseOf,
  startAppliance,
  startProvisioned,
  UNLOCK,
} from './harness.ts'

let appliance: Appliance
const operator = credentialsOf('operator')
const SEED = Buffer.alloc(32, 7).toString('base64')
const ED25519 = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], private: { data: SEED } }

const get = (path: string, as: string | undefined = ADMIN) => appliance.call('GET', path, { as })
const send = (method: string, path: string, json: unknown, as = ADMIN) => appliance.call(method, path, { as, json })
const text = (method: string, path: string, body: string, as = ADMIN) =>
  appliance.call(method, path, { as, body, type: 'application/json' })
const random = (body: string) => text('POST', '/random', body, operator)
const sign = (message: string) => send('POST', '/keys/ed/sign', { mode: 'EdDSA', message }, operator)
const generate = (json: unknown) => send('POST', '/keys/generate', json)

describe('representation', () => {
  before(async () => {
    appliance = await startProvisioned()
    await addUser(appliance, 'operator', 'Operator')
    await expect(204, send('PUT', '/keys/ed', ED25519))
  })
  after(() => appliance?.dispose())

  describe('JSON', () => {
    test('is RFC 8259 and nothing more', async () => {
      await expect(200, random(' {"length" : 4}\n'))
      await expect(200, random('{"length":1,"length":9}')) // the last one wins
      assert.equal(
        Buffer.from((await random('{"length":1,"length":9}')).json<{ random: string }>().random, 'base64').length,
        9,
      )
      await expect(200, random('{"len\\u0067th":3}'))
      for (const body of [
        '',
        ' ',
        '{}',
        '{}}}',
        '{"length":4}x',
        '{"length":4}{"length":4}',
        '{length:4}',
        "{'length':4}",
        '{"length":4,}',
        '{"length":4 /* no */}',
        '// no\n{"length":4}',
        '{"length":04}',
        '{"length":+4}',
        '{"length":0x4}',
        '{"length":"4"}',
        '{"length":4.5}',
        '{"length":NaN}',
        '{"length":null}',
        '{"length":true}',
        '{"length":[4]}',
        '{"length":{}}',
        '{"length":0}',
        '{"length":-1}',
        '{"length":1025}',
        '{"length":1e99}',
        '{"length":4,"more":1}',
        '{"Length":4}',
        '{"__proto__":{"length":4}}',
        '{"length":4,"__proto__":1}',
        '{"length":4,"constructor":1}',
        'null',
        '4',
        '"length"',
        '[{"length":4}]',
        '{"length":4',
        '"',
        '\u0000{"length":4}',
      ]) {
        const reply = await random(body)
        assert.equal(reply.status, 400, body)
        assert.equal(reply.headers['content-type'], 'application/json', body)
      }
      for (const length of [1, 2, 3, 1023, 1024]) {
        const reply = await expect(200, random(JSON.stringify({ length })))
        assert.equal(Buffer.from(reply.json<{ random: string }>().random, 'base64').length, length)
      }
    })

    test('is UTF-8', async () => {
      const body = Buffer.concat([Buffer.from('{"label":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])
      const call: Call = { as: ADMIN, body, type: 'application/json' }
      await expect(400, appliance.call('PUT', '/keys/ed/label', call))
      for (const bad of [
        [0xc0, 0x80],
        [0xed, 0xa0, 0x80],
        [0xf4, 0x90, 0x80, 0x80],
        [0xe2, 0x82],
      ]) {
        const body = Buffer.concat([Buffer.from('{"label":"'), Buffer.from(bad), Buffer.from('"}')])
        await expect(400, appliance.call('PUT', '/keys/ed/label', { ...call, body }))
      }
    })

    test('null means absent for the three members that may be absent so, and nowhere else', async () => {
      await expect(204, send('PUT', '/keys/nullable', { ...ED25519 }))
      await expect(200, send('POST', '/keys/nullable/csr.pem', { commonName: 'x', subjectAltNames: null }))
      const aes = { type: 'Generic', mechanisms: ['AES_Encryption_CBC'], private: { data: SEED } }
      await expect(204, send('PUT', '/keys/aes', aes))
      const block = Buffer.alloc(16).toString('base64')
      const message = { mode: 'AES_CBC', message: block, iv: null }
      await expect(200, send('POST', '/keys/aes/encrypt', message, operator))
      for (const member of ['label', 'restrictions', 'mechanisms', 'private']) {
        await expect(400, send('PUT', '/keys/null', { ...ED25519, [member]: null }))
      }
      await expect(400, send('POST', '/keys/ed/csr.pem', { commonName: 'x', countryName: null }))
      for (const member of ['id', 'length', 'label', 'restrictions', 'type']) {
        await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], [member]: null }))
      }
      await expect(404, get('/keys/null'))
    })
  })

  describe('base64', () => {
    test('of message may hold line feeds and loose bits, and nothing else out of order', async () => {
      await expect(200, sign('AAEC'))
      await expect(200, sign('AA\nEC\n'))
      await expect(200, sign('AAE='))
      const loose = await expect(200, sign('AAF=')) // two bits set behind the last byte
      const tight = await expect(200, sign('AAE='))
      assert.equal(loose.text(), tight.text())
      for (const bad of [
        'AAE',
        'AA E',
        'AA\r\nEC',
        'AA-_',
        'AAE=A',
        'AAEC=',
        'A===',
        '=',
        '====',
        'AAE*',
        'ÄÄÄÄ',
        'A',
        'AA=',
        'AAEC\0',
      ]) {
        assert.equal((await sign(bad)).status, 400, bad)
      }
    })

    test('of an imported key may not hold line feeds', async () => {
      const data = `${SEED.slice(0, 20)}\n${SEED.slice(20)}`
      await expect(400, send('PUT', '/keys/lf', { ...ED25519, private: { data } }))
    })
  })

  test('timestamps have an offset of zero and come back to the second', async () => {
    const put = (time: unknown) => send('PUT', '/config/time', { time })
    for (const [sent, seconds] of [
      ['2030-01-02T03:04:05Z', 0],
      ['2030-01-02T03:04:05+00:00', 0],
      ['2030-01-02T03:04:05-00:00', 0],
      ['2030-01-02T03:04:05.123456+00:00', 0],
      ['2030-01-02T03:04:05.123456789Z', 0],
      ['2028-02-29T00:00:00Z', Date.parse('2028-02-29T00:00:00Z') - Date.parse('2030-01-02T03:04:05Z')],
    ] as const) {
      await expect(204, put(sent))
      const { time } = (await expect(200, get('/config/time'))).json<{ time: string }>()
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      const drift = Date.parse(time) - Date.parse('2030-01-02T03:04:05Z') - seconds
      assert(drift >= 0 && drift < 5000, `${sent} came back as ${time}`)
    }
    for (const bad of [
      '2030-01-02T03:04:05',
      '2030-01-02T03:04:05+01:00',
      '2030-01-02T03:04:05-00:30',
      '2030-01-02',
      '2030-02-30T00:00:00Z',
      '2030-13-01T00:00:00Z',
      '2030-01-02T24:00:00Z',
      '2030-01-02T03:60:00Z',
      '2030-01-02 03:04',
      'now',
      '',
      1893553445,
      null,
    ]) {
      assert.equal((await put(bad)).status, 400, String(bad))
    }
    await expect(204, put(new Date().toISOString()))
  })

  describe('identifiers', () => {
    test('of keys are 1 to 128 characters of letters, digits, dot, underscore and hyphen', async () => {
      for (const id of [
        'a',
        'A',
        '9',
        'a'.repeat(128),
        'a._-',
        'x..y',
        'con',
        'null',
        '0',
        'constructor',
        '__proto__'.slice(2),
      ]) {
        await expect(204, send('PUT', `/keys/${id}`, ED25519))
        await expect(200, get(`/keys/${id}`))
        await expect(204, appliance.call('DELETE', `/keys/${id}`, { as: ADMIN }))
        await expect(201, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id }))
        await expect(204, appliance.call('DELETE', `/keys/${id}`, { as: ADMIN }))
      }
      const bad = [
        '.',
        '.a',
        '-a',
        '_a',
        '__proto__',
        'a~b',
        'a b',
        'a+b',
        'ä',
        'a'.repeat(129),
        'a:b',
        'a\nb',
        'a\u0000',
        'a/b',
        'a%b',
        '..',
      ]
      for (const id of bad) {
        assert.equal((await send('PUT', `/keys/${pathSegment(id)}`, ED25519)).status, 400, JSON.stringify(id))
        assert.equal((await get(`/keys/${pathSegment(id)}`)).status, 400, JSON.stringify(id))
        const json = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id }
        assert.equal((await generate(json)).status, 400, JSON.stringify(id))
        assert.equal((await send('POST', '/keys/ed/move', { newId: id })).status, 400, JSON.stringify(id))
        assert.equal((await send('PUT', `/namespaces/${pathSegment(id)}`, undefined)).status, 400, JSON.stringify(id))
        const tag = `/keys/ed/restrictions/tags/${pathSegment(id)}`
        assert.equal((await send('PUT', tag, undefined)).status, 400, JSON.stringify(id))
      }
    })

    test('are percent-decoded once', async () => {
      const user = { realName: 'n', role: 'Operator', passphrase: passphraseOf('x') }
      await expect(201, send('PUT', '/users/void%7Eonce', user))
      await expect(200, get('/users/void~once'))
      await expect(400, send('PUT', '/users/void%257Etwice', user))
      await expect(200, get('/keys/%65%64'))
      for (const bad of ['%', '%2', '%zz', '%ff', '%c3%28', '%00', '%2e%2e%2fed', 'ed%2f']) {
        assert.equal((await get(`/keys/${bad}`)).status, 400, bad)
      }
    })

    test('of users have two parts at most, split at the first tilde', async () => {
      const user = { realName: 'n', role: 'Operator', passphrase: passphraseOf('x') }
      const a128 = 'a'.repeat(128)
      await expect(201, send('PUT', `/users/${a128}~${a128}`, user))
      await expect(201, send('PUT', `/users/${a128}`, user))
      for (const bad of [`${a128}a`, `${a128}a~b`, `b~${a128}a`, 'a~b~c', '~a', 'a~', '~', 'a~.b', 'a~-', 'a b']) {
        assert.equal((await send('PUT', `/users/${pathSegment(bad)}`, user)).status, 400, bad)
      }
      // The path for users of a namespace is the namespace and a tilde.
      for (const bad of ['a', 'a~b', '~', '.a~', `${a128}a~`]) {
        const { status } = await send('POST', `/users/${bad}`, user)
        assert.equal(status, 400, bad)
      }
    })

    test('an id of a key may not be the word generate', async () => {
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id: 'generate' }))
      await expect(400, send('POST', '/keys/ed/move', { newId: 'generate' }))
      assert([400, 405].includes((await send('PUT', '/keys/generate', ED25519)).status))
      const ids = (await get('/keys')).json<{ id: string }[]>().map(({ id }) => id)
      assert(!ids.includes('generate'))
    })

    test('lists are in byte order and prefixes are case-sensitive', async () => {
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
    })

    test('label and filter select keys', async () => {
      await expect(204, send('PUT', '/keys/s1', { ...ED25519, label: 'red' }))
      await expect(204, send('PUT', '/keys/s2', { ...ED25519, label: 'red', restrictions: { tags: ['t'] } }))
      await expect(204, send('PUT', '/keys/s3', { ...ED25519, restrictions: { tags: ['t'] } }))
      await expect(204, send('PUT', '/keys/s4', ED25519))
      const list = async (query: string, as = operator) =>
        (await expect(200, get(`/keys/s*${query}`, as))).json<{ id: string }[]>().map(({ id }) => id)
      assert.deepEqual(await list(''), ['s1', 's2', 's3', 's4'])
      assert.deepEqual(await list('?label=red'), ['s1', 's2'])
      assert.deepEqual(await list('?label='), ['s3', 's4'])
      assert.deepEqual(await list('?label=blue'), [])
      for (const filter of ['?filter', '?filter=', '?filter=anything']) {
        assert.deepEqual(await list(filter), ['s1', 's4'])
        assert.deepEqual(await list(filter, ADMIN), ['s1', 's2', 's3', 's4'])
      }
      assert.deepEqual(await list('?label=red&filter'), ['s1'])
      const whole = (await expect(200, get('/keys?filter&label=red', operator))).json<{ id: string }[]>()
      assert.deepEqual(
        whole.map(({ id }) => id),
        ['s1'],
      )
      await expect(204, appliance.call('PUT', '/users/operator/tags/t', { as: ADMIN }))
      assert.deepEqual(await list('?filter'), ['s1', 's2', 's3', 's4'])
      await expect(204, appliance.call('DELETE', '/users/operator/tags/t', { as: ADMIN }))
      await expect(400, get(`/keys?label=${'x'.repeat(33)}`))
      await expect(400, get('/keys?label=%ff'))
    })
  })

  describe('passphrases and names', () => {
    test('a passphrase has 10 to 200 bytes of UTF-8', async () => {
      const put = (id: string, passphrase: unknown) =>
        send('PUT', `/users/${id}`, { realName: 'n', role: 'Operator', passphrase })
      await expect(400, put('p1', 'x'.repeat(9)))
      await expect(201, put('p2', 'x'.repeat(10)))
      await expect(201, put('p3', 'x'.repeat(200)))
      await expect(400, put('p4', 'x'.repeat(201)))
      await expect(201, put('p5', 'ä'.repeat(5)))
      await expect(201, put('p6', 'ä'.repeat(100)))
      await expect(400, put('p7', 'ä'.repeat(101)))
      await expect(400, put('p8', ''))
      await expect(200, get('/users/p6', `p6:${'ä'.repeat(100)}`))
      await expect(201, put('p9', 'with:a:colon:and \u{1f511}'))
      await expect(200, get('/users/p9', 'p9:with:a:colon:and \u{1f511}'))
      await expect(400, send('POST', '/users/p9/passphrase', { passphrase: 'short' }))
      await expect(204, send('POST', '/users/p9/passphrase', { passphrase: 'the next one' }))
      await expect(401, get('/users/p9', 'p9:with:a:colon:and \u{1f511}'))
    })

    test('users come back as they were made', async () => {
      const admin = (await expect(200, get('/users/admin'))).json()
      assert.deepEqual(admin, { realName: 'admin', role: 'Administrator' })
      for (const role of ['Administrator', 'Operator', 'Metrics', 'Backup']) {
        const realName = `Zoë "${role}" \\ \u{1f511}\n`
        await expect(201, send('PUT', `/users/r${role}`, { realName, role, passphrase: 'long enough' }))
        assert.deepEqual((await get(`/users/r${role}`)).json(), { realName, role })
        await expect(409, send('PUT', `/users/r${role}`, { realName, role, passphrase: 'long enough' }))
      }
      await expect(400, send('PUT', '/users/rX', { realName: 'x', role: 'operator', passphrase: 'long enough' }))
      await expect(400, send('PUT', '/users/rX', { realName: 'x', role: 'Root', passphrase: 'long enough' }))
      await expect(404, get('/users/rX'))
    })

    test('a label has at most 32 bytes', async () => {
      const label = (text: unknown) => send('PUT', '/keys/ed/label', { label: text })
      await expect(204, label('x'.repeat(32)))
      await expect(400, label('x'.repeat(33)))
      await expect(204, label('ä'.repeat(16)))
      assert.equal((await get('/keys/ed')).json<{ label: string }>().label, 'ä'.repeat(16))
      await expect(304, label('ä'.repeat(16)))
      await expect(400, label('ä'.repeat(17)))
      await expect(400, label(1))
      await expect(204, label(''))
      assert(!('label' in (await get('/keys/ed')).json<object>()))
      await expect(304, label(''))
      await expect(204, appliance.call('DELETE', '/keys/ed/label', { as: ADMIN }))
    })
  })

  describe('keys', () => {
    test('a key shows what it was made with', async () => {
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
    })

    test('both vocabularies are understood and given back as they were used', async () => {
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
    })

    test('mechanisms have to fit the type', async () => {
      await expect(400, generate({ type: 'EC_P256', mechanisms: [] }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['EdDSA_Signature'] }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['BIP340_Signature'] }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature', 'RSA_Decryption_RAW'] }))
      await expect(400, generate({ type: 'Curve25519', mechanisms: ['ECDSA_Signature'] }))
      await expect(400, generate({ type: 'RSA', length: 1024, mechanisms: ['AES_Encryption_CBC'] }))
      await expect(400, generate({ type: 'Generic', length: 256, mechanisms: ['RSA_Signature_PKCS1'] }))
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['nonsense'] }))
      await expect(400, send('PUT', '/keys/mech', { ...ED25519, mechanisms: ['ECDSA_Signature'] }))
      await expect(204, send('PUT', '/keys/mech', { ...ED25519, mechanisms: [] }))
      assert.deepEqual((await get('/keys/mech')).json<{ mechanisms: [] }>().mechanisms, [])
      await expect(400, send('POST', '/keys/mech/sign', { mode: 'EdDSA', message: 'AAAA' }, operator))
    })

    test('lengths are bounded where they count and ignored elsewhere', async () => {
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
    })

    test('an empty id at generation is none', async () => {
      const reply = await expect(201, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id: '' }))
      assert.match(reply.json<{ id: string }>().id, /^[0-9a-f]{20}$/)
    })

    test('moving keeps everything but the id', async () => {
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
    })

    test('tags restrict use, not reading', async () => {
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
    })
  })

  describe('certificates of keys', () => {
    const put = (path: string, body: Uint8Array | string, type: string) =>
      appliance.call('PUT', path, { as: ADMIN, body, type })

    test('come back byte for byte under the type they came with', async () => {
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
    })

    test('may fill the body limit and go with their key', async () => {
      await expect(204, send('PUT', '/keys/full', ED25519))
      const bytes = Buffer.alloc(1024 * 1024, 0x5a)
      await expect(413, put('/keys/full/cert', Buffer.concat([bytes, Buffer.from([1])]), 'application/octet-stream'))
      await expect(201, put('/keys/full/cert', bytes, 'application/octet-stream'))
      assert((await get('/keys/full/cert')).bytes.equals(bytes))
      await expect(204, appliance.call('DELETE', '/keys/full', { as: ADMIN }))
      await expect(204, send('PUT', '/keys/full', ED25519))
      await expect(404, get('/keys/full/cert'))
    })
  })

  describe('lifecycle', () => {
    test('provision refuses what it does not understand and then takes what it does', async () => {
      const fresh = await startAppliance()
      try {
        const good = { unlockPassphrase: UNLOCK, adminPassphrase: 'administrator', systemTime: '2026-01-01T00:00:00Z' }
        const provision = (json: unknown) => fresh.call('POST', '/provision', { json })
        for (const member of Object.keys(good)) {
          await expect(400, provision({ ...good, [member]: undefined }))
          await expect(400, provision({ ...good, [member]: 1 }))
          await expect(400, provision({ ...good, [member]: 'short' }))
        }
        await expect(400, provision({ ...good, more: true }))
        assert.equal(await fresh.state(), 'Unprovisioned')
        await expect(204, provision(good))
        await expect(412, provision(good))
        assert.equal(await fresh.state(), 'Operational')
        await expect(200, fresh.call('GET', '/users/admin', { as: 'admin:administrator' }))
        assert.deepEqual((await fresh.call('GET', '/users', { as: 'admin:administrator' })).json(), [{ user: 'admin' }])
        const boot = await fresh.call('GET', '/config/unattended-boot', { as: 'admin:administrator' })
        assert.deepEqual(boot.json(), { status: 'off' })
      } finally {
        await fresh.dispose()
      }
    })

    test('the unlock passphrase can be changed, and unlock tells short from wrong', async () => {
      const next = 'another unlock passphrase'
      const change = { newPassphrase: next, currentPassphrase: UNLOCK }
      await expect(204, send('PUT', '/config/unlock-passphrase', change))
      await expect(403, send('PUT', '/config/unlock-passphrase', change))
      await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
      assert.equal(await appliance.state(), 'Locked')
      const unlock = (passphrase: unknown, from: string) =>
        appliance.call('POST', '/unlock', { json: { passphrase }, from })
      await expect(400, unlock('short', '127.0.1.1'))
      await expect(429, unlock(next, '127.0.1.1')) // what fails validation counts
      await expect(403, unlock(UNLOCK, '127.0.1.2'))
      await expect(429, unlock(next, '127.0.1.2'))
      const unparsable = { body: '{}}}', from: '127.0.1.3' }
      await expect(400, appliance.call('POST', '/unlock', unparsable))
      await expect(400, appliance.call('POST', '/unlock', unparsable)) // and what cannot be parsed does not
      await expect(204, unlock(next, '127.0.1.3'))
      const back = { newPassphrase: UNLOCK, currentPassphrase: next }
      await expect(204, send('PUT', '/config/unlock-passphrase', back))
    })

    test('unattended boot comes up Operational after a restart, attended boot Locked', async () => {
      const time = Date.now() + 86_400_000
      await expect(204, send('PUT', '/config/time', { time: new Date(time).toISOString() }))
      await expect(400, send('PUT', '/config/unattended-boot', { status: 'ON' }))
      await expect(400, send('PUT', '/config/unattended-boot', { status: 'on', passphrase: UNLOCK }))
      await expect(204, send('PUT', '/config/unattended-boot', { status: 'on' }))
      assert.deepEqual((await get('/config/unattended-boot')).json(), { status: 'on' })
      const key = (await get('/keys/ed')).text()
      await appliance.restart()
      assert.equal(await appliance.state(), 'Operational')
      assert.equal((await expect(200, get('/keys/ed'))).text(), key)
      const shown = Date.parse((await get('/config/time')).json<{ time: string }>().time)
      assert(Math.abs(shown - time) < 60_000, 'the clock keeps the time it was given')
      await expect(204, send('PUT', '/config/unattended-boot', { status: 'off' }))
      await appliance.restart()
      assert.equal(await appliance.state(), 'Locked')
      await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
      assert.equal((await expect(200, get('/keys/ed'))).text(), key)
    })

    test('metrics are strings under the names that clients look for', async () => {
      await addUser(appliance, 'metrics', 'Metrics')
      const read = async () =>
        (await expect(200, get('/metrics', credentialsOf('metrics')))).json<Record<string, string>>()
      await read()
      const metrics = await read()
      for (const [name, value] of Object.entries(metrics)) assert.equal(typeof value, 'string', name)
      for (const name of [
        'uptime',
        'http response total',
        'http response 200',
        'http response 201',
        'http response 204',
        'http response time',
        'kv write',
        'log warnings',
        'log errors',
        'gc compactions',
        'gc major bytes',
        'gc major collections',
        'gc minor collections',
        'generate',
        'sign',
        'decrypt',
        'encrypt',
      ]) {
        assert.match(metrics[name] ?? 'missing', /^\d+(\.\d+)?$/, name)
      }
      await expect(200, send('POST', '/keys/ed/sign', { mode: 'EdDSA', message: 'AAAA' }, operator))
      const later = await read()
      assert.equal(Number(later.sign), Number(metrics.sign) + 1)
      assert(Number(later['http response total']) > Number(metrics['http response total']))
    })

    test('info and diagnosis have their members', async () => {
      const info = (await expect(200, get('/info', undefined))).json<Record<string, unknown>>()
      assert.deepEqual(Object.keys(info).sort(), ['product', 'vendor'])
      assert(typeof info.product === 'string' && info.product !== '' && typeof info.vendor === 'string')
      const diagnosis = (await expect(200, get('/health/diagnose'))).json<{
        clusterLogs: { level: string }[]
        clusterState: { running: boolean }
      }>()
      assert.equal(typeof diagnosis.clusterLogs[0]!.level, 'string')
      assert.equal(typeof diagnosis.clusterState.running, 'boolean')
    })

    test('API documents are served without credentials', async () => {
      for (const path of ['/openapi.json', '/openapi.yaml', '/api.raml', '//docs']) {
        const reply = await expect(200, appliance.call('GET', path))
        assert(reply.bytes.length > 1000, path)
      }
    })
  })
})

/** As a client encodes one segment; dots alone are encoded too, as they would be removed. */
function pathSegment(id: string): string {
  return /^\.+$/.test(id) ? id.replaceAll('.', '%2e') : encodeURIComponent(id)
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
