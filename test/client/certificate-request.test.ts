/** DER, names and certificate requests from anywhere: what is not in order is refused, and nothing is read past its end. */

import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, sign, verify, X509Certificate } from 'node:crypto'
import test from 'node:test'
import fc from 'fast-check'
import { readCertificate } from '../../firmware/client/certificate.ts'
import { readRequest } from '../../firmware/client/certificate-request.ts'
import {
  bitString,
  children,
  context,
  element,
  integer,
  octets,
  oid,
  oidText,
  readElement,
  sequence,
  TAG,
  text,
  time,
  yes,
} from '../../firmware/client/der.ts'
import { addressBytes, generalName } from '../../firmware/client/general-name.ts'
import {
  algorithmOf,
  certificateBody,
  extensionsOf,
  keyIdOf,
  signed,
  subjectName,
} from '../../firmware/client/issuing.ts'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const spki = publicKey.export({ type: 'spki', format: 'der' })
const ECDSA_SHA256 = algorithmOf({ mode: 'ECDSA', hash: 'SHA256' })!
const EXTENSION_REQUEST = oid('1.2.840.113549.1.9.14')

interface Parts {
  version: Uint8Array
  subject: Uint8Array
  key: Uint8Array
  attributes: Uint8Array
  algorithm: Uint8Array
  signature: (signature: Uint8Array) => Uint8Array
}

const names = (...list: string[]) => sequence(...list.map((name) => generalName(name).der))
const extension = (type: string, value: Uint8Array, ...critical: Uint8Array[]) =>
  sequence(oid(type), ...critical, octets(value))
const asking = (...extensions: Uint8Array[]) =>
  element(context(0), sequence(EXTENSION_REQUEST, element(TAG.set, sequence(...extensions))))
const commonName = (value: string, tag: number = TAG.utf8) => subjectName([{ type: '2.5.4.3', tag, value }])

function request(parts: Partial<Parts> = {}): Buffer {
  const { version, subject, key, attributes, algorithm, signature }: Parts = {
    version: integer(Uint8Array.of(0)),
    subject: commonName('www.example.org'),
    key: spki,
    attributes: asking(extension('2.5.29.17', names('www.example.org', '192.0.2.7', '2001:db8::1', 'a@example.org'))),
    algorithm: ECDSA_SHA256,
    signature: bitString,
    ...parts,
  }
  const info = sequence(version, subject, key, attributes)
  return Buffer.from(sequence(info, algorithm, signature(sign('sha256', info, privateKey))))
}

test('a request in order is read, in DER and in PEM, and its signature is over what was read', () => {
  const der = request()
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
  for (const bytes of [der, Buffer.from(pem)]) {
    const found = readRequest(bytes)
    assert.equal(found.subjectText, 'CN=www.example.org')
    assert.deepEqual(
      found.names.map(({ kind, text }) => `${kind}:${text}`),
      ['DNS:www.example.org', 'IP:192.0.2.7', 'IP:2001:db8:0:0:0:0:0:1', 'email:a@example.org'],
    )
    assert.deepEqual([found.hash, found.others], ['SHA256', []])
    assert.ok(verify(found.hash, found.signed, publicKey, found.signature))
    assert.deepEqual(Buffer.from(found.key), spki)
  }
})

test('other wishes are named and not fulfilled', () => {
  const constraints = extension('2.5.29.19', sequence(yes()), yes())
  const challenge = sequence(oid('1.2.840.113549.1.9.7'), element(TAG.set, text(TAG.printable, 'secret')))
  const list = children(readElement(asking(constraints)).content)
  const found = readRequest(request({ attributes: element(context(0), challenge, ...list.map(({ whole }) => whole)) }))
  assert.deepEqual(found.others, ['1.2.840.113549.1.9.7', '2.5.29.19'])
  assert.deepEqual(found.names, [])
})

const san = (value: Uint8Array, ...critical: Uint8Array[]) => ({
  attributes: asking(extension('2.5.29.17', value, ...critical)),
})
const nameOfTag = (tag: number, value: string) => san(sequence(text(tag, value)))
const twice = extension('2.5.29.17', names('a.example'))

const REFUSED: Readonly<Record<string, Partial<Parts>>> = {
  'another version': { version: integer(Uint8Array.of(1)) },
  'a subject that is no name': { subject: octets(Uint8Array.of(1)) },
  'an empty string in the subject': { subject: commonName('') },
  'a line break in the subject': { subject: commonName('a\nb') },
  'a NUL in the subject': { subject: commonName('www.example.org\0.evil.example') },
  'a direction mark in the subject': { subject: commonName('a\u202eb') },
  'a subject that is not UTF-8': {
    subject: sequence(element(TAG.set, sequence(oid('2.5.4.3'), element(TAG.utf8, Uint8Array.of(0xff))))),
  },
  'a subject in a string of long ago': { subject: commonName('a', 0x14) },
  'no attributes': { attributes: new Uint8Array() },
  'names twice': { attributes: asking(twice, twice) },
  'an empty list of names': san(sequence()),
  'a name of a kind that is not taken': nameOfTag(0x88, 'a'),
  'a DNS name with a NUL': nameOfTag(0x82, 'www.example.org\0.evil.example'),
  'a DNS name with a space': nameOfTag(0x82, 'www example'),
  'a DNS name of other letters': nameOfTag(0x82, 'bücher.example'),
  'a wildcard in the middle': nameOfTag(0x82, 'www.*.example'),
  'an address of five bytes': nameOfTag(0x87, 'abcde'),
  'an email address with two @': nameOfTag(0x81, 'a@b@c'),
  'a critical mark that is not TRUE': san(names('a.example'), element(TAG.boolean, Uint8Array.of(1))),
  'a critical mark twice': san(names('a.example'), yes(), yes()),
  'something behind the names': san(Buffer.concat([names('a.example'), Uint8Array.of(0)])),
  'a signature with SHA-1': { algorithm: sequence(oid('1.2.840.10045.4.1')) },
  'a signature with MD5': { algorithm: sequence(oid('1.2.840.113549.1.1.4'), element(0x05)) },
  'parameters where none belong': { algorithm: sequence(oid('1.2.840.10045.4.3.2'), element(0x05)) },
  'a signature of half bytes': { signature: (bytes) => element(TAG.bitString, Uint8Array.of(4), bytes) },
}

for (const [what, parts] of Object.entries(REFUSED))
  test(`refuses ${what}`, () => {
    assert.throws(() => readRequest(request(parts)))
  })

test('refuses every request that is cut or has something behind it', () => {
  const der = request()
  for (let length = 0; length < der.length; length++) assert.throws(() => readRequest(der.subarray(0, length)))
  assert.throws(() => readRequest(Buffer.concat([der, Buffer.of(0)])))
})

test('whatever is changed in a request, it is refused or its signature is found out', () => {
  const der = request()
  fc.assert(
    fc.property(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const changed = Buffer.from(der)
      changed[at]! ^= change
      try {
        const found = readRequest(changed)
        assert.ok(!isSigned(found.signed, found.signature) || der.equals(changed))
      } catch (error) {
        assert.ok(error instanceof Error && error.message !== '')
      }
    }),
    { numRuns: 2000 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      assert.throws(() => readRequest(bytes), Error)
    }),
  )
})

function isSigned(data: Uint8Array, signature: Uint8Array, key: KeyObject = publicKey): boolean {
  try {
    return verify('sha256', data, key, signature)
  } catch {
    return false
  }
}

test('lengths, numbers and identifiers are written as DER has them, and read back', () => {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  assert.equal(hex(integer(Uint8Array.of(0))), '020100')
  assert.equal(hex(integer(Uint8Array.of(0, 0, 128))), '02020080')
  assert.equal(hex(oid('1.2.840.113549')), '06062a864886f70d')
  assert.equal(hex(time(new Date('2049-12-31T23:59:59Z'))), '170d3439313233313233353935395a')
  assert.equal(hex(time(new Date('2050-01-01T00:00:00Z'))), '180f32303530303130313030303030305a')
  for (const malformed of ['', '30', '3080', '308100', '30820001', '3085000000000100', '1f0100', '30020201'])
    assert.throws(
      () => children(readElement(Buffer.from(malformed, 'hex')).content).map(({ content }) => content),
      malformed,
    )
  fc.assert(
    fc.property(fc.nat({ max: 70_000 }), (length) => {
      const whole = element(TAG.octets, new Uint8Array(length))
      assert.deepEqual([readElement(whole).content.length, readElement(whole).whole.length], [length, whole.length])
    }),
    { numRuns: 50 },
  )
  const arcs = fc.array(fc.nat({ max: 2 ** 31 - 1 }), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(fc.nat({ max: 1 }), fc.nat({ max: 39 }), arcs, (top, second, rest) => {
      const dotted = [top, second, ...rest].join('.')
      assert.equal(oidText(readElement(oid(dotted))), dotted)
    }),
  )
})

test('addresses are read in every form, and nothing else is one', () => {
  assert.equal(Buffer.from(addressBytes('::ffff:192.0.2.1')!).toString('hex'), '00000000000000000000ffffc0000201')
  assert.equal(Buffer.from(addressBytes('2001:DB8::')!).toString('hex'), '20010db8000000000000000000000000')
  assert.equal(Buffer.from(addressBytes('::')!).toString('hex'), '0'.repeat(32))
  for (const no of [
    '1.2.3',
    '256.1.1.1',
    '1.2.3.4.5',
    ':::',
    '1::2::3',
    'g::',
    '12345::',
    'fe80::1%eth0',
    'a.b',
    '::1]@x',
  ])
    assert.equal(addressBytes(no), null, no)
  for (const no of ['', ' ', 'a b', '-a.example', 'a..b', '*', 'IP:a.example', 'x'.repeat(64)])
    assert.throws(() => generalName(no), Error, no)
})

test('a certificate that is made here is what OpenSSL and our own reader read', () => {
  const subject = commonName('Authority')
  const issuer = { name: subject, keyId: keyIdOf(spki), algorithm: ECDSA_SHA256 }
  const body = certificateBody(issuer, {
    serial: Uint8Array.of(0x80, 1),
    subject,
    key: spki,
    notBefore: new Date('2026-01-01T00:00:00Z'),
    notAfter: new Date('2051-01-01T00:00:00Z'),
    extensions: extensionsOf({ use: 'authority', key: spki, names: [], hasEmptySubject: false }, null),
  })
  const der = signed(body, ECDSA_SHA256, sign('sha256', body, privateKey))
  const certificate = new X509Certificate(der)
  assert.ok(certificate.ca && certificate.verify(publicKey) && certificate.checkIssued(certificate))
  const facts = readCertificate(der)
  assert.deepEqual(
    [facts.subject, facts.notAfter.toISOString(), certificate.serialNumber],
    ['CN=Authority', '2051-01-01T00:00:00.000Z', '8001'],
  )
})
