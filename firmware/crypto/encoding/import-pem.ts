/** Reads private keys from PEM files: PKCS#8 (RFC 5208, 5958, 8410, 9881), PKCS#1 (RFC 8017), SEC 1 (RFC 5915). Contract section 6.4. */

import { id_ecPublicKey } from '@peculiar/asn1-ecc'
import { id_rsaEncryption } from '@peculiar/asn1-rsa'
import { CofferError } from '../../base/error.ts'
import { copySecret, newSecret, wipe } from '../../base/secret.ts'
import { CURVES, ED25519_BYTES, ED25519_OID, ML_DSA_OIDS } from '../algorithms.ts'
import { PARAMETERS, SEED_BYTES } from '../engine/ml-dsa/parameters.ts'
import type { RsaClaims } from '../rsa/generate.ts'
import type { EcKeyType, MlDsaKeyType, PublicKey } from '../types.ts'
import { bitStringBytes, constructed, DerReader, decodeOid, primitive, TAG } from './der.ts'
import { decodeBody, splitPem } from './pem.ts'

/** Public key in the file, if any, to compare with the one of the private key. */
export type ClaimedPublic = { modulus: Uint8Array } | { point: Uint8Array } | undefined

/** The caller wipes all byte arrays. */
export type PrivateKeyFile = { claimed: ClaimedPublic } & (
  | ({ type: 'RSA'; primeP: Uint8Array; primeQ: Uint8Array; publicExponent: Uint8Array } & RsaClaims)
  | { type: EcKeyType | 'Curve25519'; data: Uint8Array }
  /** `expanded` if the file has both the seed and the expanded key. */
  | { type: MlDsaKeyType; data: Uint8Array; expanded: Uint8Array | undefined }
)

/**
 * Reads the only private key of a PEM file and determines its type. The import into the pool checks the numbers; then
 * `checkClaimed` compares the public key. Throws CofferError `invalid`. The caller wipes `pem`.
 */
export function parsePrivateKeyPem(pem: Uint8Array): PrivateKeyFile {
  const { label, body } = onlyPrivateKey(pem)
  const der = decodeBody(body)
  try {
    return READERS[label]!(der)
  } finally {
    wipe(der)
  }
}

/** Throws CofferError `invalid` if the public key of the file does not belong to its private key. */
export function checkClaimed(claimed: ClaimedPublic, publicKey: PublicKey): void {
  if (claimed === undefined || publicKey === null) return
  const agrees =
    'modulus' in claimed
      ? 'modulus' in publicKey && same(claimed.modulus, publicKey.modulus)
      : 'data' in publicKey && samePoint(claimed.point, publicKey.data)
  if (!agrees) throw new CofferError('invalid', 'The public part of the key does not belong to its private part')
}

const READERS: Readonly<Record<string, (der: Uint8Array) => PrivateKeyFile>> = {
  'PRIVATE KEY': readPkcs8,
  'RSA PRIVATE KEY': readRsa,
  'EC PRIVATE KEY': (der) => readEc(der, undefined),
}
const ENCRYPTED_LABEL = 'ENCRYPTED PRIVATE KEY'
const COLON = 0x3a

function onlyPrivateKey(pem: Uint8Array): { label: string; body: Uint8Array } {
  const keys = splitPem(pem).filter(({ label }) => Object.hasOwn(READERS, label) || label === ENCRYPTED_LABEL)
  if (keys.length !== 1) {
    throw new CofferError('invalid', `PEM: exactly one private key is required, ${keys.length} found`)
  }
  const [key] = keys
  // Header lines (RFC 1421) occur with encrypted keys only.
  if (key!.label === ENCRYPTED_LABEL || key!.body.includes(COLON)) {
    throw new CofferError('invalid', 'PEM: encrypted private keys are not accepted')
  }
  return key!
}

function readPkcs8(der: Uint8Array): PrivateKeyFile {
  const info = only(der)
  const version = small(info.unsigned())
  if (version > 1) throw new CofferError('invalid', 'PKCS#8: unknown version')
  const algorithm = info.sequence()
  const oid = algorithm.oid()
  const inner = info.read(TAG.octetString)
  info.readOptional(constructed(0)) // attributes, which are not stored
  const publicKey = version === 1 ? info.readOptional(primitive(1)) : undefined // RFC 5958
  info.end()
  if (oid === id_rsaEncryption) {
    algorithm.readOptional(TAG.null)
    algorithm.end()
    return readRsa(inner)
  }
  if (oid === id_ecPublicKey) return readEc(inner, namedCurve(algorithm))
  if (oid === ED25519_OID) {
    algorithm.end()
    return readEd25519(inner, publicKey)
  }
  const mlDsa = (Object.keys(ML_DSA_OIDS) as MlDsaKeyType[]).find((type) => ML_DSA_OIDS[type] === oid)
  if (mlDsa !== undefined) {
    algorithm.end()
    return readMlDsa(mlDsa, inner, publicKey)
  }
  throw new CofferError('invalid', 'PKCS#8: not an RSA, EC, Ed25519 or ML-DSA key')
}

function readRsa(der: Uint8Array): PrivateKeyFile {
  const key = only(der)
  if (small(key.unsigned()) !== 0)
    throw new CofferError('invalid', 'RSA: keys of more than two primes are not accepted')
  const modulus = key.unsigned()
  const publicExponent = key.unsigned()
  // the pool recomputes all numbers from the primes, and compares these
  const privateExponent = key.unsigned()
  const primeP = key.unsigned()
  const primeQ = key.unsigned()
  const exponentP = key.unsigned()
  const exponentQ = key.unsigned()
  const coefficient = key.unsigned()
  key.end()
  return {
    type: 'RSA',
    primeP: copySecret(primeP),
    primeQ: copySecret(primeQ),
    publicExponent: publicExponent.slice(),
    privateExponent: copySecret(privateExponent),
    exponentP: copySecret(exponentP),
    exponentQ: copySecret(exponentQ),
    coefficient: copySecret(coefficient),
    claimed: { modulus: modulus.slice() },
  }
}

/** `curve` is the curve of the PKCS#8 wrapper; without one, the key must name its curve. */
function readEc(der: Uint8Array, curve: EcKeyType | undefined): PrivateKeyFile {
  const key = only(der)
  if (small(key.unsigned()) !== 1) throw new CofferError('invalid', 'EC: unknown version')
  const scalar = key.read(TAG.octetString)
  const parameters = key.readOptional(constructed(0))
  const publicKey = key.readOptional(constructed(1))
  key.end()
  let type = curve
  if (parameters !== undefined || type === undefined) {
    const own = namedCurve(new DerReader(parameters ?? new Uint8Array()))
    if (type !== undefined && own !== type) throw new CofferError('invalid', 'EC: two different curves are named')
    type = own
  }
  const claimed = publicKey && { point: bitStringBytes(only(publicKey, TAG.bitString)).slice() }
  return { type, data: toField(scalar, CURVES[type].fieldBytes), claimed }
}

function readEd25519(der: Uint8Array, publicKey: Uint8Array | undefined): PrivateKeyFile {
  const data = only(der, TAG.octetString)
  if (data.length !== ED25519_BYTES) throw new CofferError('invalid', `Ed25519: keys have ${ED25519_BYTES} bytes`)
  const claimed = publicKey && { point: bitStringBytes(publicKey).slice() }
  return { type: 'Curve25519', data: copySecret(data), claimed }
}

/** RFC 9881 section 6: seed, expanded key, or both. */
function readMlDsa(type: MlDsaKeyType, der: Uint8Array, publicKey: Uint8Array | undefined): PrivateKeyFile {
  const reader = new DerReader(der)
  const both = reader.readOptional(TAG.sequence)
  const parts = both === undefined ? reader : new DerReader(both)
  const seed = parts.readOptional(both === undefined ? primitive(0) : TAG.octetString)
  const expanded = seed !== undefined && both === undefined ? undefined : parts.read(TAG.octetString)
  parts.end()
  reader.end()
  const { expandedBytes } = PARAMETERS[type]
  if ((seed?.length ?? SEED_BYTES) !== SEED_BYTES || (expanded?.length ?? expandedBytes) !== expandedBytes) {
    throw new CofferError('invalid', `${type}: seeds have ${SEED_BYTES}, expanded keys ${expandedBytes} bytes`)
  }
  const claimed = publicKey && { point: bitStringBytes(publicKey).slice() }
  return { type, data: copySecret(seed ?? expanded!), expanded: seed && expanded && copySecret(expanded), claimed }
}

function namedCurve(parameters: DerReader): EcKeyType {
  const name = parameters.readOptional(TAG.oid)
  if (name === undefined) throw new CofferError('invalid', 'EC: a named curve is needed')
  parameters.end()
  const oid = decodeOid(name)
  const found = (Object.keys(CURVES) as EcKeyType[]).find((type) => CURVES[type].oid === oid)
  if (found === undefined) throw new CofferError('invalid', 'EC: unknown curve')
  return found
}

/** Pads or trims the scalar: some programs omit leading zeros, some add one. */
function toField(scalar: Uint8Array, bytes: number): Uint8Array {
  let start = 0
  while (scalar.length - start > bytes && scalar[start] === 0) start++
  if (scalar.length - start > bytes) {
    throw new CofferError('invalid', 'EC: the private key is longer than its curve allows')
  }
  const padded = newSecret(bytes)
  padded.set(scalar.subarray(start), bytes - (scalar.length - start))
  return padded
}

/** Compares points; a shorter `input` may be compressed (SEC 1 section 2.3.3). */
function samePoint(input: Uint8Array, point: Uint8Array): boolean {
  if (input.length === point.length || (input[0] !== 2 && input[0] !== 3)) return same(input, point)
  const fieldBytes = (point.length - 1) / 2
  return input[0] === 2 + (point.at(-1)! & 1) && same(input.subarray(1), point.subarray(1, 1 + fieldBytes))
}

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0

/** Reads the only value in `der`: returns a reader for a SEQUENCE, else the content. */
function only(der: Uint8Array): DerReader
function only(der: Uint8Array, tag: number): Uint8Array
function only(der: Uint8Array, tag?: number): DerReader | Uint8Array {
  const outer = new DerReader(der)
  const value = tag === undefined ? outer.sequence() : outer.read(tag)
  outer.end()
  return value
}

/** Reads a version number; 255 stands for all larger numbers. */
const small = (number: Uint8Array): number => (number.length === 1 ? number[0]! : 255)
