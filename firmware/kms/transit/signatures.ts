/** `transit/sign`, `verify` and `export/public-key`. CONTRACT.md, "Signatures". */

import { p256, p384, p521 } from '@noble/curves/nist.js'
import { encodeBase64 } from '../../base/base64.ts'
import { defined } from '../../base/defined.ts'
import { CURVES, isEcKeyType } from '../../crypto/algorithms.ts'
import { base64InPem } from '../../crypto/encoding/pem.ts'
import { publicKeyPem } from '../../crypto/encoding/public-key.ts'
import type { KeyType, PublicKey, SignMode } from '../../crypto/types.ts'
import { declare, domainOf, OPERATIONAL, READERS } from '../api/services.ts'
import { ANSWER, answer, denied, invalid, missing, noKey } from './answers.ts'
import { inBatches } from './batch.ts'
import { anyQuery, batchOf, decoded, type Fields, flag, text } from './body.ts'
import { digestOf, HASHES, INPUT, verifyMac } from './hash.ts'
import { awaitKey, findKey, isRaw, nameIn, type OfKey, type WireKey } from './keys.ts'
import { declareUse, expectTags, noteVersion, type UseRequest } from './use.ts'
import { bytesOf, latestVersion, limitsOf, payloadOf, versioned, versionFor } from './versions.ts'

const NIST = { EC_P256: p256, EC_P384: p384, EC_P521: p521 } as const
type NistType = keyof typeof NIST
const isNist = (type: KeyType): type is NistType => Object.hasOwn(NIST, type)

/** Input of signing and of verification. */
interface Question {
  mode: SignMode
  message: Uint8Array
}

const NO_HASH = 'none'

function hashIn({ params }: UseRequest, item: Fields, body: Fields): string {
  const inPath = (params as { hash?: string }).hash
  const name =
    inPath ?? text(item, 'hash_algorithm') ?? text(body, 'hash_algorithm') ?? text(body, 'algorithm') ?? 'sha2-256'
  if (name !== NO_HASH && !HASHES.has(name)) throw invalid(`invalid hash algorithm "${name}"`)
  return name
}

function questionOf(request: UseRequest, { entry: { type } }: WireKey, item: Fields): Question {
  const { body } = request
  const hash = hashIn(request, item, body)
  const input = decoded(text(item, 'input') ?? '', INPUT)
  if (type === 'Curve25519') return { mode: 'EdDSA', message: input }
  if (type.startsWith('ML_DSA_')) return { mode: 'ML_DSA', message: input }
  const isPrehashed = flag(body, 'prehashed')
  const algorithm = HASHES.get(hash)
  if (algorithm === undefined && !isPrehashed) throw invalid('hash algorithm none needs prehashed input')
  const digest = algorithm === undefined || isPrehashed ? input : digestOf(algorithm, input)
  if (isEcKeyType(type)) return { mode: 'ECDSA', message: fitted(digest, CURVES[type].digestBytes) }
  return { mode: rsaMode(body, algorithm, digest), message: digest }
}

/** The leftmost bytes of the digest, or zeros before it: FIPS 186-5 section 6.4.1. */
function fitted(digest: Uint8Array, bytes: number): Uint8Array {
  if (digest.length >= bytes) return digest.slice(0, bytes)
  const padded = new Uint8Array(bytes)
  padded.set(digest, bytes - digest.length)
  return padded
}

const DIGEST_BYTES: Readonly<Record<string, number>> = { SHA224: 28, SHA256: 32, SHA384: 48, SHA512: 64 }

function rsaMode(body: Fields, hash: string | undefined, digest: Uint8Array): SignMode {
  const scheme = text(body, 'signature_algorithm') ?? 'pss'
  if (scheme !== 'pss' && scheme !== 'pkcs1v15') throw invalid(`unsupported rsa signature algorithm ${scheme}`)
  if (hash === undefined) {
    if (scheme === 'pss') throw invalid('hash algorithm none needs signature_algorithm pkcs1v15')
    return 'PKCS1'
  }
  const bytes = DIGEST_BYTES[hash]
  if (bytes === undefined) throw invalid('RSA keys sign digests of SHA-2')
  if (digest.length !== bytes) throw invalid('input must be the digest of hash_algorithm')
  if (scheme === 'pkcs1v15') return `PKCS1_${hash}` as SignMode
  const salt = text(body, 'salt_length') ?? 'auto'
  if (!['auto', 'hash', '', String(bytes)].includes(salt))
    throw invalid(`invalid salt length ${salt}: it is that of the hash`)
  return `PSS_${hash}` as SignMode
}

function isJws(body: Fields): boolean {
  const name = text(body, 'marshaling_algorithm') ?? 'asn1'
  if (name !== 'asn1' && name !== 'jws') throw invalid(`invalid marshaling algorithm "${name}"`)
  return name === 'jws'
}

async function signItem(request: UseRequest, key: WireKey, item: Fields) {
  const { mode, message } = questionOf(request, key, item)
  const version = versionFor(key.entry, item, 'signing')
  noteVersion(request, version)
  const { keyUse } = domainOf(request)
  const { id, type } = key.entry
  const signature = await keyUse.sign(request, id, mode, () => message, null, version)
  request.services.activity.sign++
  const form = isNist(type) && isJws(request.body) ? jwsOf(type, signature) : encodeBase64(signature)
  return { signature: versioned(form, version), key_version: version }
}

/** RFC 7518 section 3.4: both numbers, each as long as the field. */
const jwsOf = (type: NistType, der: Uint8Array): string =>
  Buffer.from(NIST[type].Signature.fromBytes(der, 'der').toBytes('compact')).toString('base64url')

/** Null for what is no signature. */
function derOf(type: NistType, jws: string): Uint8Array | null {
  try {
    return NIST[type].Signature.fromBytes(new Uint8Array(Buffer.from(jws, 'base64url')), 'compact').toBytes('der')
  } catch {
    return null
  }
}

/** `bytes` is null for what is no signature. */
function signatureIn(request: UseRequest, { entry }: WireKey, item: Fields) {
  const value = text(item, 'signature') ?? ''
  if (!isNist(entry.type) || !isJws(request.body)) return bytesOf(entry, value, 'signature')
  const { version, text: jws } = payloadOf(entry, value, 'signature')
  return { version, bytes: derOf(entry.type, jws) }
}

async function verifyItem(request: UseRequest, key: WireKey, item: Fields) {
  const { version, bytes } = signatureIn(request, key, item)
  const { mode, message } = questionOf(request, key, item)
  noteVersion(request, version)
  const { keyUse } = domainOf(request)
  return { valid: bytes !== null && (await keyUse.verify(request, key.entry.id, mode, message, bytes, version)) }
}

function sign(request: UseRequest) {
  const name = nameIn(request)
  const key = findKey(request, name)
  if (key === undefined) throw noKey('signing key not found')
  expectTags(request, name, 'sign')
  if (!key.type.signs) throw invalid(`key type ${key.type.name} does not support signing`)
  return inBatches(request.body, (item) => signItem(request, key, item), { failed: { key_version: 0 } })
}

function verify(request: UseRequest) {
  const item = batchOf(request.body)?.[0] ?? request.body // all items are of one kind
  if (item.signature === undefined) {
    if (item.hmac === undefined) throw invalid("neither a 'signature' nor an 'hmac' were given to verify")
    return verifyMac(request)
  }
  const name = nameIn(request)
  const key = findKey(request, name)
  if (key === undefined) throw noKey('signature verification key not found')
  expectTags(request, name, 'sign')
  if (!key.type.signs) throw invalid(`key type ${key.type.name} does not support verification`)
  return inBatches(request.body, (item) => verifyItem(request, key, item))
}

/** Versions in an export: all that decrypt, the newest one, or the one that is named. */
function versionsIn({ entry }: WireKey, named: string): number[] {
  const latest = latestVersion(entry)
  const { minDecryption } = limitsOf(entry)
  if (named === '') return Array.from({ length: latest - minDecryption + 1 }, (_, at) => minDecryption + at)
  if (named === 'latest') return [latest]
  if (!/^\d{1,9}$/.test(named)) throw invalid('invalid key version')
  if (Number(named) < minDecryption) throw invalid('version for export is below minimum decryption version')
  if (Number(named) > latest) throw invalid('version does not exist or cannot be found')
  return [Number(named)]
}

function exportPublic(request: OfKey & { query: Readonly<Record<string, string>> }) {
  const { kind, version = '' } = request.params as { kind: string; version?: string }
  if (kind !== 'public-key') throw denied()
  const key = findKey(request, nameIn(request))
  if (key === undefined) throw missing()
  const versions = versionsIn(key, version)
  if (key.entry.type === 'Generic') throw invalid(`key type ${key.type.name} has no public key`)
  const { format = '' } = request.query
  if (!['', 'raw', 'der', 'pem'].includes(format)) throw invalid(`unsupported format ${format}`)
  const publicKeyOf = domainOf(request).keys.publicKeys(key.entry)
  const shown = versions.map((version) => [version, shownIn(key.entry.type, defined(publicKeyOf(version)), format)])
  const keys = Object.fromEntries(shown)
  return answer({ name: key.entry.id, type: key.type.name, keys })
}

function shownIn(type: KeyType, publicKey: NonNullable<PublicKey>, format: string): string {
  const pem = publicKeyPem(type, publicKey)
  if (format === 'der') return base64InPem(pem)
  return format !== 'pem' && isRaw(type) && 'data' in publicKey ? encodeBase64(publicKey.data) : pem
}

export const signatureDeclarations = [
  ...['', '/:hash'].flatMap((end) => [
    declareUse({ path: `/v1/transit/sign/:name${end}`, summary: 'Signs.', handle: sign }),
    declareUse({
      path: `/v1/transit/verify/:name${end}`,
      summary: 'Whether a signature or a MAC is right.',
      handle: verify,
    }),
  ]),
  ...['', '/:version'].map((end) =>
    declare({
      method: 'GET',
      path: `/v1/transit/export/:kind/:name${end}`,
      summary: 'A public key.',
      states: OPERATIONAL,
      access: READERS,
      prepare: awaitKey,
      query: anyQuery,
      answers: ANSWER,
      handle: exportPublic,
    }),
  ),
]
