/**
 * Verifies signatures over an existing digest, which WebCrypto cannot: RSA PKCS #1 v1.5 and PSS (RFC 8017), and ECDSA (FIPS
 * 186-5) on the NIST curves and secp256k1. The arithmetic takes variable time: use it for public numbers only.
 */

import { fromHex, toHex } from './bytes.ts'
import { children, readElement, TAG } from './der.ts'
import { createSha2, type Sha2Name } from './sha2.ts'

interface RsaPublic {
  modulus: Uint8Array
  publicExponent: Uint8Array
}

/** Null for unsupported curves. `curveName` is a key type, `point` is 0x04, X, Y, `signature` is DER. */
export function verifyEcdsa(
  curveName: string,
  point: Uint8Array,
  digest: Uint8Array,
  signature: Uint8Array,
): boolean | null {
  const curve = CURVES[curveName]?.()
  const numbers = readSignature(signature)
  if (curve === undefined) return null
  if (numbers === null || point[0] !== 4) return false
  const { p, a, b, n, x, y } = curve
  const [r, s] = numbers
  if (r < 1n || r >= n || s < 1n || s >= n) return false
  const half = (point.length - 1) / 2
  const key = { x: toNumber(point.subarray(1, 1 + half)), y: toNumber(point.subarray(1 + half)), z: 1n }
  if (modulo(key.y * key.y - key.x ** 3n - a * key.x - b, p) !== 0n) return false
  // The leftmost bits of the digest, as many as the order has: FIPS 186-5 section 6.4.2.
  const surplus = BigInt(Math.max(0, digest.length * 8 - n.toString(2).length))
  const e = toNumber(digest) >> surplus
  const w = inverse(s, n)
  const sum = add(multiply({ x, y, z: 1n }, (e * w) % n, curve), multiply(key, (r * w) % n, curve), curve)
  if (sum.z === 0n) return false
  const i = inverse(sum.z, p)
  return modulo(sum.x * i * i, p) % n === r
}

/** EMSA-PKCS1-v1_5 with the DigestInfo of the hash, or with none: RFC 8017 section 8.2.2. */
export function verifyPkcs1(key: RsaPublic, hash: Sha2Name | null, digest: Uint8Array, signature: Uint8Array): boolean {
  const encoded = recover(key, signature)
  if (encoded === null) return false
  const info = (hash === null ? '' : DIGEST_INFO[hash]) + toHex(digest)
  const padding = encoded.length - info.length / 2 - 3
  return padding >= 8 && toHex(encoded) === `0001${'ff'.repeat(padding)}00${info}`
}

/** EMSA-PSS with MGF1 of the same hash and a salt as long as the digest: RFC 8017 section 9.1.2. */
export function verifyPss(key: RsaPublic, hash: Sha2Name, digest: Uint8Array, signature: Uint8Array): boolean {
  const bits = toNumber(key.modulus).toString(2).length - 1
  const whole = recover(key, signature)
  if (whole === null) return false
  const length = Math.ceil(bits / 8)
  const encoded = whole.subarray(whole.length - length)
  const size = digest.length
  if (length < 2 * size + 2 || encoded[length - 1] !== 0xbc) return false
  if (whole.subarray(0, whole.length - length).some((byte) => byte !== 0)) return false
  const masked = encoded.subarray(0, length - size - 1)
  const seed = encoded.subarray(length - size - 1, length - 1)
  const unused = 8 * length - bits
  if (masked[0]! >> (8 - unused) !== 0) return false
  const block = maskOf(hash, seed, masked.length).map((byte, at) => byte ^ masked[at]!)
  block[0]! &= 0xff >> unused
  const separator = block.length - size - 1
  if (block[separator] !== 1 || block.subarray(0, separator).some((byte) => byte !== 0)) return false
  const salt = block.subarray(separator + 1)
  const check = createSha2(hash).update(new Uint8Array(8)).update(digest).update(salt).digest()
  return toHex(check) === toHex(seed)
}

/** DER of the DigestInfo before the digest: RFC 8017 section 9.2 note 1. */
const DIGEST_INFO: Readonly<Record<Sha2Name, string>> = {
  SHA224: '302d300d06096086480165030402040500041c',
  SHA256: '3031300d060960864801650304020105000420',
  SHA384: '3041300d060960864801650304020205000430',
  SHA512: '3051300d060960864801650304020305000440',
}

function maskOf(hash: Sha2Name, seed: Uint8Array, length: number): Uint8Array {
  const mask: number[] = []
  for (let counter = 0; mask.length < length; counter++)
    mask.push(
      ...createSha2(hash)
        .update(seed)
        .update(Uint8Array.of(0, 0, counter >> 8, counter & 255))
        .digest(),
    )
  return new Uint8Array(mask.slice(0, length))
}

/** RSAVP1. Returns as many bytes as the modulus has, or null if the signature is out of range. */
function recover({ modulus, publicExponent }: RsaPublic, signature: Uint8Array): Uint8Array | null {
  const n = toNumber(modulus)
  const s = toNumber(signature)
  if (s >= n) return null
  const result = power(s, toNumber(publicExponent), n)
  const length = Math.ceil(n.toString(2).length / 8)
  if (signature.length !== length) return null
  const hex = result.toString(16).padStart(2 * length, '0')
  return fromHex(hex)
}

const toNumber = (bytes: Uint8Array): bigint => (bytes.length === 0 ? 0n : BigInt(`0x${toHex(bytes)}`))

/** Reads a SEQUENCE of two INTEGERs without trailing bytes. Returns null for anything else. */
function readSignature(der: Uint8Array): [bigint, bigint] | null {
  try {
    const { tag, content, whole } = readElement(der)
    const [r, s, ...more] = children(content).map((number) => {
      if (number.tag !== TAG.integer || !(number.content[0]! < 0x80)) throw new Error('Not a number above zero')
      return toNumber(number.content)
    })
    const isWhole = tag === TAG.sequence && whole.length === der.length && more.length === 0
    return isWhole && r !== undefined && s !== undefined ? [r, s] : null
  } catch {
    return null
  }
}

/** Jacobian coordinates: (x/z², y/z³). z is 0 for the point at infinity. */
interface Point {
  x: bigint
  y: bigint
  z: bigint
}

interface Curve {
  p: bigint
  a: bigint
  b: bigint
  n: bigint
  x: bigint
  y: bigint
}

const INFINITY: Point = { x: 1n, y: 1n, z: 0n }

const modulo = (value: bigint, p: bigint): bigint => ((value % p) + p) % p

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus
    if (bit === '1') result = (result * base) % modulus
  }
  return result
}

/** By Fermat's little theorem. `p` must be prime. */
const inverse = (value: bigint, p: bigint): bigint => power(modulo(value, p), p - 2n, p)

function multiply(point: Point, scalar: bigint, curve: Curve): Point {
  let result = INFINITY
  for (const bit of scalar.toString(2)) {
    result = double(result, curve)
    if (bit === '1') result = add(result, point, curve)
  }
  return result
}

function double({ x, y, z }: Point, { p, a }: Curve): Point {
  if (z === 0n || y === 0n) return INFINITY
  const yy = (y * y) % p
  const s = (4n * x * yy) % p
  const m = (3n * x * x + a * z ** 4n) % p
  const x3 = modulo(m * m - 2n * s, p)
  return { x: x3, y: modulo(m * (s - x3) - 8n * yy * yy, p), z: (2n * y * z) % p }
}

function add(left: Point, right: Point, curve: Curve): Point {
  if (left.z === 0n) return right
  if (right.z === 0n) return left
  const { p } = curve
  const u1 = modulo(left.x * right.z ** 2n, p)
  const u2 = modulo(right.x * left.z ** 2n, p)
  const s1 = modulo(left.y * right.z ** 3n, p)
  const s2 = modulo(right.y * left.z ** 3n, p)
  if (u1 === u2) return s1 === s2 ? double(left, curve) : INFINITY
  const h = modulo(u2 - u1, p)
  const r = modulo(s2 - s1, p)
  const hh = (h * h) % p
  const hhh = (h * hh) % p
  const v = (u1 * hh) % p
  const x = modulo(r * r - hhh - 2n * v, p)
  return { x, y: modulo(r * (v - x) - s1 * hhh, p), z: (h * left.z * right.z) % p }
}

/**
 * Parameters of SEC 2 version 2 section 2: `n` as its difference to a power of two, `b` and the base point's x in hex, and
 * whether the base point's y is odd.
 * All these primes are 3 modulo 4, so a square root is a power (SEC 1 section 2.3.4).
 */
function curve(p: bigint, a: bigint, n: bigint, isOdd: boolean, ...hex: [b: string, x: string]): Curve {
  const [b, x] = hex.map((text) => BigInt(`0x${text}`)) as [bigint, bigint]
  const root = power(modulo(x ** 3n + a * x + b, p), (p + 1n) / 4n, p)
  return { p, a, b, n, x, y: (root % 2n === 1n) === isOdd ? root : p - root }
}

const CURVES: Readonly<Record<string, () => Curve>> = {
  EC_P256: () =>
    curve(
      2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n,
      -3n,
      2n ** 256n - 2n ** 224n + 2n ** 192n - 0x4319055258e8617b0c46353d039cdaafn,
      true,
      '5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b',
      '6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296',
    ),
  EC_P384: () =>
    curve(
      2n ** 384n - 2n ** 128n - 2n ** 96n + 2n ** 32n - 1n,
      -3n,
      2n ** 384n - 0x389cb27e0bc8d220a7e5f24db74f58851313e695333ad68dn,
      true,
      'b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef',
      'aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7',
    ),
  EC_P521: () =>
    curve(
      2n ** 521n - 1n,
      -3n,
      2n ** 521n - 0x5ae79787c40d069948033feb708f65a2fc44a36477663b851449048e16ec79bf7n,
      false,
      '51953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00',
      'c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66',
    ),
  EC_P256K1: () =>
    curve(
      2n ** 256n - 2n ** 32n - 977n,
      0n,
      2n ** 256n - 0x14551231950b75fc4402da1732fc9bebfn,
      false,
      '7',
      '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    ),
}
