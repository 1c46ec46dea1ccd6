import assert from 'node:assert/strict'
import {
  checkPrimeSync,
  createHash,
  createPrivateKey,
  createPublicKey,
  generatePrimeSync,
  publicEncrypt,
  verify,
} from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { CofferError } from '../../firmware/base/error.ts'
import {
  decodeRsaPrivateKey,
  encodeRsaPrivateKey,
  generateRsa,
  openRsa,
  type RsaPrivateKey,
  rsaFromPrimes,
} from '../../firmware/crypto/rsa/private-key.ts'
import { inverseOf } from './engine/differential.ts'
import { opensslKey, toBigInt, toBytes } from './rsa-keys.ts'

const bytesOf = (value: bigint) => toBytes(value, Math.ceil(value.toString(16).length / 2))
const refusal = (message: RegExp) => (error: unknown) =>
  error instanceof CofferError && error.code === 'invalid' && message.test(error.message)

function checkNumbers({ n, e, p, q, dp, dq, qinv }: RsaPrivateKey): void {
  const [bigE, bigP, bigQ] = [toBigInt(e), toBigInt(p), toBigInt(q)]
  assert.deepEqual(n, bytesOf(bigP * bigQ))
  assert.deepEqual(dp, toBytes(inverseOf(bigE, bigP - 1n)!, p.length))
  assert.deepEqual(dq, toBytes(inverseOf(bigE, bigQ - 1n)!, q.length))
  assert.deepEqual(qinv, toBytes(inverseOf(bigQ, bigP)!, p.length))
}

/** OpenSSL checks the key itself and verifies what we sign with it. */
function checkWithOpenssl(key: RsaPrivateKey): void {
  const { n, e, p, q, dp, dq, qinv } = key
  const lambda = (toBigInt(p) - 1n) * (toBigInt(q) - 1n)
  const text = (bytes: Uint8Array) => Buffer.from(bytesOf(toBigInt(bytes))).toString('base64url')
  const d = text(bytesOf(inverseOf(toBigInt(e), lambda)!))
  const jwk = {
    kty: 'RSA',
    n: text(n),
    e: text(e),
    d,
    p: text(p),
    q: text(q),
    dp: text(dp),
    dq: text(dq),
    qi: text(qinv),
  }
  const publicKey = createPublicKey(createPrivateKey({ key: jwk, format: 'jwk' }))
  const rsa = openRsa(key)
  const message = Buffer.from('message')
  const signature = rsa.sign('PKCS1_SHA256', createHash('sha256').update(message).digest())
  assert.ok(verify('sha256', message, publicKey, signature))
  const encrypted = publicEncrypt({ key: publicKey, oaepHash: 'sha256' }, message)
  assert.deepEqual(rsa.decrypt('OAEP_SHA256', encrypted), new Uint8Array(message))
  rsa.wipe()
}

for (const bits of [1024, 1025, 1026, 1031, 2047, 2048, 2049, 2050]) {
  test(`generates keys of exactly ${bits} bits`, () => {
    const key = generateRsa(bits)
    assert.equal(toBigInt(key.n).toString(2).length, bits)
    assert.deepEqual(key.e, Uint8Array.of(1, 0, 1))
    assert.notDeepEqual(key.p, key.q)
    checkNumbers(key)
    checkWithOpenssl(key)
  })
}

test('refuses to generate keys outside 1024 to 8192 bits', () => {
  for (const bits of [0, -1, 1023, 8193, 2048.5, Number.NaN])
    assert.throws(() => generateRsa(bits), refusal(/^length: /))
})

test('imports primes in either order, with leading zero bytes, and computes the rest', () => {
  for (const bits of [1024, 1026, 2050]) {
    const { key } = opensslKey(bits)
    const padded = (bytes: Uint8Array) => Uint8Array.from([0, 0, ...bytes])
    for (const [p, q] of [
      [key.p, key.q],
      [key.q, key.p],
    ] as const) {
      const imported = rsaFromPrimes(padded(p), padded(q), padded(key.e))
      assert.deepEqual([imported.n, imported.e, imported.p, imported.q], [key.n, key.e, p, q])
      checkNumbers(imported)
      checkWithOpenssl(imported)
    }
  }
})

test('imports primes of very different lengths', () => {
  const [p, q] = [generatePrimeSync(260, { bigint: true }), generatePrimeSync(900, { bigint: true })]
  for (const [a, b] of [
    [p, q],
    [q, p],
  ] as const) {
    const key = rsaFromPrimes(bytesOf(a), bytesOf(b), Uint8Array.of(1, 0, 1))
    checkNumbers(key)
    checkWithOpenssl(key)
  }
})

test('imports any odd public exponent from 3 to the modulus', () => {
  const primes = () =>
    [0, 1].map(() => generatePrimeSync(520, { bigint: true, add: 12n, rem: 11n })) as [bigint, bigint]
  const [p, q] = primes()
  const n = p * q
  const exponents = [3n, 9n, 2n ** 64n + 1n, 2n ** 512n - 1n, 2n ** 600n + 1n, n - 2n, n - 4n]
  let imported = 0
  for (const e of exponents) {
    const coprime = inverseOf(e, p - 1n) !== null && inverseOf(e, q - 1n) !== null
    const importing = () => rsaFromPrimes(bytesOf(p), bytesOf(q), bytesOf(e))
    if (coprime) {
      checkNumbers(importing())
      imported++
    } else assert.throws(importing, refusal(/^publicExponent: must be coprime/))
  }
  assert.ok(imported >= 2)
  const key = rsaFromPrimes(bytesOf(p), bytesOf(q), Uint8Array.of(3))
  checkWithOpenssl(key)
})

test('refuses what is not an RSA key', () => {
  const { p, q } = opensslKey(1024).key
  const e = Uint8Array.of(1, 0, 1)
  const composite = bytesOf(generatePrimeSync(256, { bigint: true }) * generatePrimeSync(256, { bigint: true }))
  const even = p.slice()
  even[even.length - 1]! &= 0xfe
  const one = Uint8Array.of(1)
  const none = new Uint8Array()
  for (const [badP, badQ, badE, message] of [
    [composite, q, e, /^primeP: must be an odd prime/],
    [p, composite, e, /^primeQ: must be an odd prime/],
    [even, q, e, /^primeP: must be an odd prime/],
    [p, even, e, /^primeQ: must be an odd prime/],
    [p, p, e, /^primeP and primeQ: must not be equal/],
    [none, q, e, /^primeP: must have at least/],
    [p, new Uint8Array(64), e, /^primeQ: must have at least/],
    [p, one, e, /^primeQ: must have at least/],
    [p, Uint8Array.of(3), e, /^primeQ: must have at least/],
    [p, q, none, /^publicExponent: must be odd/],
    [p, q, Uint8Array.of(0), /^publicExponent: must be odd/],
    [p, q, one, /^publicExponent: must be odd/],
    [p, q, Uint8Array.of(2), /^publicExponent: must be odd/],
    [p, q, Uint8Array.of(1, 0, 0), /^publicExponent: must be odd/],
    [p, q, bytesOf(toBigInt(p) * toBigInt(q)), /^publicExponent: must be (coprime|less)/],
    [p, q, bytesOf(toBigInt(p) * toBigInt(q) + 2n), /^publicExponent: must be (coprime|less)/],
    [p, q, new Uint8Array(1500).fill(0xff), /^publicExponent: must be less/],
    [p, bytesOf(generatePrimeSync(300, { bigint: true })), e, /^The modulus must have 1024 to 8192 bits/],
    [p, new Uint8Array(5000).fill(0xff), e, /^The modulus must have 1024 to 8192 bits/],
    [new Uint8Array(1024).fill(0xff), q, e, /^The modulus must have 1024 to 8192 bits/],
  ] as const) {
    assert.throws(() => rsaFromPrimes(badP, badQ, badE), refusal(message), String(message))
  }
})

test('refuses a public exponent that shares a factor with a prime less one', () => {
  const p = bytesOf(generatePrimeSync(520, { bigint: true, add: 65537n * 2n, rem: 1n }))
  const q = bytesOf(generatePrimeSync(520, { bigint: true, add: 65537n * 2n, rem: 3n }))
  const e = Uint8Array.of(1, 0, 1)
  assert.throws(() => rsaFromPrimes(p, q, e), refusal(/^publicExponent: must be coprime/))
  assert.throws(() => rsaFromPrimes(q, p, e), refusal(/^publicExponent: must be coprime/))
  checkNumbers(rsaFromPrimes(p, q, Uint8Array.of(1, 0, 3)))
})

test('an encoded key decodes to itself and nothing else decodes', () => {
  const { key } = opensslKey(1026)
  const encoded = encodeRsaPrivateKey(key)
  assert.deepEqual(decodeRsaPrivateKey(encoded), key)
  const damaged = (bytes: Uint8Array) =>
    assert.throws(
      () => decodeRsaPrivateKey(bytes),
      (error) => error instanceof CofferError && error.code === 'storage',
    )
  for (let length = 0; length < encoded.length; length++) damaged(encoded.slice(0, length))
  damaged(Uint8Array.from([...encoded, 0]))
  for (const version of [0, 2, 255]) damaged(Uint8Array.from([version, ...encoded.subarray(1)]))
  const zero = (bytes: Uint8Array) => Uint8Array.from([0, ...bytes])
  for (const field of Object.keys(key) as (keyof RsaPrivateKey)[]) {
    damaged(encodeRsaPrivateKey({ ...key, [field]: zero(key[field]) }))
    damaged(encodeRsaPrivateKey({ ...key, [field]: new Uint8Array() }))
  }
  for (const field of ['n', 'e', 'p', 'q'] as const) {
    const even = key[field].slice()
    even[even.length - 1]! ^= 1
    damaged(encodeRsaPrivateKey({ ...key, [field]: even }))
  }
  damaged(encodeRsaPrivateKey({ ...key, n: key.n.slice(1) }))
  fc.assert(fc.property(fc.uint8Array({ maxLength: 900 }), (bytes) => damaged(Uint8Array.from([1, ...bytes]))))
})

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? a : gcd(b, a % b))

test('close primes are refused, which Fermat would find', () => {
  const p = generatePrimeSync(512, { bigint: true })
  for (const distance of [2n, 2n ** 400n]) {
    let q = p + distance
    while (!checkPrimeSync(q)) q += 2n
    for (const [first, second] of [
      [p, q],
      [q, p],
    ] as const) {
      const make = () => rsaFromPrimes(bytesOf(first), bytesOf(second), Uint8Array.of(1, 0, 1))
      assert.throws(make, refusal(/too close/))
    }
  }
})

test('a small private exponent is refused, which Wiener would find, whatever it is reduced by', () => {
  for (const [pBits, qBits] of [
    [512, 512],
    [500, 530],
    [530, 500],
  ] as const) {
    const [p, q] = [pBits, qBits].map((bits) => generatePrimeSync(bits, { bigint: true })) as [bigint, bigint]
    const phi = (p - 1n) * (q - 1n)
    for (const order of [phi, phi / gcd(p - 1n, q - 1n)]) {
      for (const dBits of [200, Math.min(pBits, qBits) - 2]) {
        let d = generatePrimeSync(dBits, { bigint: true })
        while (gcd(d, order) !== 1n) d = generatePrimeSync(dBits, { bigint: true })
        const e = inverseOf(d, order)!
        const make = () => rsaFromPrimes(bytesOf(p), bytesOf(q), bytesOf(e))
        assert.throws(make, refusal(/too small/), `${pBits}, ${qBits}, ${dBits}`)
      }
    }
    const [e, ownE] = [generatePrimeSync(600, { bigint: true }), 3n * 2n ** 80n + 1n]
    for (const large of [e, ownE]) if (gcd(large, phi) === 1n) rsaFromPrimes(bytesOf(p), bytesOf(q), bytesOf(large))
  }
})

test('numbers of a key file that contradict its primes are refused; any d that fits is taken', () => {
  const { key } = opensslKey(1024)
  const [p, q, e] = [key.p, key.q, key.e].map(toBigInt) as [bigint, bigint, bigint]
  const phi = (p - 1n) * (q - 1n)
  const lambda = phi / gcd(p - 1n, q - 1n)
  const claims = (d: bigint) => ({
    privateExponent: bytesOf(d),
    exponentP: key.dp,
    exponentQ: key.dq,
    coefficient: key.qinv,
  })
  const make = (claimed: ReturnType<typeof claims>) => rsaFromPrimes(key.p, key.q, key.e, undefined, undefined, claimed)
  const [d, dLambda] = [inverseOf(e, phi)!, inverseOf(e, lambda)!]
  for (const fitting of [d, dLambda]) assert.deepEqual(make(claims(fitting)).dp, key.dp)
  const changed = (bytes: Uint8Array) => bytes.with(bytes.length - 1, bytes.at(-1)! ^ 4)
  const right = claims(d)
  for (const name of ['privateExponent', 'exponentP', 'exponentQ', 'coefficient'] as const) {
    assert.throws(() => make({ ...right, [name]: changed(right[name]) }), refusal(/contradict/), name)
    assert.throws(() => make({ ...right, [name]: Uint8Array.of(0) }), refusal(/contradict/), name)
  }
})
