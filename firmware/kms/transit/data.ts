/** `transit/encrypt`, `decrypt`, `rewrap` and `datakey`. CONTRACT.md, "Data". */

import { concatBytes } from '@noble/hashes/utils.js'
import { encodeBase64 } from '../../base/base64.ts'
import { CofferError } from '../../base/error.ts'
import { wipe, wipeIn } from '../../base/secret.ts'
import { permits } from '../../crypto/algorithms.ts'
import { XAES_NONCE_BYTES } from '../../crypto/xaes.ts'
import { domainOf } from '../api/services.ts'
import type { KeyEntry } from '../domain/key-index.ts'
import type { Input } from '../domain/key-use.ts'
import { answer, invalid, noKey } from './answers.ts'
import { inBatches } from './batch.ts'
import { bytes, decoded, type Fields, integer, text } from './body.ts'
import { AES } from './key-types.ts'
import { findKey, nameIn, type WireKey } from './keys.ts'
import { declareUse, expectTags, noteVersion, type UseRequest } from './use.ts'
import { bytesOf, versioned, versionFor } from './versions.ts'

const SHORTEST = XAES_NONCE_BYTES + 16

function expectCipher(request: UseRequest, action: 'encrypt' | 'decrypt'): WireKey {
  const name = nameIn(request)
  const key = findKey(request, name)
  if (key === undefined) throw noKey('encryption key not found')
  expectTags(request, name, action)
  if (!key.type.encrypts) throw invalid(`message ${action}ion not supported for key type ${key.type.name}`)
  return key
}

const NO_CONTEXT =
  "missing 'context' for key derivation; the key was created using a derived key, which means additional, per-request information must be included in order to perform operations with the key"

/** Other keys ignore a context, as OpenBao does. */
function contextIn({ entry }: WireKey, item: Fields): Input | undefined {
  if (!entry.derived) return undefined
  const context = bytes(item, 'context') ?? new Uint8Array()
  if (context.length === 0) throw invalid(NO_CONTEXT)
  return () => context
}

function associatedDataIn(item: Fields): Input | undefined {
  const associated = bytes(item, 'associated_data')
  return associated && (() => associated)
}

/** Ignored, it would not be authenticated. */
function refuseAssociatedData({ type }: WireKey, item: Fields): void {
  if (item.associated_data !== undefined)
    throw invalid(`associated_data provided for non-AEAD cipher suite ${type.name}`)
}

/** The message is wiped and its memory freed once it is encrypted, but not if the request is refused before. */
async function encrypt(request: UseRequest, key: WireKey, message: Uint8Array, item: Fields) {
  const version = versionFor(key.entry, item, 'encryption')
  noteVersion(request, version)
  const ciphertext = versioned(encodeBase64(await sealed(request, key, message, item, version)), version)
  request.services.activity.encrypt++
  return { ciphertext, key_version: version }
}

async function sealed(request: UseRequest, key: WireKey, message: Uint8Array, item: Fields, version: number) {
  const { keyUse } = domainOf(request)
  const { id } = key.entry
  if (key.type !== AES) {
    refuseAssociatedData(key, item)
    return keyUse.encryptRsa(request, id, () => message, version)
  }
  const context = contextIn(key, item)
  const options = { associatedData: associatedDataIn(item), context, version }
  const { encrypted, iv } = await keyUse.encrypt(request, id, 'XAES_GCM', () => message, null, options)
  return concatBytes(iv, encrypted)
}

/** The caller wipes the result. */
async function decrypt(request: UseRequest, key: WireKey, item: Fields): Promise<Uint8Array> {
  const ciphertext = text(item, 'ciphertext') ?? ''
  if (ciphertext === '') throw invalid('missing ciphertext to decrypt')
  const { version, bytes } = bytesOf(key.entry, ciphertext, 'ciphertext')
  noteVersion(request, version)
  const message = await opened(request, key, bytes, item, version)
  request.services.activity.decrypt++
  return message
}

async function opened(request: UseRequest, key: WireKey, sealed: Uint8Array, item: Fields, version: number) {
  const { keyUse } = domainOf(request)
  const { id } = key.entry
  if (key.type !== AES) {
    refuseAssociatedData(key, item)
    return openedRsa(request, key, sealed, version)
  }
  if (sealed.length < SHORTEST) throw invalid('invalid ciphertext length')
  const [iv, encrypted] = [sealed.subarray(0, XAES_NONCE_BYTES), sealed.slice(XAES_NONCE_BYTES)]
  const context = contextIn(key, item)
  const options = { associatedData: associatedDataIn(item), context, version }
  return keyUse.decrypt(
    request,
    id,
    'XAES_GCM',
    () => encrypted,
    () => iv,
    options,
  )
}

/** All faults of a ciphertext of the right length get one answer. */
async function openedRsa(request: UseRequest, { entry }: WireKey, sealed: Uint8Array, version: number) {
  if (sealed.length !== entry.publicBytes) throw invalid('invalid ciphertext length')
  try {
    return await domainOf(request).keyUse.decrypt(request, entry.id, 'OAEP_SHA256', () => sealed, null, { version })
  } catch (error) {
    const isForged = error instanceof CofferError && error.code === 'invalid' && permitsOaep(entry)
    throw isForged ? invalid('cipher: message authentication failed') : error
  }
}

const permitsOaep = ({ mechanisms }: Readonly<KeyEntry>): boolean => permits(mechanisms, 'decrypt', 'OAEP_SHA256')

async function encryptItem(request: UseRequest, key: WireKey, item: Fields) {
  const plaintext = text(item, 'plaintext')
  if (plaintext === undefined) throw invalid('missing plaintext to encrypt')
  const message = decoded(plaintext)
  try {
    return await encrypt(request, key, message, item)
  } finally {
    wipeIn(message)
  }
}

async function decryptItem(request: UseRequest, key: WireKey, item: Fields) {
  const message = await decrypt(request, key, item)
  try {
    return { plaintext: encodeBase64(message) }
  } finally {
    wipe(message)
  }
}

async function rewrapItem(request: UseRequest, key: WireKey, item: Fields) {
  const message = await decrypt(request, key, item)
  try {
    return await encrypt(request, key, message, item)
  } finally {
    wipeIn(message)
  }
}

const DATA_KEY_BITS = [128, 256, 512]

async function dataKey(request: UseRequest) {
  const { kind } = request.params as { kind: string }
  if (kind !== 'plaintext' && kind !== 'wrapped') throw invalid("Invalid path, must be 'plaintext' or 'wrapped'")
  const wrapping = expectCipher(request, 'encrypt')
  const bits = integer(request.body, 'bits') ?? 256
  if (!DATA_KEY_BITS.includes(bits)) throw invalid('invalid bit length')
  const key = request.services.random(bits / 8)
  try {
    const shown = kind === 'plaintext' ? { plaintext: encodeBase64(key) } : {}
    return answer({ ...(await encrypt(request, wrapping, key, request.body)), ...shown })
  } finally {
    wipeIn(key)
  }
}

export const dataDeclarations = [
  declareUse({
    path: '/v1/transit/encrypt/:name',
    summary: 'Encrypts.',
    handle: (request) => {
      const key = expectCipher(request, 'encrypt')
      return inBatches(request.body, (item) => encryptItem(request, key, item), { failedStatus: 400 })
    },
  }),
  declareUse({
    path: '/v1/transit/decrypt/:name',
    summary: 'Decrypts.',
    handle: (request) => {
      const key = expectCipher(request, 'decrypt')
      const form = { failedStatus: 400, failed: { plaintext: '' } }
      return inBatches(request.body, (item) => decryptItem(request, key, item), form)
    },
  }),
  declareUse({
    path: '/v1/transit/rewrap/:name',
    summary: 'Decrypts and encrypts anew, without showing the plaintext.',
    handle: (request) => {
      const key = expectCipher(request, 'decrypt')
      return inBatches(request.body, (item) => rewrapItem(request, key, item))
    },
  }),
  declareUse({
    path: '/v1/transit/datakey/:kind/:name',
    summary: 'A random key, encrypted.',
    handle: dataKey,
  }),
]
