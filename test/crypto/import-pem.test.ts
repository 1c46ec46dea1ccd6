import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { CofferError } from '../../firmware/base/error.ts'
import { CURVES, isMlDsaKeyType } from '../../firmware/crypto/algorithms.ts'
import { importCurveKey } from '../../firmware/crypto/ec/private-key.ts'
import { checkClaimed, type PrivateKeyFile, parsePrivateKeyPem } from '../../firmware/crypto/encoding/import-pem.ts'
import { publicKeyPem } from '../../firmware/crypto/encoding/public-key.ts'
import { importKey } from '../../firmware/crypto/pool/operations.ts'
import { rsaFromPrimes } from '../../firmware/crypto/rsa/private-key.ts'
import type { EcKeyType } from '../../firmware/crypto/types.ts'
import { fileNeeds } from '../support/tools.ts'
import { mlDsaForms } from './ml-dsa-forms.ts'
import { file, hex, openssl, toHex, utf8 } from './support.ts'

await fileNeeds('openssl')

const OPENSSL_CURVES: Record<EcKeyType, string> = {
  EC_P256: 'prime256v1',
  EC_P384: 'secp384r1',
  EC_P521: 'secp521r1',
  EC_P256K1: 'secp256k1',
  BrainpoolP256: 'brainpoolP256r1',
  BrainpoolP384: 'brainpoolP384r1',
  BrainpoolP512: 'brainpoolP512r1',
}
const EC_TYPES = Object.keys(CURVES) as EcKeyType[]

const parse = (pem: string | Uint8Array): PrivateKeyFile =>
  parsePrivateKeyPem(typeof pem === 'string' ? utf8(pem) : pem)
const invalid = (text: string) => (error: unknown) =>
  error instanceof CofferError && error.code === 'invalid' && error.message.includes(text)

const generated = (args: string[]): string => openssl(['genpkey', ...args]).toString()
const ecKey = (type: EcKeyType): string =>
  generated(['-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${OPENSSL_CURVES[type]}`])
const rsaKey = (bits: number): string => generated(['-algorithm', 'RSA', '-pkeyopt', `rsa_keygen_bits:${bits}`])
const publicOf = (pem: string): string => openssl(['pkey', '-pubout', '-in', file('key.pem', pem)]).toString()
const traditional = (pem: string, ...args: string[]): string =>
  openssl(['pkey', '-traditional', ...args, '-in', file('key.pem', pem)]).toString()

function importCurve(pem: string): { type: string; publicPem: string } {
  const key = parse(pem)
  assert.ok(key.type !== 'RSA' && !isMlDsaKeyType(key.type))
  const pair = importCurveKey(key.type, key.data)
  checkClaimed(key.claimed, pair.public)
  return { type: pair.type, publicPem: publicKeyPem(pair.type, pair.public) }
}

const block = (label: string, der: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(der)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`
const derOf = (pem: string): Uint8Array => new Uint8Array(Buffer.from(pem.replaceAll(/-----.*-----/g, ''), 'base64'))

for (const type of EC_TYPES) {
  test(`${type}: keys of the openssl program are read in both forms, and their public keys come out byte for byte`, () => {
    const pem = ecKey(type)
    const sec1 = traditional(pem)
    assert.match(sec1, /BEGIN EC PRIVATE KEY/)
    for (const form of [pem, sec1]) assert.deepEqual(importCurve(form), { type, publicPem: publicOf(pem) })
  })

  test(`${type}: the public key in the file may be compressed or absent, and must belong to the private one`, () => {
    const [pem, other] = [ecKey(type), ecKey(type)]
    const compressed = openssl(['ec', '-conv_form', 'compressed', '-in', file('key.pem', pem)]).toString()
    assert.ok(derOf(compressed).length < derOf(traditional(pem)).length)
    assert.equal(importCurve(compressed).publicPem, publicOf(pem))
    const absent = openssl(['ec', '-no_public', '-in', file('key.pem', pem)]).toString()
    assert.equal(importCurve(absent).publicPem, publicOf(pem))
    const [mine, theirs] = [derOf(traditional(pem)), derOf(traditional(other))]
    const pointBytes = 2 * CURVES[type].fieldBytes
    const mixed = mine.slice()
    mixed.set(theirs.subarray(-pointBytes), mixed.length - pointBytes)
    assert.throws(() => importCurve(block('EC PRIVATE KEY', mixed)), invalid('does not belong'))
  })
}

test('Ed25519 keys of the openssl program are read', () => {
  const pem = generated(['-algorithm', 'ED25519'])
  assert.deepEqual(importCurve(pem), { type: 'Curve25519', publicPem: publicOf(pem) })
})

// RFC 8410 section 10.3: the same key plain, and with attributes and public key (RFC 5958, version 2).
const RFC_8410_PLAIN = 'MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC'
const RFC_8410_PUBLIC =
  'MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhCoB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE='

test('the Ed25519 keys of RFC 8410 are read, with and without public key', () => {
  const pem = (text: string) => `-----BEGIN PRIVATE KEY-----\n${text}\n-----END PRIVATE KEY-----`
  assert.deepEqual(importCurve(pem(RFC_8410_PLAIN)), importCurve(pem(RFC_8410_PUBLIC)))
  const wrong = derOf(pem(RFC_8410_PUBLIC))
  wrong[wrong.length - 1]! ^= 1
  assert.throws(() => importCurve(block('PRIVATE KEY', wrong)), invalid('does not belong'))
})

const big = (bytes: Uint8Array): bigint => BigInt(`0x${toHex(bytes)}`)

test('RSA keys of the openssl program are read in both forms', () => {
  for (const bits of [1024, 2048]) {
    const pem = rsaKey(bits)
    const pkcs1 = traditional(pem)
    assert.match(pkcs1, /BEGIN RSA PRIVATE KEY/)
    for (const form of [pem, pkcs1]) {
      const key = parse(form)
      assert.ok(key.type === 'RSA' && key.claimed !== undefined && 'modulus' in key.claimed)
      const { modulus } = key.claimed
      assert.equal(big(key.primeP) * big(key.primeQ), big(modulus))
      assert.equal(big(key.publicExponent), 65537n)
      assert.equal(modulus.length, bits / 8)
      assert.notEqual(key.primeP[0], 0)
      const publicKey = { modulus, publicExponent: key.publicExponent }
      assert.equal(publicKeyPem('RSA', publicKey), publicOf(pem))
      checkClaimed(key.claimed, publicKey)
      const other = {
        modulus: modulus.map((byte, i) => (i === 5 ? byte ^ 1 : byte)),
        publicExponent: key.publicExponent,
      }
      assert.throws(() => checkClaimed(key.claimed, other), invalid('does not belong'))
    }
  }
})

test('an RSA key from a file passes the import of its primes', () => {
  const pem = rsaKey(1024)
  const key = parse(pem)
  assert.ok(key.type === 'RSA')
  const { n: modulus, e: publicExponent } = rsaFromPrimes(key.primeP, key.primeQ, key.publicExponent)
  checkClaimed(key.claimed, { modulus, publicExponent })
  assert.equal(publicKeyPem('RSA', { modulus, publicExponent }), publicOf(pem))
})

test('other blocks, text around blocks and Windows line ends do not matter', () => {
  const pem = ecKey('EC_P256')
  const parameters = openssl(['ecparam', '-name', 'prime256v1']).toString()
  assert.match(parameters, /BEGIN EC PARAMETERS/)
  const expected = importCurve(pem)
  for (const text of [
    `${parameters}${traditional(pem)}`,
    `${publicOf(pem)}${pem}${publicOf(ecKey('EC_P384'))}`,
    `Bag Attributes\n    localKeyID: 01\nKey Attributes: <No Attributes>\n${pem}\nbye - -- ----- -----BEGINNING-----\n`,
    pem.replaceAll('\n', '\r\n'),
    pem.trimEnd(),
    `\n\n\n${pem}\n\n`,
    pem.replace(/(.{10})(.{20})\n/, '$1\n  \t$2  \n'),
  ]) {
    assert.deepEqual(importCurve(text), expected)
  }
})

test('anything but exactly one private key is refused', () => {
  const pem = ecKey('EC_P256')
  for (const text of [
    '',
    'hello',
    publicOf(pem),
    pem + pem,
    pem + traditional(pem),
    '-----BEGIN X-----\n-----END X-----',
  ]) {
    assert.throws(() => parse(text), invalid('exactly one private key'))
  }
})

test('encrypted keys are refused by name', () => {
  const pem = ecKey('EC_P256')
  const pkcs8 = openssl(['pkcs8', '-topk8', '-passout', 'pass:test', '-in', file('key.pem', pem)]).toString()
  assert.match(pkcs8, /BEGIN ENCRYPTED PRIVATE KEY/)
  const old = traditional(pem, '-aes128', '-passout', 'pass:test')
  assert.match(old, /DEK-Info/)
  const oldRsa = traditional(rsaKey(1024), '-aes128', '-passout', 'pass:test')
  for (const text of [pkcs8, old, oldRsa]) assert.throws(() => parse(text), invalid('encrypted'))
  assert.throws(() => parse(pkcs8 + pem), invalid('exactly one'))
})

test('RSA keys of more than two primes are refused by name', () => {
  const pem = generated(['-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-pkeyopt', 'rsa_keygen_primes:3'])
  assert.throws(() => parse(pem), invalid('more than two primes'))
  assert.throws(() => parse(traditional(pem)), invalid('more than two primes'))
})

test('curves the appliance does not have and explicit parameters are refused by name', () => {
  for (const curve of ['secp224r1', 'brainpoolP256t1', 'sect283k1', 'brainpoolP320r1']) {
    const pem = generated(['-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${curve}`])
    assert.throws(() => parse(pem), invalid('unknown curve'))
    assert.throws(() => parse(traditional(pem)), invalid('unknown curve'))
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'explicit' })
  for (const type of ['pkcs8', 'sec1'] as const) {
    assert.throws(() => parse(privateKey.export({ type, format: 'pem' }) as string), invalid('named curve'))
  }
})

test('keys of other algorithms are refused by name', () => {
  for (const algorithm of ['X25519', 'ED448', 'X448', 'RSA-PSS']) {
    const bits = algorithm === 'RSA-PSS' ? ['-pkeyopt', 'rsa_keygen_bits:1024'] : []
    assert.throws(
      () => parse(generated(['-algorithm', algorithm, ...bits])),
      invalid('not an RSA, EC, Ed25519 or ML-DSA key'),
    )
  }
})

test('a scalar without its leading zeros is accepted, one that is too long is not', () => {
  const sec1 = (scalar: string) =>
    block(
      'EC PRIVATE KEY',
      hex(
        `30${byte(3 + 2 + scalar.length / 2 + 12)}020101 04${byte(scalar.length / 2)}${scalar} a00a06082a8648ce3d030107`,
      ),
    )
  const byte = (n: number) => n.toString(16).padStart(2, '0')
  const full = parse(sec1(`00${'07'.repeat(31)}`))
  assert.ok(full.type === 'EC_P256')
  for (const scalar of ['07'.repeat(31), `0000${'07'.repeat(31)}`]) {
    const key = parse(sec1(scalar))
    assert.ok(key.type === 'EC_P256')
    assert.deepEqual(key.data, full.data)
  }
  assert.throws(() => parse(sec1('07'.repeat(33))), invalid('longer than its curve'))
})

const malformations: [string, (pem: string) => string, string][] = [
  ['a missing END line', (pem) => pem.replace(/-----END.*\n/, ''), 'END line is missing'],
  ['a missing BEGIN line', (pem) => pem.replace(/-----BEGIN.*\n/, ''), 'do not match'],
  ['an END line of another label', (pem) => pem.replace('END PRIVATE', 'END EC PRIVATE'), 'do not match'],
  ['a block inside a block', (pem) => pem.replace('\n', `\n${pem}`), 'do not match'],
  ['a character that is no base64', (pem) => pem.replace(/\n(.)/, '\n*'), 'not base64'],
  ['base64url', (pem) => pem.replace(/\n(.)/, '\n_'), 'not base64'],
  ['a lost character', (pem) => pem.replace(/\n./, '\n'), 'not base64'],
  ['padding in the middle', (pem) => pem.replace(/\n..../, '\n===='), 'not base64'],
  ['an empty body', () => '-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n', 'not valid DER'],
]

for (const [what, spoil, message] of malformations) {
  test(`refuses PEM with ${what}`, () => {
    assert.throws(() => parse(spoil(ecKey('EC_P256'))), invalid(message))
  })
}

test('refuses files over the limit without reading them', () => {
  const padding = `${'x'.repeat(70)}\n`
  assert.ok(parse(padding.repeat(3000) + ecKey('EC_P256')))
  assert.throws(() => parse(padding.repeat(4000) + ecKey('EC_P256')), invalid('more than'))
})

const ED25519_DER = `302e020100300506032b657004220420${'42'.repeat(32)}`
const NOT_DER: [string, string][] = [
  ['a length longer than necessary', `30812e020100300506032b657004220420${'42'.repeat(32)}`],
  ['an indefinite length', `3080020100300506032b657004220420${'42'.repeat(32)}0000`],
  ['bytes after the end', `${ED25519_DER}00`],
  ['a length beyond the end', `302f020100300506032b657004220420${'42'.repeat(32)}`],
  ['a negative version', `302e0201ff300506032b657004220420${'42'.repeat(32)}`],
  ['a padded version', `302f02020000300506032b657004220420${'42'.repeat(32)}`],
  ['an empty version', `302d0200300506032b657004220420${'42'.repeat(32)}`],
  ['parameters where none may be', `3030020100300706032b6570050004220420${'42'.repeat(32)}`],
  ['an unfinished object identifier', `302e020100300506032b65f004220420${'42'.repeat(32)}`],
  ['a length of four bytes', `30840000002e020100300506032b657004220420${'42'.repeat(32)}`],
]

test('the DER reader takes nothing but DER', () => {
  assert.ok(parse(block('PRIVATE KEY', hex(ED25519_DER))))
  for (const [what, der] of NOT_DER) {
    assert.throws(() => parse(block('PRIVATE KEY', hex(der))), invalid('not valid DER'), what)
  }
  assert.throws(() => parse(block('PRIVATE KEY', hex(ED25519_DER.replace('020100', '020102')))), invalid('version'))
})

/** Runs the whole import; any error but a CofferError `invalid` fails the test. */
function survives(pem: Uint8Array): void {
  try {
    const key = parse(pem)
    if (key.type === 'RSA') return
    const { public: publicKey } = isMlDsaKeyType(key.type)
      ? importKey(key.type, key.data, 'expanded' in key ? key.expanded : undefined)
      : importCurveKey(key.type, key.data)
    checkClaimed(key.claimed, publicKey)
  } catch (error) {
    if (!(error instanceof CofferError) || error.code !== 'invalid') throw error
  }
}

const seeds = [...EC_TYPES.map(ecKey), ecKey('EC_P256'), rsaKey(1024), generated(['-algorithm', 'ED25519'])]
const seedPems = [
  ...seeds.flatMap((pem) => (pem === seeds.at(-1) ? [pem] : [pem, traditional(pem)])),
  ...mlDsaForms('ML_DSA_44').map((der) => block('PRIVATE KEY', der)),
]
const mutations = fc.array(fc.record({ at: fc.nat(), kind: fc.nat(3), byte: fc.nat(255) }), {
  minLength: 1,
  maxLength: 6,
})

function mutate(bytes: Uint8Array, changes: { at: number; kind: number; byte: number }[]): Uint8Array {
  let result = Buffer.from(bytes)
  for (const { at, kind, byte } of changes) {
    const i = at % (result.length + 1)
    if (kind === 0 && i < result.length) result[i] = byte
    else if (kind === 1) result = Buffer.concat([result.subarray(0, i), Uint8Array.of(byte), result.subarray(i)])
    else if (kind === 2) result = Buffer.concat([result.subarray(0, i), result.subarray(i + 1)])
    else result = result.subarray(0, Math.max(i, 1))
  }
  return new Uint8Array(result)
}

test('mutated PEM text is read or refused, never a crash', () => {
  const property = fc.property(fc.constantFrom(...seedPems), mutations, (pem, changes) => {
    survives(mutate(utf8(pem), changes))
  })
  fc.assert(property, { numRuns: 3000 })
})

test('mutated DER inside sound PEM is read or refused, never a crash', () => {
  const property = fc.property(fc.constantFrom(...seedPems), mutations, (pem, changes) => {
    const label = /BEGIN (.*)-----/.exec(pem)![1]!
    survives(utf8(block(label, mutate(derOf(pem), changes))))
  })
  fc.assert(property, { numRuns: 3000 })
})

test('random bytes as PEM or as DER are refused, never a crash', () => {
  const labels = fc.constantFrom('PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY')
  fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), survives), { numRuns: 1000 })
  const property = fc.property(labels, fc.uint8Array({ maxLength: 200 }), (label, der) =>
    survives(utf8(block(label, der))),
  )
  fc.assert(property, { numRuns: 1000 })
})

test('what openssl reads after a change of any one byte, and we read too, is the same key', () => {
  const der = derOf(generated(['-algorithm', 'ED25519']))
  for (let i = 0; i < der.length; i++) {
    const changed = der.slice()
    changed[i]! ^= 1
    const pem = block('PRIVATE KEY', changed)
    let mine: string | undefined
    try {
      mine = importCurve(pem).publicPem
    } catch (error) {
      assert.ok(invalid('')(error))
      continue
    }
    assert.equal(mine, publicOf(pem), `byte ${i}`)
  }
})
