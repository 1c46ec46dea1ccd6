/** `/config/tls` without sockets. Contract sections 3.4, 6.5 and 6.6. */

import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import test, { after, before } from 'node:test'
import { type Reply, splitLine } from '../support/client.ts'
import { makeOperationalRig, openRig, operationalRig, type Rig } from '../support/in-process.ts'
import { fileNeeds } from '../support/tools.ts'
import { type Issued, Workshop } from './authority.ts'

await fileNeeds('openssl')

const PEM = 'application/x-pem-file'

let workshop: Workshop
let shared: Rig
let root: Issued
let intermediate: Issued
before(async () => {
  shared = await makeOperationalRig()
  workshop = new Workshop()
  root = workshop.root('root')
  intermediate = workshop.authority('intermediate', root)
})
after(async () => {
  workshop.remove()
  await shared.close()
})

const put = (rig: Rig, path: string, body: string, type = PEM): Promise<Reply> =>
  rig.call('PUT', `/config/tls/${path}`, { as: 'admin', body, headers: { 'content-type': type } })

const get = async (rig: Rig, path: string): Promise<string> => {
  const answer = await rig.call('GET', `/config/tls/${path}`, { as: 'admin' })
  assert.equal(answer.status, 200, answer.text())
  assert.equal(answer.headers['content-type'], PEM)
  return answer.text()
}

async function request(rig: Rig, subject: object = { commonName: 'box.example' }): Promise<string> {
  const answer = await rig.call('POST', '/config/tls/csr.pem', { as: 'admin', json: subject })
  assert.equal(answer.status, 200, answer.text())
  assert.equal(answer.headers['cache-control'], 'no-cache')
  return answer.text()
}

const leafFor = async (rig: Rig, issuer: Issued): Promise<string> =>
  workshop.issue({ name: 'box', csr: await request(rig), issuer }).pem

/** Runs `change` and fails if anything of the TLS settings is another afterwards. */
async function unchanged(rig: Rig, change: () => Promise<unknown>): Promise<void> {
  const before = [
    await get(rig, 'cert.pem'),
    await get(rig, 'public.pem'),
    Buffer.from(rig.appliance.tlsIdentity().key),
  ]
  await change()
  const after = [await get(rig, 'cert.pem'), await get(rig, 'public.pem'), Buffer.from(rig.appliance.tlsIdentity().key)]
  assert.deepEqual(after, before)
}

function assertConsistent({ cert, key }: { cert: string; key: Uint8Array }): void {
  assert.ok(new X509Certificate(cert).checkPrivateKey(createPrivateKey(Buffer.from(key))))
}

test('the first certificate is self-signed and its key is the public one', async (t) => {
  const rig = await operationalRig(t)
  const certificate = new X509Certificate(await get(rig, 'cert.pem'))
  assert.equal(certificate.subject, 'CN=coffer')
  assert.equal(certificate.issuer, 'CN=coffer')
  assert.equal(certificate.publicKey.export({ type: 'spki', format: 'pem' }), await get(rig, 'public.pem'))
})

test('a certificate issued for the request is taken and read back byte for byte', async (t) => {
  const rig = await operationalRig(t)
  const pem = await leafFor(rig, intermediate)
  for (const chain of [pem, pem + intermediate.pem, pem + intermediate.pem + root.pem]) {
    const answer = await put(rig, 'cert.pem', chain)
    assert.equal(answer.status, 201, answer.text())
    assert.equal(answer.text(), '')
    assert.equal(answer.headers['content-length'], '0')
    assert.equal(answer.headers.location, '/api/v1/config/tls/cert.pem')
    assert.equal(await get(rig, 'cert.pem'), chain)
    assertConsistent(rig.appliance.tlsIdentity())
  }
})

test('a certificate alone is taken from any issuer', async (t) => {
  const rig = await operationalRig(t)
  const stranger = workshop.issue({ name: 'no authority' })
  assert.equal((await put(rig, 'cert.pem', await leafFor(rig, stranger))).status, 201)
})

test('dates are not checked', async (t) => {
  const rig = await operationalRig(t)
  const validity = { notBefore: '20000101000000Z', notAfter: '20010101000000Z' }
  const { pem } = workshop.issue({ name: 'old', csr: await request(rig), issuer: intermediate, validity })
  assert.equal((await put(rig, 'cert.pem', pem + intermediate.pem)).status, 201)
})

/** A validity that ends in month 99; the signature is not that of an authority then, which nobody verifies for one certificate. */
function withoutEnd(pem: string): string {
  const der = Buffer.from(pem.replace(/-----.*-----/g, ''), 'base64')
  der.write('999999999999Z', der.indexOf('400101000000Z'))
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
}

test('dates that cannot be read are 400, and a stored certificate with them has no end', async (t) => {
  const rig = await operationalRig(t)
  const validity = { notBefore: '20200101000000Z', notAfter: '20400101000000Z' }
  const issued = workshop.issue({ name: 'box', csr: await request(rig), issuer: intermediate, validity }).pem
  const pem = withoutEnd(issued)
  await unchanged(rig, async () => {
    const { status, text } = await put(rig, 'cert.pem', pem)
    assert.equal(status, 400, text())
    assert.match(text(), /The dates of certificate 1 cannot be read/)
  })
  const { tls } = rig.appliance.configuration
  tls.use({ ...tls.identity, cert: pem })
  const { startMs, endMs } = tls.life
  assert.deepEqual({ startMs, endMs }, { startMs: Date.UTC(2020), endMs: Date.UTC(9999, 11, 31, 23, 59, 59) })
})

test('what is not for the key, no chain or no certificate is 400, a wrong type 415, and changes nothing', async (t) => {
  const rig = await operationalRig(t)
  const pem = await leafFor(rig, intermediate)
  const foreign = workshop.issue({ name: 'foreign', issuer: intermediate }).pem
  const bodies = ['', 'nonsense', foreign, pem + root.pem, intermediate.pem + pem, pem + pem, pem.slice(0, -40)]
  await unchanged(rig, async () => {
    for (const body of bodies) {
      const { status, json } = await put(rig, 'cert.pem', body)
      assert.equal(status, 400, body)
      assert.equal(typeof json().message, 'string')
    }
    for (const type of ['application/octet-stream', 'application/json', 'text/plain', '']) {
      assert.equal((await put(rig, 'cert.pem', pem, type)).status, 415, type)
      assert.equal((await put(rig, 'cluster-ca.pem', root.pem, type)).status, 415, type)
    }
    assert.equal((await put(rig, 'cert.pem', pem.repeat(4000))).status, 413)
  })
  assert.equal((await put(rig, 'cert.pem', pem, 'Application/X-PEM-File; charset=utf-8')).status, 201)
})

test('etags change with what they stand for, and conditions are judged by them', async (t) => {
  const rig = await operationalRig(t)
  const etag = async (path: string) => (await rig.call('GET', `/config/tls/${path}`, { as: 'admin' })).headers.etag!
  const [oldCert, oldKey] = [await etag('cert.pem'), await etag('public.pem')]
  assert.match(oldCert, /^"[^"]+"$/)
  const pem = await leafFor(rig, intermediate)
  const conditional = (ifMatch: string) =>
    rig.status('PUT', '/config/tls/cert.pem', {
      as: 'admin',
      body: pem,
      headers: { 'content-type': PEM, 'if-match': ifMatch },
    })
  assert.equal(await conditional('"another"'), 412)
  assert.equal(await conditional(oldCert), 201)
  assert.notEqual(await etag('cert.pem'), oldCert)
  assert.equal(await etag('public.pem'), oldKey)
  assert.equal(await rig.status('POST', '/config/tls/generate', { as: 'admin', json: { type: 'EC_P256' } }), 204)
  assert.notEqual(await etag('public.pem'), oldKey)
  const same = await etag('cert.pem')
  assert.equal(
    await rig.status('GET', '/config/tls/cert.pem', { as: 'admin', headers: { 'if-none-match': same } }),
    304,
  )
})

const TYPES: [body: { type?: string; algorithm?: string; length?: number }, details: RegExp][] = [
  [{ type: 'RSA', length: 2048 }, /^rsa 2048$/],
  [{ type: 'RSA', length: 3072 }, /^rsa 3072$/],
  [{ type: 'Curve25519' }, /^ed25519/],
  [{ type: 'ED25519' }, /^ed25519/],
  [{ type: 'EC_P256', length: 17 }, /^ec prime256v1$/],
  [{ algorithm: 'EC_P384' }, /^ec secp384r1$/],
  [{ type: 'EC_P521', algorithm: 'EC_P521' }, /^ec secp521r1$/],
  [{ type: 'ECDSA' }, /^ec prime256v1$/],
  [{ type: 'ECDSA', length: 521 }, /^ec secp521r1$/],
  [{ type: 'BrainpoolP256' }, /^ec brainpoolP256r1$/],
  [{ type: 'BrainpoolP384' }, /^ec brainpoolP384r1$/],
  [{ type: 'BrainpoolP512' }, /^ec brainpoolP512r1$/],
]
for (const [body, details] of TYPES) {
  test(`generates ${JSON.stringify(body)} with a certificate and requests of its own`, async () => {
    const rig = shared
    const former = { ...rig.appliance.tlsIdentity() }
    const formerCert = await get(rig, 'cert.pem')
    const answer = await rig.call('POST', '/config/tls/generate', { as: 'admin', json: body })
    assert.equal(answer.status, 204, answer.text())
    assert.equal(answer.headers['cache-control'], 'no-cache')
    const publicPem = await get(rig, 'public.pem')
    const key = createPublicKey(publicPem)
    const { modulusLength, namedCurve } = key.asymmetricKeyDetails!
    assert.match(`${key.asymmetricKeyType} ${modulusLength ?? namedCurve}`, details)
    const cert = await get(rig, 'cert.pem')
    assert.notEqual(cert, formerCert)
    const path = workshop.file('self.pem', cert)
    assert.match(workshop.openssl(['verify', '-CAfile', path, path]), /OK/)
    assert.equal(new X509Certificate(cert).subject, 'CN=coffer')
    assertConsistent(rig.appliance.tlsIdentity())
    const csr = workshop.file('own.csr', await request(rig))
    workshop.openssl(['req', '-in', csr, '-verify', '-noout'])
    assert.equal(workshop.openssl(['req', '-in', csr, '-pubkey', '-noout']), publicPem)
    assert.deepEqual(former.key, new Uint8Array(former.key.length), 'the former key is not wiped')
    assert.equal((await put(rig, 'cert.pem', await leafFor(rig, intermediate))).status, 201)
  })
}

test('keys too short to be served, bad types and lengths are 400 and change nothing', async (t) => {
  const rig = await operationalRig(t)
  const bodies: object[] = [
    { type: 'RSA', length: 1024 },
    { type: 'RSA', length: 1536 },
    { type: 'RSA' },
    { type: 'RSA', length: 1023 },
    { type: 'RSA', length: 8193 },
    { type: 'RSA', length: '2048' },
    { type: 'EC_P256K1' },
    { type: 'Generic', length: 256 },
    { type: 'EC_P224' },
    { type: 'ECDSA', length: 512 },
    { type: 'EC_P256', algorithm: 'EC_P384' },
    { type: 'EC_P256', more: 1 },
    {},
  ]
  await unchanged(rig, async () => {
    for (const json of bodies) {
      assert.equal(await rig.status('POST', '/config/tls/generate', { as: 'admin', json }), 400, JSON.stringify(json))
    }
  })
})

test('requests follow the rules of those for other keys', async (t) => {
  const rig = await operationalRig(t)
  const subject = { commonName: 'box.example', countryName: 'DE', organizationName: 'Example' }
  const text = workshop.openssl([
    ...['req', '-noout', '-text', '-in'],
    workshop.file('rules.csr', await request(rig, { ...subject, subjectAltNames: ['a.example', 'IP:10.0.0.1'] })),
  ])
  assert.match(text, /Subject: CN = box\.example, C = DE, O = Example/)
  assert.match(text, /DNS:a\.example, IP Address:10\.0\.0\.1/)
  for (const json of [
    {},
    { commonName: '' },
    { commonName: 'a', countryName: 'Ä' },
    { commonName: 'a', x: 1 },
    { commonName: 'a\nb' },
    { commonName: 'a\0b' },
  ]) {
    assert.equal(await rig.status('POST', '/config/tls/csr.pem', { as: 'admin', json }), 400)
  }
})

test('the cluster CA: 404 before it is set, must be a root that has signed the certificate, cannot be got around', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await rig.status('GET', '/config/tls/cluster-ca.pem', { as: 'admin' }), 404)
  for (const body of ['', 'x', intermediate.pem, root.pem + root.pem, workshop.issue({ name: 'self' }).pem]) {
    assert.equal((await put(rig, 'cluster-ca.pem', body)).status, 400)
  }
  assert.equal((await put(rig, 'cluster-ca.pem', root.pem)).status, 412, 'the certificate is still self-signed')
  assert.equal(await rig.status('GET', '/config/tls/cluster-ca.pem', { as: 'admin' }), 404)

  const pem = await leafFor(rig, intermediate)
  assert.equal((await put(rig, 'cert.pem', pem)).status, 201)
  assert.equal((await put(rig, 'cluster-ca.pem', root.pem)).status, 412, 'nothing leads from the leaf to the root')
  assert.equal((await put(rig, 'cert.pem', pem + intermediate.pem)).status, 201)
  const set = await put(rig, 'cluster-ca.pem', root.pem)
  assert.equal(set.status, 201)
  assert.equal(set.headers.location, '/api/v1/config/tls/cluster-ca.pem')
  assert.equal(await get(rig, 'cluster-ca.pem'), root.pem)

  await unchanged(rig, async () => {
    assert.equal(await rig.status('POST', '/config/tls/generate', { as: 'admin', json: { type: 'EC_P256' } }), 412)
    const other = workshop.root('other')
    assert.equal((await put(rig, 'cert.pem', await leafFor(rig, other))).status, 412)
    assert.equal((await put(rig, 'cert.pem', 'x')).status, 400)
    assert.equal((await put(rig, 'cluster-ca.pem', other.pem)).status, 412)
    assert.equal(await rig.status('DELETE', '/config/tls/cluster-ca.pem', { as: 'admin' }), 405)
  })
  assert.equal(await get(rig, 'cluster-ca.pem'), root.pem)
  assert.equal((await put(rig, 'cert.pem', await leafFor(rig, root))).status, 201)
})

test('changes at the same time leave one whole identity', async (t) => {
  const rig = await operationalRig(t)
  const pem = await leafFor(rig, intermediate)
  const generate = () => rig.status('POST', '/config/tls/generate', { as: 'admin', json: { type: 'EC_P256' } })
  const statuses = await Promise.all([
    ...Array.from({ length: 6 }, generate),
    ...Array.from({ length: 6 }, async () => (await put(rig, 'cert.pem', pem)).status),
    ...Array.from({ length: 3 }, async () => request(rig).then(() => 200)),
  ])
  for (const status of statuses) assert.ok([200, 201, 204, 400].includes(status), String(status))
  assertConsistent(rig.appliance.tlsIdentity())
  assert.equal(
    new X509Certificate(await get(rig, 'cert.pem')).publicKey.export({ type: 'spki', format: 'pem' }),
    await get(rig, 'public.pem'),
  )
})

test('a lock while a key is being made stores nothing', async (t) => {
  const rig = await operationalRig(t)
  const { cert } = rig.appliance.tlsIdentity()
  const making = rig.status('POST', '/config/tls/generate', { as: 'admin', json: { type: 'RSA', length: 4096 } })
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  assert.equal(await making, 412)
  assert.equal(rig.appliance.tlsIdentity().cert, cert)
})

test('no private key is logged', async (t) => {
  const rig = await operationalRig(t)
  await rig.call('POST', '/config/tls/generate', { as: 'admin', json: { type: 'EC_P256' } })
  const key = Buffer.from(rig.appliance.tlsIdentity().key).toString().split('\n')[1]!
  const text = rig.entries.map(({ message }) => message).join('\n')
  assert.match(text, /TLS key of type EC_P256 generated by admin/)
  assert.ok(!text.includes(key.slice(0, 20)))
})

test('nothing of it is offered unless Operational, or to others than root Administrators', async (t) => {
  const fresh = await openRig(t)
  const rig = await operationalRig(t)
  const lines = ['GET /config/tls/cert.pem', 'PUT /config/tls/cert.pem', 'POST /config/tls/generate']
  for (const line of [...lines, 'GET /config/tls/cluster-ca.pem', 'GET /config/network', 'PUT /config/logging']) {
    assert.equal(await fresh.status(...splitLine(line)), 412, line)
    assert.equal(await rig.status(...splitLine(line)), 401, line)
    for (const as of ['operator', 'metrics', 'backup'])
      assert.equal(await rig.status(...splitLine(line), { as }), 403, line)
  }
})
