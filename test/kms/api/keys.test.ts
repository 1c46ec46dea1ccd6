/** Keys: creation, import, attributes, and what the log says of them. Contract sections 3.2, 4.4 to 4.6, 5, 6.3, 6.4 and 6.6; more is in test/contract. */

import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { splitLine } from '../../support/client.ts'
import { makeOperationalRig, operationalRig, type Rig } from '../../support/in-process.ts'

const unpadded = (base64url: string | undefined) => Buffer.from(base64url!, 'base64url').toString('base64')

describe('keys', () => {
  let rig: Rig
  after(() => rig.close())
  before(async () => {
    rig = await makeOperationalRig()
  })

  test('generates every type, under both vocabularies', async () => {
    const cases: [object, string, string][] = [
      [{ type: 'RSA', length: 1024 }, 'RSA_Signature_PKCS1', 'RSA'],
      [{ algorithm: 'Curve25519' }, 'EdDSA_Signature', 'Curve25519'],
      [{ algorithm: 'ED25519' }, 'ED25519_Signature', 'ED25519'],
      [{ type: 'EC_P256', length: 7 }, 'ECDSA_Signature', 'EC_P256'],
      [{ type: 'EC_P384' }, 'ECDSA_Signature', 'EC_P384'],
      [{ type: 'EC_P521' }, 'ECDSA_Signature', 'EC_P521'],
      [{ type: 'EC_P256K1' }, 'BIP340_Signature', 'EC_P256K1'],
      [{ type: 'BrainpoolP256' }, 'ECDSA_Signature', 'BrainpoolP256'],
      [{ type: 'BrainpoolP384' }, 'ECDSA_Signature', 'BrainpoolP384'],
      [{ type: 'BrainpoolP512' }, 'ECDSA_Signature', 'BrainpoolP512'],
      [{ type: 'ECDSA', algorithm: 'ECDSA', length: 384 }, 'ECDSA_Signature', 'ECDSA'],
      [{ type: 'ECDSA', length: 0 }, 'ECDSA_Signature', 'ECDSA'],
      [{ type: 'Generic', length: 512 }, 'AES_Encryption_CBC', 'Generic'],
    ]
    const dataBytes = [0, 32, 32, 65, 97, 133, 65, 65, 97, 129, 97, 65, 0]
    for (const [index, [more, mechanism, shown]] of cases.entries()) {
      const { status, json, headers, text } = await rig.call('POST', '/keys/generate', {
        as: 'admin',
        json: { ...more, mechanisms: [mechanism] },
      })
      assert.equal(status, 201, text())
      assert.match(json().id, /^[0-9a-f]{20}$/)
      assert.equal(headers.location, `/api/v1/keys/${json().id}`)
      const key = (await rig.call('GET', `/keys/${json().id}`, { as: 'operator' })).json()
      assert.equal(key.type, shown)
      assert.equal(key.algorithm, shown)
      assert.deepEqual(key.mechanisms, [mechanism])
      assert.deepEqual(key.restrictions, {})
      assert.equal(key.operations, 0)
      assert.equal('label' in key, false)
      if (shown === 'Generic') assert.equal('public' in key, false)
      else if (shown === 'RSA') {
        assert.deepEqual(key.public, { modulus: key.modulus, publicExponent: 'AQAB' })
        assert.equal(Buffer.from(key.modulus, 'base64').length, 128)
        assert.equal(key.publicExponent, 'AQAB')
      } else {
        assert.equal('modulus' in key, false)
        assert.deepEqual(Object.keys(key.public), ['data'])
        assert.equal(Buffer.from(key.public.data, 'base64').length, dataBytes[index])
      }
    }
  })

  test('keeps mechanisms in canonical order without doubles, tags as a sorted set', async () => {
    const json = {
      id: 'ordered',
      type: 'RSA',
      length: 1024,
      mechanisms: ['RSA_Signature_PSS_SHA256', 'RSA_Decryption_RAW', 'RSA_Signature_PKCS1', 'RSA_Decryption_RAW'],
      restrictions: { tags: ['b', 'a', 'b'] },
      label: 'Schlüssel',
    }
    assert.deepEqual((await rig.call('POST', '/keys/generate', { as: 'admin', json })).json(), { id: 'ordered' })
    const key = (await rig.call('GET', '/keys/ordered', { as: 'admin' })).json()
    assert.deepEqual(key.mechanisms, ['RSA_Decryption_RAW', 'RSA_Signature_PKCS1', 'RSA_Signature_PSS_SHA256'])
    assert.deepEqual(key.restrictions, { tags: ['a', 'b'] })
    assert.equal(key.label, 'Schlüssel')
    assert.equal(await rig.status('POST', '/keys/generate', { as: 'admin', json }), 409)
    assert.equal(await rig.status('DELETE', '/keys/ordered', { as: 'admin' }), 204)
    assert.equal(await rig.status('DELETE', '/keys/ordered', { as: 'admin' }), 404)
    assert.equal(await rig.status('GET', '/keys/ordered', { as: 'admin' }), 404)
  })

  test('imports every type from its fields', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const { p, q, e, n } = rsa.privateKey.export({ format: 'jwk' })
    const padded = Buffer.concat([Buffer.alloc(1), Buffer.from(p!, 'base64url')]).toString('base64')
    const fields = { primeP: padded, primeQ: unpadded(q), publicExponent: unpadded(e) }
    const rsaKey = { mechanisms: ['RSA_Signature_PKCS1'], type: 'RSA', private: fields }
    assert.equal(await rig.status('PUT', '/keys/rsa', { as: 'admin', json: rsaKey }), 204)
    const shown = (await rig.call('GET', '/keys/rsa', { as: 'admin' })).json()
    assert.equal(shown.modulus, unpadded(n))
    assert.equal(shown.publicExponent, 'AQAB')
    assert.equal(await rig.status('PUT', '/keys/rsa', { as: 'admin', json: rsaKey }), 409)
    assert.equal(
      await rig.status('PUT', '/keys/seed', { as: 'admin', json: { mechanisms: [], algorithm: 'RSA', key: fields } }),
      204,
    )

    const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ format: 'jwk' })
    const ecKey = { mechanisms: ['ECDSA_Signature'], algorithm: 'ECDSA', key: { data: unpadded(ec.d) } }
    const { status, json, headers } = await rig.call('POST', '/keys', { as: 'admin', json: ecKey })
    assert.equal(status, 201)
    assert.equal(headers.location, `/api/v1/keys/${json().id}`)
    const point = Buffer.concat([Buffer.of(4), Buffer.from(ec.x!, 'base64url'), Buffer.from(ec.y!, 'base64url')])
    const imported = (await rig.call('GET', `/keys/${json().id}`, { as: 'admin' })).json()
    assert.equal(imported.type, 'ECDSA')
    assert.equal(imported.public.data, point.toString('base64'))

    const ed = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
    const edKey = { mechanisms: ['EdDSA_Signature'], type: 'Curve25519', private: { data: unpadded(ed.d) } }
    assert.equal(await rig.status('PUT', '/keys/ed', { as: 'admin', json: edKey }), 204)
    assert.equal((await rig.call('GET', '/keys/ed', { as: 'admin' })).json().public.data, unpadded(ed.x))

    const generic = { mechanisms: [], type: 'Generic', private: { data: Buffer.alloc(16, 1).toString('base64') } }
    assert.equal(await rig.status('PUT', '/keys/generic', { as: 'admin', json: generic }), 204)
  })

  test('refuses imports that are not keys', async () => {
    const one = Buffer.alloc(32, 1).toString('base64')
    const mechanisms = ['ECDSA_Signature']
    for (const json of [
      { mechanisms, type: 'EC_P256', private: { data: Buffer.alloc(31, 1).toString('base64') } },
      { mechanisms, type: 'EC_P256', private: { data: Buffer.alloc(32).toString('base64') } },
      { mechanisms, type: 'EC_P256', private: { data: Buffer.alloc(32, 255).toString('base64') } },
      { mechanisms, type: 'EC_P256', private: { data: '!!!!' } },
      { mechanisms, type: 'EC_P256', private: { data: '' } },
      { mechanisms, type: 'EC_P256', private: { data: one, more: 1 } },
      { mechanisms, type: 'EC_P256', private: { data: one }, key: { data: one } },
      { mechanisms, type: 'EC_P256', private: { primeP: one, primeQ: one, publicExponent: 'AQAB' } },
      { mechanisms, type: 'EC_P256' },
      { mechanisms, type: 'ECDSA', private: { data: Buffer.alloc(33, 1).toString('base64') } },
      { mechanisms: ['EdDSA_Signature'], type: 'EC_P256', private: { data: one } },
      { mechanisms: [], type: 'RSA', private: { data: one } },
      { mechanisms: [], type: 'RSA', private: { primeP: 'Dw==', primeQ: 'Dw==', publicExponent: 'AQAB' } },
      { mechanisms: [], type: 'Generic', private: { data: Buffer.alloc(15, 1).toString('base64') } },
      { mechanisms: [], private: { data: one } },
    ])
      assert.equal(await rig.status('PUT', '/keys/wrong', { as: 'admin', json }), 400, JSON.stringify(json))
    assert.equal(await rig.status('GET', '/keys/wrong', { as: 'admin' }), 404)
  })

  test('imports PEM files in either order of parts, type from the key', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' })
    const send = (parts: [string, string][], line = 'PUT /keys/pem') => {
      const body = new FormData()
      for (const [name, content] of parts) body.append(name, new Blob([content]), name)
      return rig.call(...splitLine(line), { as: 'admin', body })
    }
    const pkcs8 = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
    const sec1 = privateKey.export({ format: 'pem', type: 'sec1' }) as string
    const input = JSON.stringify({
      mechanisms: ['ECDSA_Signature'],
      label: 'from a file',
      restrictions: { tags: ['t'] },
    })
    assert.equal(
      (
        await send([
          ['arguments', input],
          ['key_file', pkcs8],
        ])
      ).status,
      204,
    )
    const key = (await rig.call('GET', '/keys/pem', { as: 'admin' })).json()
    assert.equal(key.type, 'EC_P521')
    assert.equal(key.label, 'from a file')
    assert.deepEqual(key.restrictions, { tags: ['t'] })
    const post = await send(
      [
        ['anything', sec1],
        ['arguments', input],
      ],
      'POST /keys',
    )
    assert.equal(post.status, 201)
    assert.equal(
      (await rig.call('GET', `/keys/${post.json().id}`, { as: 'admin' })).json().public.data,
      key.public.data,
    )
    assert.equal(
      (
        await send([
          ['arguments', input],
          ['key_file', pkcs8],
        ])
      ).status,
      409,
    )

    const wrong: [string, string][][] = [
      [['arguments', input]],
      [
        ['arguments', input],
        ['arguments', pkcs8],
      ],
      [
        ['one', input],
        ['two', pkcs8],
      ],
      [
        ['arguments', input],
        ['key_file', pkcs8],
        ['more', 'x'],
      ],
      [
        ['arguments', input],
        ['key_file', 'no key'],
      ],
      [
        ['arguments', '{}'],
        ['key_file', pkcs8],
      ],
      [
        ['arguments', '{{'],
        ['key_file', pkcs8],
      ],
      [
        ['arguments', JSON.stringify({ mechanisms: [], type: 'EC_P521' })],
        ['key_file', pkcs8],
      ],
      [
        ['arguments', JSON.stringify({ mechanisms: ['EdDSA_Signature'] })],
        ['key_file', pkcs8],
      ],
    ]
    for (const parts of wrong)
      assert.equal((await send(parts, 'PUT /keys/wrong')).status, 400, parts.map(([name]) => name).join())
    assert.equal(
      (
        await send(
          [
            ['arguments', input],
            ['key_file', ''],
          ],
          'PUT /keys/wrong',
        )
      ).status,
      400,
    )
    assert.equal(
      await rig.status('PUT', '/keys/wrong', { as: 'admin', body: pkcs8, headers: { 'content-type': 'text/plain' } }),
      415,
    )
  })

  test('gives the public key as PEM, but not of Generic keys', async () => {
    await rig.key('shown')
    const { status, text, headers } = await rig.call('GET', '/keys/shown/public.pem', { as: 'operator' })
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'application/x-pem-file')
    const { x } = createPublicKey(text()).export({ format: 'jwk' })
    assert.equal((await rig.call('GET', '/keys/shown', { as: 'admin' })).json().public.data, unpadded(x))
    await rig.key('secret', { type: 'Generic', length: 128, mechanisms: ['AES_Encryption_CBC'] })
    assert.equal(await rig.status('GET', '/keys/secret/public.pem', { as: 'admin' }), 400)
    assert.equal(await rig.status('GET', '/keys/nothing/public.pem', { as: 'admin' }), 404)
    assert.equal(await rig.status('GET', '/keys/-bad/public.pem', { as: 'admin' }), 400)
  })

  test('stores certificates verbatim with their type', async () => {
    await rig.key('certified')
    const pem = { body: 'not even a certificate', headers: { 'content-type': 'application/x-pem-file' } }
    assert.equal(await rig.status('GET', '/keys/certified/cert', { as: 'admin' }), 404)
    assert.equal(await rig.status('DELETE', '/keys/certified/cert', { as: 'admin' }), 404)
    assert.equal(await rig.status('PUT', '/keys/nothing/cert', { as: 'admin', ...pem }), 404)
    assert.equal(
      await rig.status('PUT', '/keys/certified/cert', {
        as: 'admin',
        body: 'x',
        headers: { 'content-type': 'text/plain' },
      }),
      415,
    )
    assert.equal(await rig.status('PUT', '/keys/certified/cert', { ...pem, as: 'operator' }), 403)
    const put = await rig.call('PUT', '/keys/certified/cert', { as: 'admin', ...pem })
    assert.equal(put.status, 201)
    assert.equal(put.text(), '')
    assert.equal(put.headers.location, undefined)
    assert.equal(await rig.status('PUT', '/keys/certified/cert', { as: 'admin', ...pem }), 409)
    const get = async (accept?: string) => {
      const answer = await rig.call('GET', '/keys/certified/cert', {
        as: 'operator',
        headers: accept ? { accept } : {},
      })
      return [answer.status, answer.headers['content-type']]
    }
    assert.equal((await rig.call('GET', '/keys/certified/cert', { as: 'admin' })).text(), 'not even a certificate')
    assert.deepEqual(await get(), [200, 'application/x-pem-file'])
    assert.deepEqual(await get('application/octet-stream'), [200, 'application/octet-stream'])
    assert.deepEqual(await get('application/octet-stream, application/json'), [200, 'application/octet-stream'])
    assert.equal((await get('text/html'))[0], 406)
    assert.equal(await rig.status('DELETE', '/keys/certified/cert', { as: 'admin' }), 204)
    const der = { body: new Uint8Array([48, 0, 255]), headers: { 'content-type': 'application/octet-stream' } }
    assert.equal(await rig.status('PUT', '/keys/certified/cert', { as: 'admin', ...der }), 201)
    assert.deepEqual(await get(), [200, 'application/octet-stream'])
    assert.equal(await rig.status('DELETE', '/keys/certified', { as: 'admin' }), 204)
    await rig.key('certified')
    assert.equal(await rig.status('GET', '/keys/certified/cert', { as: 'admin' }), 404)
    assert.equal(
      await rig.status('PUT', '/keys/certified/cert', { as: 'admin', ...der, body: new Uint8Array(1024 * 1024 + 1) }),
      413,
    )
  })

  test('labels are set, answered with 304 when equal, and removed', async () => {
    await rig.key('labeled')
    const set = (label: unknown) => rig.status('PUT', '/keys/labeled/label', { as: 'admin', json: { label } })
    assert.equal(await set('first'), 204)
    assert.equal(await set('first'), 304)
    assert.equal(await set('x'.repeat(33)), 400)
    assert.equal(await set(1), 400)
    assert.equal((await rig.call('GET', '/keys/labeled', { as: 'admin' })).json().label, 'first')
    assert.equal(await rig.status('PUT', '/keys/nothing/label', { as: 'admin', json: { label: '' } }), 404)
    assert.equal(await rig.status('DELETE', '/keys/nothing/label', { as: 'admin' }), 404)
    assert.equal(await rig.status('DELETE', '/keys/labeled/label', { as: 'admin' }), 204)
    assert.equal(await rig.status('DELETE', '/keys/labeled/label', { as: 'admin' }), 204)
    assert.equal('label' in (await rig.call('GET', '/keys/labeled', { as: 'admin' })).json(), false)
  })

  test('restriction tags are added once and removed', async () => {
    await rig.key('tagged')
    const line = (method: string, id: string, tag: string) =>
      rig.status(method, `/keys/${id}/restrictions/tags/${tag}`, { as: 'admin' })
    assert.equal(await line('PUT', 'tagged', 'b'), 204)
    assert.equal(await line('PUT', 'tagged', 'a'), 204)
    assert.equal(await line('PUT', 'tagged', 'a'), 304)
    assert.deepEqual((await rig.call('GET', '/keys/tagged', { as: 'admin' })).json().restrictions, { tags: ['a', 'b'] })
    assert.equal(await line('PUT', 'tagged', '-'), 400)
    assert.equal(await line('PUT', 'nothing', 'a'), 404)
    assert.equal(await line('DELETE', 'nothing', 'a'), 404)
    assert.equal(await line('DELETE', 'tagged', 'a'), 204)
    assert.equal(await line('DELETE', 'tagged', 'a'), 404)
    assert.equal(await line('DELETE', 'tagged', 'b'), 204)
    assert.deepEqual((await rig.call('GET', '/keys/tagged', { as: 'admin' })).json().restrictions, {})
  })

  test('moves a key with its certificate, label, tags and count', async () => {
    await rig.key('from', { label: 'moving', restrictions: { tags: ['t'] } })
    await rig.key('taken')
    assert.equal(await rig.status('PUT', '/users/operator/tags/t', { as: 'admin' }), 204)
    const sign = (id: string) =>
      rig.status('POST', `/keys/${id}/sign`, { as: 'operator', json: { mode: 'EdDSA', message: 'AAAA' } })
    assert.equal(await sign('from'), 200)
    const cert = { body: 'certificate', headers: { 'content-type': 'application/octet-stream' } }
    assert.equal(await rig.status('PUT', '/keys/from/cert', { as: 'admin', ...cert }), 201)
    const before = (await rig.call('GET', '/keys/from', { as: 'admin' })).json()
    const move = (id: string, newId: unknown) => rig.call('POST', `/keys/${id}/move`, { as: 'admin', json: { newId } })
    assert.equal((await move('from', 'taken')).status, 409)
    assert.equal((await move('from', 'from')).status, 409)
    assert.equal((await move('from', 'generate')).status, 400)
    assert.equal((await move('from', '-')).status, 400)
    assert.equal((await move('nothing', 'x')).status, 404)
    const moved = await move('from', 'to')
    assert.equal(moved.status, 200)
    assert.deepEqual(moved.json(), { id: 'to' })
    assert.deepEqual((await rig.call('GET', '/keys/to', { as: 'admin' })).json(), before)
    assert.equal(before.operations, 1)
    assert.equal(await rig.status('GET', '/keys/from/public.pem', { as: 'admin' }), 404)
    assert.equal((await rig.call('GET', '/keys/to/cert', { as: 'admin' })).text(), 'certificate')
    assert.equal(await sign('to'), 200)
    rig.appliance.lock()
    await rig.appliance.unlock(new TextEncoder().encode('unlock passphrase'))
    assert.deepEqual((await rig.call('GET', '/keys/to', { as: 'admin' })).json(), { ...before, operations: 2 })
    assert.equal(await sign('to'), 200)
    assert.equal((await rig.call('GET', '/keys/to/cert', { as: 'admin' })).text(), 'certificate')
  })

  test('a key changes its etag with everything it shows', async () => {
    await rig.key('versioned')
    const etag = async (path = '/keys/versioned') => (await rig.call('GET', path, { as: 'admin' })).headers.etag!
    const seen = [await etag()]
    const list = await etag('/keys')
    const pem = await etag('/keys/versioned/public.pem')
    assert.equal(
      await rig.status('GET', '/keys/versioned', { as: 'admin', headers: { 'if-none-match': seen[0]! } }),
      304,
    )
    assert.equal(await rig.status('PUT', '/keys/versioned/label', { as: 'admin', json: { label: 'x' } }), 204)
    seen.push(await etag())
    const json = { mode: 'EdDSA', message: 'AAAA' }
    assert.equal(await rig.status('POST', '/keys/versioned/sign', { as: 'operator', json }), 200)
    seen.push(await etag())
    assert.equal(new Set(seen).size, 3)
    assert.notEqual(await etag('/keys'), list)
    assert.equal((await rig.call('GET', '/keys?filter', { as: 'admin' })).headers.etag, undefined)
    assert.ok(pem)
    assert.equal(await rig.status('DELETE', '/keys/versioned', { as: 'admin', headers: { 'if-match': seen[0]! } }), 412)
    assert.equal(await rig.status('DELETE', '/keys/versioned', { as: 'admin', headers: { 'if-match': seen[2]! } }), 204)
  })

  test('the log tells who did what to keys', () => {
    const text = rig.entries.map(({ level, source, message }) => `${level} ${source} ${message}`).join('\n')
    for (const line of [
      /info keys .*created ordered \(RSA\) by admin/,
      /info keys .*removed ordered by admin/,
      /info keys .*moved from to to by admin/,
      /info keys .*changed the label of labeled by admin/,
      /info keys .*added tag a to tagged by admin/,
      /info keys .*removed tag a from tagged by admin/,
      /info keys .*stored the certificate of certified by admin/,
    ])
      assert.match(text, line)
  })
})

test('keys of different namespaces never meet', async (t) => {
  const rig = await operationalRig(t)
  for (const ns of ['a', 'ab']) {
    await rig.user(`${ns}~boss`, 'Administrator')
    await rig.user(`${ns}~op`, 'Operator')
    assert.equal(await rig.status('PUT', `/namespaces/${ns}`, { as: 'admin' }), 204)
    await rig.key('same', {}, `${ns}~boss`)
  }
  await rig.key('same', { label: 'root' })
  await rig.key('root-only')
  const point = async (as: string) => (await rig.call('GET', '/keys/same', { as })).json().public.data
  assert.equal(new Set([await point('admin'), await point('a~boss'), await point('ab~op')]).size, 3)
  assert.deepEqual((await rig.call('GET', '/keys', { as: 'a~op' })).json(), [{ id: 'same', key: 'same' }])
  assert.equal(await rig.status('GET', '/keys/root-only', { as: 'a~boss' }), 404)
  assert.equal(await rig.status('DELETE', '/namespaces/a', { as: 'admin' }), 204)
  assert.equal(await rig.status('GET', '/keys/same', { as: 'a~op' }), 403)
  assert.equal(await rig.status('GET', '/keys/same', { as: 'ab~op' }), 200)
  assert.equal(await rig.status('GET', '/keys/same', { as: 'admin' }), 200)
  assert.equal(await rig.status('PUT', '/namespaces/a', { as: 'admin' }), 204)
  assert.deepEqual((await rig.call('GET', '/keys', { as: 'a~op' })).json(), [])
  assert.equal(await rig.status('GET', '/keys/same', { as: 'a~op' }), 404)
})
