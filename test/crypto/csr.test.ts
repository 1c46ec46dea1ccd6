import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { CofferError } from '../../firmware/base/error.ts'
import { CURVES } from '../../firmware/crypto/algorithms.ts'
import { generateCurveKey, openCurveKey } from '../../firmware/crypto/ec/private-key.ts'
import { type CsrSubject, createCsr } from '../../firmware/crypto/encoding/csr.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { generateRsa, openRsa } from '../../firmware/crypto/rsa/private-key.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import type { CurveKeyType } from '../../firmware/crypto/types.ts'
import { fileNeeds } from '../support/tools.ts'
import { file, openssl } from './support.ts'

await fileNeeds('openssl')

const ALGORITHMS: Record<CurveKeyType, string> = {
  EC_P256: 'ecdsa-with-SHA256',
  EC_P384: 'ecdsa-with-SHA384',
  EC_P521: 'ecdsa-with-SHA512',
  EC_P256K1: 'ecdsa-with-SHA256',
  BrainpoolP256: 'ecdsa-with-SHA256',
  BrainpoolP384: 'ecdsa-with-SHA384',
  BrainpoolP512: 'ecdsa-with-SHA512',
  Curve25519: 'ED25519',
}

function requestFor(type: CurveKeyType, subject: CsrSubject): Promise<string> {
  const pair = generateCurveKey(type, systemRandom)
  const key = openCurveKey(type, pair.private, systemRandom)
  return createCsr(type, pair.public, subject, async (mode, message) => key.sign(mode, message))
}

/** The text openssl prints after it has verified the request's own signature. */
function verified(pem: string): string {
  return openssl([
    'req',
    '-verify',
    '-text',
    '-noout',
    '-nameopt',
    'RFC2253,-dn_rev,utf8,-esc_msb',
    '-in',
    file('r.pem', pem),
  ]).toString()
}
const structure = (pem: string): string => openssl(['asn1parse', '-i'], pem).toString()
const invalid = (field: string) => (error: unknown) =>
  error instanceof CofferError && error.code === 'invalid' && error.message.startsWith(field)

for (const type of [...Object.keys(CURVES), 'Curve25519'] as CurveKeyType[]) {
  test(`${type}: openssl verifies the request and names the right signature algorithm`, async () => {
    const text = verified(await requestFor(type, { commonName: 'host.example' }))
    assert.match(text, new RegExp(`Signature Algorithm: ${ALGORITHMS[type]}`))
    assert.match(text, /Subject: CN=host\.example\n/)
  })
}

test('RSA: openssl verifies the request, signed with SHA-256', async () => {
  const key = generateRsa(1024)
  const opened = openRsa(key)
  const subject = { commonName: 'host.example' }
  const publicKey = { modulus: key.n, publicExponent: key.e }
  const pem = await createCsr('RSA', publicKey, subject, async (mode, message) => opened.sign(mode, message))
  assert.match(verified(pem), /Signature Algorithm: sha256WithRSAEncryption/)
  assert.equal([...structure(pem).matchAll(/NULL/g)].length, 2, 'parameters of both algorithms')
})

const FULL = {
  commonName: 'Schlüssel №1',
  countryName: 'DE',
  stateOrProvinceName: 'Baden-Württemberg',
  localityName: 'München',
  organizationName: '会社',
  organizationalUnitName: 'R&D',
  emailAddress: 'keys@example.com',
  subjectAltNames: [],
}

test('the subject has its attributes in order, each in an RDN of its own and of its own string type', async () => {
  const pem = await requestFor('EC_P256', FULL)
  assert.match(
    verified(pem),
    /Subject: CN=Schlüssel №1,C=DE,ST=Baden-Württemberg,L=München,O=会社,OU=R&D,emailAddress=keys@example\.com\n/,
  )
  const kinds = [...structure(pem).matchAll(/(UTF8STRING|PRINTABLESTRING|IA5STRING)/g)].map(([kind]) => kind)
  assert.deepEqual(kinds, [
    'UTF8STRING',
    'PRINTABLESTRING',
    'UTF8STRING',
    'UTF8STRING',
    'UTF8STRING',
    'UTF8STRING',
    'IA5STRING',
  ])
  assert.equal([...structure(pem).matchAll(/ SET /g)].length, 7)
})

test('empty members are left out, an empty common name is refused', async () => {
  const subject = { commonName: 'a', countryName: '', localityName: '', organizationName: 'O', emailAddress: '' }
  assert.match(verified(await requestFor('EC_P256', subject)), /Subject: CN=a,O=O\n/)
  await assert.rejects(requestFor('EC_P256', { commonName: '' }), invalid('commonName'))
})

test('characters a string type does not have are refused', async () => {
  await assert.rejects(requestFor('EC_P256', { commonName: 'a', countryName: 'Ö' }), invalid('countryName'))
  await assert.rejects(requestFor('EC_P256', { commonName: 'a', countryName: 'D*' }), invalid('countryName'))
  await assert.rejects(requestFor('EC_P256', { commonName: 'a', emailAddress: 'ä@b' }), invalid('emailAddress'))
})

test('without alternative names the common name becomes the one DNS name, not critical', async () => {
  for (const subjectAltNames of [undefined, null]) {
    const text = verified(await requestFor('EC_P256', { commonName: 'host.example', subjectAltNames }))
    assert.match(text, /Requested Extensions:\s+X509v3 Subject Alternative Name: \n\s+DNS:host\.example\n/)
  }
})

test('an empty list of alternative names asks for no extension', async () => {
  const pem = await requestFor('EC_P256', { commonName: 'host.example', subjectAltNames: [] })
  assert.match(verified(pem), /Attributes:\s+\(none\)/)
  assert.doesNotMatch(structure(pem), /Extension Request/)
  assert.match(structure(pem), /l= +0 cons: +cont \[ 0 \]/, 'the attributes are there, empty, as RFC 2986 wants')
})

test('alternative names are DNS names, or addresses after IP:', async () => {
  const subjectAltNames = ['a.example', '*.b.example', 'IP:192.0.2.1', 'IP:2001:db8::1', 'IP:::ffff:192.0.2.7', 'IP:::']
  const text = verified(await requestFor('EC_P256', { commonName: 'not.repeated', subjectAltNames }))
  assert.match(
    text,
    /DNS:a\.example, DNS:\*\.b\.example, IP Address:192\.0\.2\.1, IP Address:2001:DB8:0:0:0:0:0:1, IP Address:0:0:0:0:0:FFFF:C000:207, IP Address:0:0:0:0:0:0:0:0\n/,
  )
})

test('addresses that are none are refused', async () => {
  for (const name of ['IP:', 'IP:300.1.1.1', 'IP:1.2.3', 'IP:fe80::1%eth0', 'IP:10.0.0.0/8', 'IP:host.example']) {
    await assert.rejects(
      requestFor('EC_P256', { commonName: 'a', subjectAltNames: [name] }),
      invalid('subjectAltNames'),
    )
  }
})

test('international names become A-labels, what is no DNS name at all is refused', async () => {
  const names = { commonName: 'a', subjectAltNames: ['bücher.example'] }
  assert.match(verified(await requestFor('EC_P256', names)), /DNS:xn--bcher-kva\.example\n/)
  for (const subjectAltNames of [[''], ['Zoë Service'], Array(300).fill('a.example')]) {
    await assert.rejects(requestFor('EC_P256', { commonName: 'a', subjectAltNames }), invalid('subjectAltNames'))
  }
})

test('Generic keys make no request', async () => {
  await assert.rejects(
    createCsr('Generic', null, { commonName: 'a' }, async () => new Uint8Array()),
    invalid('Generic'),
  )
})

test('no part of a subject holds a line break, a NUL or another control character', async () => {
  for (const character of ['\n', '\r', '\0', '\t', '\x1b', '\x7f', '\x85', '\u2028', '\u2029']) {
    const text = `a${character}b`
    for (const field of ['commonName', 'countryName', 'organizationName', 'localityName', 'emailAddress'])
      await assert.rejects(requestFor('EC_P256', { commonName: 'box', [field]: text }), invalid(field), field)
    const subject = { commonName: 'box', subjectAltNames: [text] }
    await assert.rejects(requestFor('EC_P256', subject), invalid('subjectAltNames'))
  }
})

test('the first TLS identity is a valid self-signed P-256 certificate with a common name only', async () => {
  const { key, cert } = await makeTlsIdentity(systemRandom)
  const path = file('cert.pem', cert)
  assert.match(openssl(['verify', '-x509_strict', '-CAfile', path, path]).toString(), /OK/)
  openssl(['pkey', '-check', '-noout', '-in', file('key.pem', key)])
  const text = openssl(['x509', '-in', path, '-noout', '-text']).toString()
  assert.match(text, /Version: 3/)
  assert.match(text, /Issuer: CN = coffer\n/)
  assert.match(text, /Subject: CN = coffer\n/)
  assert.match(text, /Not Before: Jan {2}1 00:00:00 1970 GMT/)
  assert.match(text, /Not After : Dec 31 23:59:59 9999 GMT/)
  assert.match(text, /ASN1 OID: prime256v1/)
  assert.doesNotMatch(text, /Alternative/)
})

test('serial numbers are random, positive and of 16 bytes', async () => {
  const stuck = (byte: number) => (bytes: number) =>
    bytes === 16 ? new Uint8Array(16).fill(byte) : systemRandom(bytes)
  const serialOf = async (random: typeof systemRandom) =>
    new X509Certificate((await makeTlsIdentity(random)).cert).serialNumber
  assert.equal(await serialOf(stuck(0xff)), `7F${'FF'.repeat(15)}`)
  assert.equal(await serialOf(stuck(0)), `40${'00'.repeat(15)}`)
  assert.notEqual(await serialOf(systemRandom), await serialOf(systemRandom))
})

test('a TLS server runs on the first identity and clients can pin it', async () => {
  const { key, cert } = await makeTlsIdentity(systemRandom, 'box.example')
  const server = createServer({ key: Buffer.from(key), cert }, (socket) => socket.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const checkServerIdentity = () => undefined
  const client = connect({ host: '127.0.0.1', port, ca: cert, checkServerIdentity })
  const chunks: Buffer[] = []
  for await (const chunk of client) chunks.push(chunk as Buffer)
  assert.equal(Buffer.concat(chunks).toString(), 'hello')
  assert.equal(client.authorized, true)
  server.close()
})
