/** Bodies, identifiers, and the basic types. */

import assert from 'node:assert/strict'
import { type Client, expect } from '../support/appliance.ts'
import type { Call } from '../support/client.ts'
import { ADMIN, type Check, OPERATOR as operator } from './check.ts'
import { ED25519 } from './samples.ts'

const SEED = ED25519.private.data

function calls(appliance: Client) {
  const get = (path: string, as = ADMIN) => appliance.call('GET', path, { as })
  const send = (method: string, path: string, json: unknown, as = ADMIN) => appliance.call(method, path, { as, json })
  const text = (method: string, path: string, body: string, as = ADMIN) =>
    appliance.call(method, path, { as, body, type: 'application/json' })
  const random = (body: string) => text('POST', '/random', body, operator)
  const sign = (message: string) => send('POST', '/keys/ed/sign', { mode: 'EdDSA', message }, operator)
  const generate = (json: unknown) => send('POST', '/keys/generate', json)
  return { get, send, random, sign, generate }
}

/** As a client encodes one segment; dots alone are encoded too, as they would be removed. */
function pathSegment(id: string): string {
  return /^\.+$/.test(id) ? id.replaceAll('.', '%2e') : encodeURIComponent(id)
}

async function refuseId(appliance: Client, id: string): Promise<void> {
  const { get, send, generate } = calls(appliance)
  assert.equal((await send('PUT', `/keys/${pathSegment(id)}`, ED25519)).status, 400, JSON.stringify(id))
  assert.equal((await get(`/keys/${pathSegment(id)}`)).status, 400, JSON.stringify(id))
  const json = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id }
  assert.equal((await generate(json)).status, 400, JSON.stringify(id))
  assert.equal((await send('POST', '/keys/ed/move', { newId: id })).status, 400, JSON.stringify(id))
  assert.equal((await send('PUT', `/namespaces/${pathSegment(id)}`, undefined)).status, 400, JSON.stringify(id))
  const tag = `/keys/ed/restrictions/tags/${pathSegment(id)}`
  assert.equal((await send('PUT', tag, undefined)).status, 400, JSON.stringify(id))
}

export const representation: Check[] = [
  {
    section: '1.1',
    name: 'JSON is RFC 8259 and nothing more',
    async run(appliance) {
      const { random } = calls(appliance)
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
    },
  },
  {
    section: '1.1',
    name: 'JSON is UTF-8',
    async run(appliance) {
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
    },
  },
  {
    section: '1.1',
    name: 'null means absent for the three members that may be absent so, and nowhere else',
    async run(appliance) {
      const { get, send, generate } = calls(appliance)
      await expect(204, send('PUT', '/keys/nullable', { ...ED25519 }))
      await expect(200, send('POST', '/keys/nullable/csr.pem', { commonName: 'x', subjectAltNames: null }))
      const aes = { type: 'Generic', mechanisms: ['AES_Encryption_CBC'], private: { data: SEED } }
      await expect(204, send('PUT', '/keys/block', aes))
      const block = Buffer.alloc(16).toString('base64')
      const message = { mode: 'AES_CBC', message: block, iv: null }
      await expect(200, send('POST', '/keys/block/encrypt', message, operator))
      for (const member of ['label', 'restrictions', 'mechanisms', 'private']) {
        await expect(400, send('PUT', '/keys/null', { ...ED25519, [member]: null }))
      }
      await expect(400, send('POST', '/keys/ed/csr.pem', { commonName: 'x', countryName: null }))
      for (const member of ['id', 'length', 'label', 'restrictions', 'type']) {
        await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], [member]: null }))
      }
      await expect(404, get('/keys/null'))
    },
  },
  {
    section: '1.1',
    name: 'base64 of a message may hold line feeds and loose bits, and nothing else out of order',
    async run(appliance) {
      const { sign } = calls(appliance)
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
    },
  },
  {
    section: '1.1',
    name: 'base64 of an imported key may not hold line feeds',
    async run(appliance) {
      const { send } = calls(appliance)
      const data = `${SEED.slice(0, 20)}\n${SEED.slice(20)}`
      await expect(400, send('PUT', '/keys/lf', { ...ED25519, private: { data } }))
    },
  },
  {
    section: '4',
    name: 'timestamps have an offset of zero and come back to the second',
    async run(appliance) {
      const { get, send } = calls(appliance)
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
    },
  },
  {
    section: '1.2',
    name: 'ids of keys are 1 to 128 characters of letters, digits, dot, underscore and hyphen',
    async run(appliance) {
      const { get, send, generate } = calls(appliance)
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
      ]
      for (const id of bad) await refuseId(appliance, id)
    },
  },
  {
    section: '1.2',
    name: 'ids are percent-decoded once',
    async run(appliance) {
      const { get, send } = calls(appliance)
      const user = { realName: 'n', role: 'Operator', passphrase: 'long enough' }
      await expect(201, send('PUT', '/users/void%7Eonce', user))
      await expect(200, get('/users/void~once'))
      await expect(400, send('PUT', '/users/void%257Etwice', user))
      await expect(200, get('/keys/%65%64'))
      for (const bad of ['%', '%2', '%zz', '%ff', '%c3%28', '%00', '%2e%2e%2fed', 'ed%2f']) {
        assert.equal((await get(`/keys/${bad}`)).status, 400, bad)
      }
    },
  },
  {
    section: '1.2',
    name: 'ids of users have two parts at most, split at the first tilde',
    needs: ['processors'],
    async run(appliance) {
      const { send } = calls(appliance)
      const user = { realName: 'n', role: 'Operator', passphrase: 'long enough' }
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
    },
  },
  {
    section: '1.2',
    name: 'an id of a key may not be the word generate',
    async run(appliance) {
      const { get, send, generate } = calls(appliance)
      await expect(400, generate({ type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id: 'generate' }))
      await expect(400, send('POST', '/keys/ed/move', { newId: 'generate' }))
      assert([400, 405].includes((await send('PUT', '/keys/generate', ED25519)).status))
      const ids = (await get('/keys')).json<{ id: string }[]>().map(({ id }) => id)
      assert(!ids.includes('generate'))
    },
  },
  {
    section: '4',
    name: 'a passphrase has 10 to 200 bytes of UTF-8',
    needs: ['processors'],
    async run(appliance) {
      const { get, send } = calls(appliance)
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
    },
  },
  {
    section: '4',
    name: 'users come back as they were made',
    needs: ['processors'],
    async run(appliance) {
      const { get, send } = calls(appliance)
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
    },
  },
  {
    section: '4',
    name: 'a label has at most 32 bytes',
    async run(appliance) {
      const { get, send } = calls(appliance)
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
    },
  },
  {
    section: '1.2',
    name: 'dots alone are no ids',
    needs: ['port'], // an URL of the web standard removes them
    async run(appliance) {
      for (const id of ['.', '..']) await refuseId(appliance, id)
    },
  },
]
