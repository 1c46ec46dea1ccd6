import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { CofferError } from '../../firmware/base/error.ts'
import {
  checkChain,
  encodeCertificates,
  isIssuedBy,
  isRoot,
  parseCertificates,
} from '../../firmware/crypto/encoding/certificates.ts'
import { decodeBody, encodePem, splitPem } from '../../firmware/crypto/encoding/pem.ts'
import { type Issued, Workshop } from '../configuration/authority.ts'
import { fileNeeds } from '../support/tools.ts'

await fileNeeds('openssl')

const workshop = new Workshop()
after(() => workshop.remove())

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const parse = (...issued: { pem: string }[]) => parseCertificates(utf8(issued.map(({ pem }) => pem).join('')))
const refused = (pattern: RegExp) => (error: unknown) =>
  error instanceof CofferError && error.code === 'invalid' && pattern.test(error.message)

const root = workshop.root('root')
const intermediate = workshop.authority('intermediate', root)
const lower = workshop.authority('lower', intermediate)
const leaf = workshop.issue({ name: 'leaf', issuer: lower })
const other = workshop.root('other root')
const namesake = workshop.root('lower') // the name of the issuer, another key

const derOf = ({ pem }: { pem: string }): Uint8Array => decodeBody(splitPem(utf8(pem))[0]!.body)

test('a chain reads back byte for byte as openssl wrote it', () => {
  const pem = leaf.pem + lower.pem + intermediate.pem + root.pem
  assert.equal(encodeCertificates(parseCertificates(utf8(pem))), pem)
})

test('text around the certificates, CR LF and other widths are put into canonical form', () => {
  const wide = `-----BEGIN CERTIFICATE-----\r\n${Buffer.from(derOf(leaf)).toString('base64')}\r\n-----END CERTIFICATE-----\r\n`
  assert.equal(
    encodeCertificates(parseCertificates(utf8(`subject=leaf\n${wide}issuer\n${lower.pem}end`))),
    leaf.pem + lower.pem,
  )
})

test('chains of every length verify up to their last certificate, whether that is a root or not', () => {
  const chain = [leaf, lower, intermediate, root]
  for (let length = 1; length <= chain.length; length++) checkChain(parse(...chain.slice(0, length)))
  checkChain(parse(root))
})

const BROKEN: [name: string, chain: () => Issued[]][] = [
  ['a missing link', () => [leaf, intermediate, root]],
  ['the wrong order', () => [leaf, intermediate, lower]],
  ['a stranger at the end', () => [leaf, lower, intermediate, other]],
  ['a stranger at the beginning', () => [other, lower]],
  ['the same certificate twice', () => [leaf, leaf]],
  ['an issuer of the right name and another key', () => [leaf, namesake]],
  [
    'an issuer that is no authority',
    () => {
      const plain = workshop.issue({ name: 'plain', issuer: root, extensions: ['basicConstraints=CA:FALSE'] })
      return [workshop.issue({ name: 'below', issuer: plain }), plain]
    },
  ],
  [
    'an issuer without basic constraints',
    () => {
      const bare = workshop.issue({ name: 'bare', issuer: root, extensions: ['subjectKeyIdentifier=hash'] })
      return [workshop.issue({ name: 'below', issuer: bare }), bare]
    },
  ],
  [
    'an issuer that may not sign certificates',
    () => {
      const extensions = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,digitalSignature']
      const mute = workshop.authority('mute', root, extensions)
      return [workshop.issue({ name: 'below', issuer: mute }), mute]
    },
  ],
]
for (const [name, chain] of BROKEN) {
  test(`refuses a chain with ${name}`, () => {
    assert.throws(() => checkChain(parse(...chain())), refused(/of the chain is not issued by the next/))
  })
}

test('refuses a chain longer than an authority in it allows', () => {
  const strict = workshop.root('strict', ['basicConstraints=critical,CA:TRUE,pathlen:0', 'keyUsage=keyCertSign'])
  const below = workshop.authority('below', strict)
  const direct = workshop.issue({ name: 'direct', issuer: strict })
  const far = workshop.issue({ name: 'far', issuer: below })
  checkChain(parse(direct, strict))
  checkChain(parse(far, below))
  assert.throws(
    () => checkChain(parse(far, below, strict)),
    refused(/Certificate 3 .* does not allow a chain this long/),
  )
})

test('a changed signature is found', () => {
  const der = derOf(leaf)
  der[der.length - 5]! ^= 1
  const changed = { pem: encodePem('CERTIFICATE', der) }
  assert.throws(() => checkChain(parse(changed, lower)), refused(/not issued by/))
})

test('dates are not checked: expired and future certificates pass', () => {
  const past = { notBefore: '20000101000000Z', notAfter: '20010101000000Z' }
  const future = { notBefore: '20900101000000Z', notAfter: '20910101000000Z' }
  for (const validity of [past, future]) {
    const old = workshop.issue({ name: 'old', issuer: lower, validity })
    checkChain(parse(old, lower))
  }
})

test('a root is an authority that issued its own certificate', () => {
  const [aRoot, anIntermediate, aLeaf] = parse(root, intermediate, leaf)
  assert.equal(isRoot(aRoot!), true)
  assert.equal(isRoot(anIntermediate!), false)
  assert.equal(isRoot(aLeaf!), false)
  const [selfSigned] = parse(workshop.issue({ name: 'self' }))
  assert.equal(isRoot(selfSigned!), false)
  assert.equal(isIssuedBy(anIntermediate!, aRoot!), true)
  assert.equal(isIssuedBy(aRoot!, anIntermediate!), false)
})

const MALFORMED: [name: string, pem: () => string, message: RegExp][] = [
  ['nothing', () => '', /no certificate found/],
  ['text', () => 'certificate', /no certificate found/],
  ['a private key beside the certificate', () => leaf.pem + encodePem('PRIVATE KEY', Uint8Array.of(1)), /only blocks/],
  ['a certificate request', () => encodePem('CERTIFICATE REQUEST', Uint8Array.of(1)), /only blocks/],
  ['an empty block', () => '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n', /not a certificate/],
  ['no base64', () => '-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----\n', /not base64/],
  ['no end', () => leaf.pem.replace('-----END CERTIFICATE-----\n', ''), /END line is missing/],
  ['a trailing byte', () => encodePem('CERTIFICATE', Uint8Array.of(...derOf(leaf), 0)), /not exactly one/],
  [
    'two certificates in a block',
    () => encodePem('CERTIFICATE', Uint8Array.of(...derOf(leaf), ...derOf(leaf))),
    /not exactly one/,
  ],
  ['a cut certificate', () => encodePem('CERTIFICATE', derOf(leaf).subarray(0, -1)), /not a certificate/],
  ['PEM within the DER', () => encodePem('CERTIFICATE', utf8(leaf.pem)), /not exactly one|not a certificate/],
  ['eleven certificates', () => leaf.pem.repeat(11), /at most 10/],
]
for (const [name, pem, message] of MALFORMED) {
  test(`refuses ${name}`, () => {
    assert.throws(() => parseCertificates(utf8(pem())), refused(message))
  })
}

test('whatever is sent as a certificate is parsed or refused as invalid', () => {
  const damagedCopy = (der: Uint8Array) =>
    fc.tuple(fc.nat(der.length - 1), fc.nat(255)).map(([at, byte]) => {
      const copy = der.slice()
      copy[at] = byte
      return copy
    })
  const attempt = (...ders: Uint8Array[]) => {
    try {
      const certificates = parseCertificates(utf8(ders.map((der) => encodePem('CERTIFICATE', der)).join('')))
      isRoot(certificates[0]!)
      checkChain(certificates)
    } catch (error) {
      assert.ok(error instanceof CofferError && error.code === 'invalid', String(error))
    }
  }
  const [first, second, third, last] = [leaf, lower, intermediate, root].map(derOf)
  const sent = fc.oneof(damagedCopy(first!), fc.uint8Array({ maxLength: 100 }))
  fc.assert(
    fc.property(sent, (bytes) => attempt(bytes, second!)),
    { numRuns: 1000 },
  )
  fc.assert(
    fc.property(damagedCopy(last!), (bytes) => attempt(third!, bytes)),
    { numRuns: 1000 },
  )
})
