import assert from 'node:assert/strict'
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeOaep, decodePkcs1, encodePkcs1, encodePss, RSA_HASHES } from '../../firmware/crypto/rsa/padding.ts'
import { HASHES, type HashName } from '../../firmware/crypto/types.ts'

/** The rules as one would read them aloud, in no constant time. */
function plainPkcs1(encoded: Uint8Array): Uint8Array | null {
  const separator = encoded.indexOf(0, 2)
  return encoded[0] === 0 && encoded[1] === 2 && separator >= 10 ? encoded.slice(separator + 1) : null
}

function mgf(seed: Uint8Array, bytes: number, name: HashName): Buffer {
  const blocks: Buffer[] = []
  for (let i = 0; i * RSA_HASHES[name].bytes < bytes; i++) {
    blocks.push(
      createHash(name)
        .update(seed)
        .update(Uint8Array.of(0, 0, 0, i))
        .digest(),
    )
  }
  return Buffer.concat(blocks).subarray(0, bytes)
}

const xor = (a: Uint8Array, b: Uint8Array) => Uint8Array.from(a, (byte, i) => byte ^ b[i]!)

/** Block DB of RFC 8017 7.1.1 and first byte, masked. */
function oaepBlock(db: Uint8Array, name: HashName, first = 0): Uint8Array {
  const seed = randomBytes(RSA_HASHES[name].bytes)
  const maskedDb = xor(db, mgf(seed, db.length, name))
  return Uint8Array.from([first, ...xor(seed, mgf(maskedDb, seed.length, name)), ...maskedDb])
}

const labelHash = (name: HashName) => createHash(name).digest()

test('PKCS#1 type 2: agrees with the plain rules on random and almost right blocks', () => {
  const byte = fc.oneof(fc.constantFrom(0, 1, 2, 0xff), fc.nat(255))
  const block = fc.record({
    first: fc.constantFrom(0, 0, 0, 1, 0x80),
    type: fc.constantFrom(2, 2, 2, 0, 1, 3, 0x82),
    padding: fc.array(fc.integer({ min: 1, max: 255 }), { minLength: 0, maxLength: 20 }),
    rest: fc.array(byte, { minLength: 12, maxLength: 140 }),
  })
  fc.assert(
    fc.property(block, ({ first, type, padding, rest }) => {
      const encoded = Uint8Array.from([first, type, ...padding, ...rest])
      assert.deepEqual(decodePkcs1(encoded), plainPkcs1(encoded))
    }),
    { numRuns: 5000 },
  )
})

test('PKCS#1 type 2: the separator at every place', () => {
  for (let separator = 2; separator < 128; separator++) {
    const encoded = new Uint8Array(128).fill(0xaa)
    encoded.set([0, 2])
    encoded[separator] = 0
    const decoded = decodePkcs1(encoded)
    assert.equal(decoded?.length, separator < 10 ? undefined : 127 - separator)
    encoded[127] = 0 // zeros in the message are part of it
    if (separator >= 10) assert.deepEqual(decodePkcs1(encoded), encoded.slice(separator + 1))
  }
  assert.equal(decodePkcs1(new Uint8Array(128).fill(0xaa).fill(0, 0, 1).fill(2, 1, 2)), null)
})

for (const name of HASHES) {
  const hash = RSA_HASHES[name]

  test(`OAEP ${name}: every length of message, and every defect`, () => {
    const bytes = 2 * hash.bytes + 2 + 40
    const decode = (db: number[], first = 0) => decodeOaep(oaepBlock(Uint8Array.from(db), name, first), hash)
    for (let length = 0; length <= 40; length++) {
      const message = [...randomBytes(length)]
      const padding = new Array<number>(40 - length).fill(0)
      const db = [...labelHash(name), ...padding, 1, ...message]
      assert.equal(db.length, bytes - hash.bytes - 1)
      assert.deepEqual(decode(db), Uint8Array.from(message))
      assert.equal(decode(db, 1), null)
      assert.equal(decode(db, 0x80), null)
      for (let i = 0; i < hash.bytes + padding.length + 1; i++) {
        const wrong = db.slice()
        wrong[i]! ^= 1 << randomInt(1, 8) // a lowest bit may give other padding that is right, with a longer or shorter message
        assert.equal(decode(wrong), null, `byte ${i}`)
      }
    }
    assert.equal(decode([...labelHash(name), ...new Array<number>(41).fill(0)]), null)
  })

  test(`OAEP ${name}: random blocks do not decode`, () => {
    for (const length of [2 * hash.bytes + 2, 129, 256]) {
      for (let i = 0; i < 300; i++) assert.equal(decodeOaep(randomBytes(length).fill(0, 0, 1), hash), null)
    }
    for (let length = 0; length < 2 * hash.bytes + 2; length++)
      assert.equal(decodeOaep(new Uint8Array(length), hash), null)
  })

  test(`PSS ${name}: the shape of RFC 8017 9.1.1 for every number of bits in the first byte`, () => {
    for (let bits = 8 * (2 * hash.bytes + 2) + 1; bits <= 8 * (2 * hash.bytes + 4) + 1; bits++) {
      const [digest, salt] = [randomBytes(hash.bytes), randomBytes(hash.bytes)]
      const encoded = encodePss(digest, salt, hash, bits)!
      assert.equal(encoded.length, Math.ceil((bits - 1) / 8))
      assert.equal(encoded[0]! >> (((bits - 2) % 8) + 1), 0)
      const h = encoded.slice(-hash.bytes - 1, -1)
      assert.equal(encoded.at(-1), 0xbc)
      assert.deepEqual(Buffer.from(h), createHash(name).update(new Uint8Array(8)).update(digest).update(salt).digest())
      const db = xor(encoded.slice(0, -hash.bytes - 1), mgf(h, encoded.length - hash.bytes - 1, name))
      db[0]! &= 0xff >> (8 * encoded.length - (bits - 1))
      assert.deepEqual(db, Uint8Array.from([...new Uint8Array(db.length - hash.bytes - 1), 1, ...salt]))
    }
    assert.equal(encodePss(randomBytes(hash.bytes), randomBytes(hash.bytes), hash, 8 * (2 * hash.bytes + 2) - 7), null)
  })
}

test('PKCS#1 type 1: at least eight bytes of padding', () => {
  assert.deepEqual(encodePkcs1(Uint8Array.of(7), 12), Uint8Array.of(0, 1, ...new Array<number>(8).fill(0xff), 0, 7))
  assert.equal(encodePkcs1(Uint8Array.of(7, 8), 12), null)
  assert.deepEqual(encodePkcs1(new Uint8Array(), 11), Uint8Array.of(0, 1, ...new Array<number>(8).fill(0xff), 0))
})
