/** `transit/random`, `hash` and `hmac`. CONTRACT.md, "Data". */

import { createHash, timingSafeEqual } from 'node:crypto'
import { encodeBase64 } from '../../base/base64.ts'
import { wipe, wipeIn } from '../../base/secret.ts'
import { HMAC_HASHES, type HmacMode } from '../../crypto/types.ts'
import { declare, domainOf, OPERATIONAL, OPERATORS } from '../api/services.ts'
import { ANSWER, answer, invalid, noKey } from './answers.ts'
import { inBatches } from './batch.ts'
import { decoded, type Fields, jsonBody, text } from './body.ts'
import { AES, HMAC } from './key-types.ts'
import { findKey, nameIn, type WireKey } from './keys.ts'
import { declareUse, expectTags, noteVersion, type UseRequest } from './use.ts'
import { bytesOf, versioned, versionFor } from './versions.ts'

const RANDOM = { default: 32, max: 131_072 }
const SOURCES = ['platform', 'seal', 'all'] // all of them are the operating system

export const HASHES: ReadonlyMap<string, (typeof HMAC_HASHES)[number]> = new Map(
  HMAC_HASHES.map((hash) => {
    const sha3 = hash.replace('SHA3_', 'sha3-')
    return [sha3 === hash ? hash.replace('SHA', 'sha2-') : sha3, hash]
  }),
)

function inFormat(bytes: Uint8Array, body: Fields, normal: 'hex' | 'base64'): string {
  const format = text(body, 'format') ?? normal
  if (format !== 'hex' && format !== 'base64')
    throw invalid(`unsupported encoding format "${format}"; must be "hex" or "base64"`)
  return format === 'base64' ? encodeBase64(bytes) : Buffer.from(bytes).toString('hex')
}

function random({ services, body, params }: UseRequest) {
  const { source = 'platform', bytes } = params as { source?: string; bytes?: string }
  const isCount = /^\d{1,9}$/.test(source)
  if (!isCount && !SOURCES.includes(source)) throw invalid(`unsupported entropy source "${source}"`)
  const given = bytes ?? (isCount ? source : text(body, 'bytes')) ?? String(RANDOM.default)
  if (!/^-?\d{1,9}$/.test(given)) throw invalid("error parsing url-set byte count: 'bytes' must be a number")
  const count = Number(given)
  if (count < 1) throw invalid("'bytes' cannot be less than 1")
  if (count > RANDOM.max) throw invalid(`'bytes' should be less than ${RANDOM.max}`)
  const drawn = services.random(count)
  try {
    return answer({ random_bytes: inFormat(drawn, body, 'base64') })
  } finally {
    wipe(drawn)
  }
}

export const INPUT = 'unable to decode input as base64: '

export const digestOf = (algorithm: string, input: Uint8Array): Uint8Array =>
  createHash(algorithm.toLowerCase().replace('_', '-')).update(input).digest()

function hash({ body, params }: UseRequest) {
  const name = (params as { algorithm?: string }).algorithm ?? text(body, 'algorithm') ?? 'sha2-256'
  const algorithm = HASHES.get(name)
  if (algorithm === undefined) throw invalid(`unsupported algorithm ${name}`)
  const input = decoded(text(body, 'input') ?? '', INPUT)
  return answer({ sum: inFormat(digestOf(algorithm, input), body, 'hex') })
}

/** OpenBao's text for every unknown name. */
const UNKNOWN_HASH = "unsupported algorithm '\\x00'"

function modeOf({ params, body }: UseRequest): HmacMode {
  const name =
    (params as { hash?: string }).hash ?? text(body, 'hash_algorithm') ?? text(body, 'algorithm') ?? 'sha2-256'
  const algorithm = HASHES.get(name)
  if (algorithm === undefined) throw invalid(UNKNOWN_HASH)
  return `HMAC_${algorithm}`
}

function inputIn(item: Fields): Uint8Array {
  const input = text(item, 'input')
  if (input === undefined) throw invalid('missing input for HMAC')
  return decoded(input, INPUT)
}

async function macOf(request: UseRequest, { entry }: WireKey, input: Uint8Array, mode: HmacMode, version: number) {
  noteVersion(request, version)
  const mac = await domainOf(request).keyUse.sign(request, entry.id, mode, () => input, null, version)
  request.services.activity.sign++
  return mac
}

function expectMacKey(request: UseRequest): WireKey {
  const name = nameIn(request)
  const key = findKey(request, name)
  if (key === undefined) throw noKey('encryption key not found')
  expectTags(request, name, 'sign')
  if (key.type !== AES && key.type !== HMAC) throw invalid(`key type ${key.type.name} does not support HMAC`)
  return key
}

async function macItem(request: UseRequest, key: WireKey, item: Fields, mode: HmacMode) {
  const input = inputIn(item)
  try {
    const version = versionFor(key.entry, item, 'HMAC')
    return { hmac: versioned(encodeBase64(await macOf(request, key, input, mode, version)), version) }
  } finally {
    wipeIn(input)
  }
}

function mac(request: UseRequest) {
  const key = expectMacKey(request)
  const mode = modeOf(request)
  return inBatches(request.body, (item) => macItem(request, key, item, mode))
}

export function verifyMac(request: UseRequest) {
  const key = expectMacKey(request)
  const mode = modeOf(request)
  return inBatches(request.body, (item) => verifyItem(request, key, item, mode))
}

async function verifyItem(request: UseRequest, key: WireKey, item: Fields, mode: HmacMode) {
  const { version, bytes: given } = bytesOf(key.entry, text(item, 'hmac') ?? '', 'HMAC')
  const right = await macOf(request, key, inputIn(item), mode, version)
  return { valid: given.length === right.length && timingSafeEqual(given, right) }
}

const common = { method: 'POST', states: OPERATIONAL, access: OPERATORS, body: jsonBody, answers: ANSWER } as const

export const hashDeclarations = [
  ...['', '/:source', '/:source/:bytes'].map((end) =>
    declare({ ...common, path: `/v1/transit/random${end}`, summary: 'Random bytes.', audit: 'none', handle: random }),
  ),
  ...['', '/:algorithm'].map((end) =>
    declare({ ...common, path: `/v1/transit/hash${end}`, summary: 'A hash.', audit: 'none', handle: hash }),
  ),
  ...['', '/:hash'].map((end) => declareUse({ path: `/v1/transit/hmac/:name${end}`, summary: 'A MAC.', handle: mac })),
]
