import assert from 'node:assert/strict'
import { createHash, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ed25519 } from '@noble/curves/ed25519.js'
import { schnorr } from '@noble/curves/secp256k1.js'
import { CofferError } from '../../firmware/base/error.ts'
import { CURVES } from '../../firmware/crypto/algorithms.ts'
import { generateCurveKey, importCurveKey, openCurveKey } from '../../firmware/crypto/ec/private-key.ts'
import { publicKeyPem } from '../../firmware/crypto/encoding/public-key.ts'
import { basePoint } from '../../firmware/crypto/engine/float/curves.ts'
import { signWithNonce } from '../../firmware/crypto/engine/float/ecdsa.ts'
import type { Products } from '../../firmware/crypto/engine/float/emitter.ts'
import { whyNotFused } from '../../firmware/crypto/engine/float/probe.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import type { CurveKeyType, EcKeyType, KeyPair } from '../../firmware/crypto/types.ts'
import { fileNeeds } from '../support/tools.ts'
import { file, hex, openssl, toHex, utf8, wycheproof } from './support.ts'

await fileNeeds('openssl')

const EC_TYPES = Object.keys(CURVES) as EcKeyType[]
/** The arithmetic in use here, and that of processors where multiply-add rounds twice. */
const KINDS: Products[] = whyNotFused() === undefined ? ['fused', 'exact'] : ['exact']

// Contract 4.4 and FIPS 186-5, SEC 2, RFC 5639: bytes of scalar, public point and digest; the order of the group.
const FACTS: Record<EcKeyType, { scalar: number; point: number; digest: number; order: string }> = {
  EC_P256: {
    scalar: 32,
    point: 65,
    digest: 32,
    order: 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
  },
  EC_P384: {
    scalar: 48,
    point: 97,
    digest: 48,
    order: `${'f'.repeat(48)}c7634d81f4372ddf581a0db248b0a77aecec196accc52973`,
  },
  EC_P521: {
    scalar: 66,
    point: 133,
    digest: 64,
    order: `01${'f'.repeat(65)}a51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409`,
  },
  EC_P256K1: {
    scalar: 32,
    point: 65,
    digest: 32,
    order: 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141',
  },
  BrainpoolP256: {
    scalar: 32,
    point: 65,
    digest: 32,
    order: 'a9fb57dba1eea9bc3e660a909d838d718c397aa3b561a6f7901e0e82974856a7',
  },
  BrainpoolP384: {
    scalar: 48,
    point: 97,
    digest: 48,
    order: '8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b31f166e6cac0425a7cf3ab6af6b7fc3103b883202e9046565',
  },
  BrainpoolP512: {
    scalar: 64,
    point: 129,
    digest: 64,
    order:
      'aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca70330870553e5c414ca92619418661197fac10471db1d381085ddaddb58796829ca90069',
  },
}

const dataOf = ({ public: key }: KeyPair): Uint8Array => {
  assert.ok(key !== null && 'data' in key)
  return key.data
}
const hashOf = (type: EcKeyType) => ({ 32: 'sha256', 48: 'sha384', 64: 'sha512' })[FACTS[type].digest]!
const invalid = (error: unknown) => error instanceof CofferError && error.code === 'invalid'

for (const type of EC_TYPES) {
  const { scalar, point, digest, order } = FACTS[type]

  test(`${type}: generated keys have the lengths of the contract and a public key openssl accepts`, () => {
    const pair = generateCurveKey(type, systemRandom)
    assert.equal(pair.private.length, scalar)
    assert.equal(dataOf(pair).length, point)
    assert.equal(dataOf(pair)[0], 4)
    openssl(['pkey', '-pubin', '-pubcheck', '-noout', '-in', file(`${type}.pem`, publicKeyPem(type, pair.public))])
  })

  for (const products of KINDS) {
    test(`${type}, ${products}: ECDSA signatures over a digest verify with OpenSSL`, () => {
      const pair = generateCurveKey(type, systemRandom, products)
      const key = openCurveKey(type, pair.private, systemRandom, products)
      const pem = publicKeyPem(type, pair.public)
      for (let i = 0; i < 20; i++) {
        const message = systemRandom(i * 7)
        const signature = key.sign('ECDSA', createHash(hashOf(type)).update(message).digest())
        assert.ok(verify(hashOf(type), message, pem, signature))
        assert.ok(!verify(hashOf(type), Buffer.concat([message, Uint8Array.of(1)]), pem, signature))
      }
      for (const bytes of [new Uint8Array(digest), new Uint8Array(digest).fill(0xff), systemRandom(digest)]) {
        const signature = file(`${type}.sig`, key.sign('ECDSA', bytes))
        const paths = ['-inkey', file(`${type}.pem`, pem), '-in', file(`${type}.digest`, bytes), '-sigfile', signature]
        openssl(['pkeyutl', '-verify', '-pubin', ...paths])
      }
    })
  }

  test(`${type}: refuses digests of any other length and modes of other types`, () => {
    const key = openCurveKey(type, generateCurveKey(type, systemRandom).private, systemRandom)
    for (const bytes of [0, 20, digest - 1, digest + 1, point]) {
      assert.throws(() => key.sign('ECDSA', new Uint8Array(bytes)), invalid)
    }
    for (const mode of ['EdDSA', 'PKCS1', 'PSS_SHA256'] as const) {
      assert.throws(() => key.sign(mode, new Uint8Array(digest)), invalid)
    }
    if (type !== 'EC_P256K1') assert.throws(() => key.sign('BIP340', new Uint8Array(digest)), invalid)
  })

  test(`${type}: the nonce is random, and s is not normalized`, () => {
    const key = openCurveKey(type, generateCurveKey(type, systemRandom).private, systemRandom)
    const half = BigInt(`0x${order}`) / 2n
    const nonces = new Set<bigint>()
    let high = 0
    for (let i = 0; i < 40; i++) {
      const { r, s } = integersOf(key.sign('ECDSA', new Uint8Array(digest).fill(7)))
      nonces.add(r)
      if (s > half) high++
    }
    assert.equal(nonces.size, 40)
    assert.ok(high > 0 && high < 40, `${high} of 40 above half the order`) // by chance once in 2^39
  })

  test(`${type}: with a stuck random generator the nonce still depends on the message`, () => {
    const stuck = (bytes: number) => new Uint8Array(bytes)
    const key = openCurveKey(type, generateCurveKey(type, systemRandom).private, stuck)
    const first = integersOf(key.sign('ECDSA', new Uint8Array(digest).fill(1)))
    const second = integersOf(key.sign('ECDSA', new Uint8Array(digest).fill(2)))
    assert.notEqual(first.r, second.r)
  })

  test(`${type}: imports scalars from 1 to the order less 1 and nothing else`, () => {
    const n = BigInt(`0x${order}`)
    const bytes = (number: bigint, length = scalar) => hex(number.toString(16).padStart(2 * length, '0'))
    for (const number of [1n, 2n, n - 1n]) {
      const data = bytes(number)
      const pair = importCurveKey(type, data)
      assert.deepEqual(pair.private, data)
      assert.notEqual(pair.private, data, 'a copy: the caller wipes its own')
    }
    assert.deepEqual(dataOf(importCurveKey(type, bytes(1n))).subarray(1, 1 + scalar).length, scalar)
    for (const number of [0n, n, n + 1n, 256n ** BigInt(scalar) - 1n]) {
      assert.throws(() => importCurveKey(type, bytes(number)), invalid)
    }
    for (const length of [0, scalar - 1, scalar + 1]) {
      assert.throws(() => importCurveKey(type, bytes(1n, length).subarray(0, length)), invalid)
    }
  })
}

/** r and s of a DER signature, read independently of the code under test. */
function integersOf(der: Uint8Array): { r: bigint; s: bigint } {
  const numbers = openssl(['asn1parse', '-inform', 'DER'], der)
    .toString()
    .matchAll(/INTEGER\s+:([0-9A-F]+)/g)
  const [r, s] = [...numbers].map(([, digits]) => BigInt(`0x${digits}`))
  return { r: r!, s: s! }
}

// RFC 6979 A.2.5 to A.2.7 and RFC 7027 A.1 to A.3: private key, x and y of the public key.
const KNOWN_KEYS: [EcKeyType, string, string, string][] = [
  [
    'EC_P256',
    'C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721',
    '60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6',
    '7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299',
  ],
  [
    'EC_P384',
    '6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA9AA47740787137D896D5724E4C70A825F872C9EA60D2EDF5',
    'EC3A4E415B4E19A4568618029F427FA5DA9A8BC4AE92E02E06AAE5286B300C64DEF8F0EA9055866064A254515480BC13',
    '8015D9B72D7D57244EA8EF9AC0C621896708A59367F9DFB9F54CA84B3F1C9DB1288B231C3AE0D4FE7344FD2533264720',
  ],
  [
    'BrainpoolP256',
    '81DB1EE100150FF2EA338D708271BE38300CB54241D79950F77B063039804F1D',
    '44106E913F92BC02A1705D9953A8414DB95E1AAA49E81D9E85F929A8E3100BE5',
    '8AB4846F11CACCB73CE49CBDD120F5A900A69FD32C272223F789EF10EB089BDC',
  ],
  [
    'BrainpoolP384',
    '1E20F5E048A5886F1F157C74E91BDE2B98C8B52D58E5003D57053FC4B0BD65D6F15EB5D1EE1610DF870795143627D042',
    '68B665DD91C195800650CDD363C625F4E742E8134667B767B1B476793588F885AB698C852D4A6E77A252D6380FCAF068',
    '55BC91A39C9EC01DEE36017B7D673A931236D2F1F5C83942D049E3FA20607493E0D038FF2FD30C2AB67D15C85F7FAA59',
  ],
  [
    'BrainpoolP512',
    '16302FF0DBBB5A8D733DAB7141C1B45ACBC8715939677F6A56850A38BD87BD59B09E80279609FF333EB9D4C061231FB26F92EEB04982A5F1D1764CAD57665422',
    '0A420517E406AAC0ACDCE90FCD71487718D3B953EFD7FBEC5F7F27E28C6149999397E91E029E06457DB2D3E640668B392C2A7E737A7F0BF04436D11640FD09FD',
    '72E6882E8DB28AAD36237CD25D580DB23783961C8DC52DFA2EC138AD472A0FCEF3887CF62B623B2A87DE5C588301EA3E5FC269B373B60724F5E82A6AD147FDE7',
  ],
]

for (const products of KINDS) {
  test(`public keys are those of RFC 6979 and RFC 7027, ${products}`, () => {
    for (const [type, secret, x, y] of KNOWN_KEYS) {
      assert.equal(toHex(dataOf(importCurveKey(type, hex(secret), products))), `04${x}${y}`.toLowerCase(), type)
    }
  })
}

for (const products of KINDS) {
  test(`the ECDSA signature of RFC 6979 A.2.5 for its nonce, ${products}`, () => {
    const nonce = hex('A6E3C57DD01ABE90086538398355DD4C3B17AA873382B0F24D6129493D8AAD60')
    const digest = new Uint8Array(createHash('sha256').update('sample').digest())
    const signature = signWithNonce(basePoint('EC_P256', products), digest, hex(KNOWN_KEYS[0]![1]), nonce)
    assert.deepEqual(signature?.map(toHex), [
      'efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716',
      'f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8',
    ])
  })
}

// RFC 8032 section 7.1, tests 1, 2, 3 and SHA(abc): seed, public key, message, signature.
const ED25519_VECTORS = [
  [
    '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    '72',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
  [
    'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
    'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    'af82',
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  ],
  [
    '833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42',
    'ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf',
    'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
    'dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704',
  ],
] as const

for (const products of KINDS) {
  test(`Ed25519 keys and signatures are those of RFC 8032, ${products}`, () => {
    for (const [seed, publicKey, message, signature] of ED25519_VECTORS) {
      const pair = importCurveKey('Curve25519', hex(seed), products)
      assert.equal(toHex(dataOf(pair)), publicKey)
      assert.equal(
        toHex(openCurveKey('Curve25519', hex(seed), systemRandom, products).sign('EdDSA', hex(message))),
        signature,
      )
    }
  })
}

test('Ed25519 signatures over messages of many lengths verify with OpenSSL', () => {
  const pair = generateCurveKey('Curve25519', systemRandom)
  const key = openCurveKey('Curve25519', pair.private, systemRandom)
  const pem = publicKeyPem('Curve25519', pair.public)
  for (const length of [0, 1, 31, 32, 33, 63, 64, 127, 128, 1000, 1_000_000]) {
    const message = systemRandom(length)
    const signature = key.sign('EdDSA', message)
    assert.equal(signature.length, 64)
    assert.ok(verify(null, message, pem, signature))
    assert.deepEqual(key.sign('EdDSA', message), signature, 'deterministic')
  }
  for (const mode of ['ECDSA', 'BIP340', 'PKCS1'] as const) {
    assert.throws(() => key.sign(mode, new Uint8Array(32)), invalid)
  }
})

test('any 32 bytes and nothing else are an Ed25519 seed', () => {
  for (const fill of [0, 1, 0xff]) {
    assert.equal(importCurveKey('Curve25519', new Uint8Array(32).fill(fill)).private.length, 32)
  }
  for (const length of [0, 31, 33, 64])
    assert.throws(() => importCurveKey('Curve25519', new Uint8Array(length)), invalid)
})

interface Ed25519Vectors {
  testGroups: { publicKey: { pk: string }; tests: { tcId: number; msg: string; sig: string; result: string }[] }[]
}

const ed25519Vectors = wycheproof<Ed25519Vectors>('ed25519_test.json')
test('the verifier of Ed25519 agrees with the Wycheproof vectors', { skip: ed25519Vectors === null }, () => {
  let count = 0
  for (const { publicKey, tests } of ed25519Vectors!.testGroups) {
    for (const { tcId, msg, sig, result } of tests) {
      let accepted = false
      try {
        accepted = ed25519.verify(hex(sig), hex(msg), hex(publicKey.pk), { zip215: false })
      } catch {
        // a signature of the wrong length
      }
      assert.equal(accepted, result === 'valid', `test ${tcId}`)
      count++
    }
  }
  assert.ok(count >= 150)
})

const BIP340 = readFileSync(new URL('bip340-vectors.csv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.trim().split(','))

for (const products of KINDS) {
  test(`BIP-340 signatures are those of the specification, ${products}`, () => {
    let signed = 0
    for (const [index, secret, publicKey, aux, message, signature, result] of BIP340) {
      const accepted = schnorr.verify(hex(signature!), hex(message!), hex(publicKey!))
      assert.equal(accepted, result === 'TRUE', `vector ${index}`)
      if (secret === '') continue
      const pair = importCurveKey('EC_P256K1', hex(secret!), products)
      assert.equal(toHex(dataOf(pair).subarray(1, 33)), publicKey!.toLowerCase())
      const random = (bytes: number) => {
        assert.equal(bytes, 32)
        return hex(aux!)
      }
      const key = openCurveKey('EC_P256K1', pair.private, random, products)
      assert.equal(toHex(key.sign('BIP340', hex(message!))), signature!.toLowerCase(), `vector ${index}`)
      signed++
    }
    assert.equal(BIP340.length, 19)
    assert.equal(signed, 8)
  })
}

test('BIP-340 takes messages of any length and fresh auxiliary randomness each time', () => {
  const pair = generateCurveKey('EC_P256K1', systemRandom)
  const key = openCurveKey('EC_P256K1', pair.private, systemRandom)
  const publicKey = dataOf(pair).subarray(1, 33)
  for (const message of [utf8(''), utf8('a'), systemRandom(32), systemRandom(10_000)]) {
    const [first, second] = [key.sign('BIP340', message), key.sign('BIP340', message)]
    assert.notDeepEqual(first, second)
    for (const signature of [first, second]) assert.ok(schnorr.verify(signature, message, publicKey))
  }
})

test('an opened key works on a copy and refuses to work once it is wiped', () => {
  for (const [type, mode] of [
    ['Curve25519', 'EdDSA'],
    ['EC_P256', 'ECDSA'],
    ['EC_P256K1', 'BIP340'],
  ] as [CurveKeyType, 'EdDSA' | 'ECDSA' | 'BIP340'][]) {
    const pair = generateCurveKey(type, systemRandom)
    const key = openCurveKey(type, pair.private, systemRandom)
    pair.private.fill(0)
    assert.ok(key.sign(mode, new Uint8Array(32)).length >= 64)
    key.wipe()
    assert.throws(() => key.sign(mode, new Uint8Array(32)), CofferError)
  }
})
