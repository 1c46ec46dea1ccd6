/** `transit/encrypt`, `decrypt`, `rewrap` and `datakey`. CONTRACT.md, "Data". */

import { concatBytes } from '@noble/hashes/utils.js'
import { encodeBase64 } from '../../base/base64.ts'
import { wipe, wipeIn } from '../../base/secret.ts'
import { XAES_NONCE_BYTES } from '../../crypto/xaes.ts'
import { declare, domainOf } from '../api/services.ts'
import { answer, invalid } from './answers.ts'
import { inBatches } from './batch.ts'
import { bytes, decoded, type Fields, integer, text } from './body.ts'
import { bytesOf, versioned } from './ciphertext.ts'
import { AES } from './key-types.ts'
import { findKey, nameIn, type OfKey } from './keys.ts'
import { expectTags, KEY_USE } from './use.ts'

const SHORTEST = XAES_NONCE_BYTES + 16

type Asked = OfKey & { address: string; body: Fields }

/** Returns the key's name. */
function expectCipher(request: Asked, action: 'encrypt' | 'decrypt'): string {
  const name = nameIn(request)
  const key = findKey(request, name)
  if (key === undefined) throw invalid('encryption key not found')
  expectTags(request, name, action)
  if (key.type !== AES) throw invalid(`message ${action}ion not supported for key type ${key.type.name}`)
  return name
}

/** All keys have one version; 0 is the newest. */
export function checkVersion(item: Fields, use: string): void {
  const version = integer(item, 'key_version') ?? 0
  if (version < 0) throw invalid(`requested version for ${use} is negative`)
  if (version > 1) throw invalid(`requested version for ${use} is higher than the latest key version`)
}

async function encrypt(request: Asked, name: string, message: Uint8Array, item: Fields): Promise<string> {
  checkVersion(item, 'encryption')
  const associated = bytes(item, 'associated_data')
  const { keyUse } = domainOf(request)
  const given = associated === undefined ? null : () => associated
  const { encrypted, iv } = await keyUse.encrypt(request, name, 'XAES_GCM', () => message, null, given)
  request.services.activity.encrypt++
  return versioned(encodeBase64(concatBytes(iv, encrypted)))
}

/** The caller wipes the result. */
async function decrypt(request: Asked, name: string, item: Fields): Promise<Uint8Array> {
  const ciphertext = text(item, 'ciphertext') ?? ''
  if (ciphertext === '') throw invalid('missing ciphertext to decrypt')
  const sealed = bytesOf(ciphertext, 'ciphertext')
  if (sealed.length < SHORTEST) throw invalid('invalid ciphertext length')
  const associated = bytes(item, 'associated_data')
  const { keyUse } = domainOf(request)
  const [iv, encrypted] = [sealed.subarray(0, XAES_NONCE_BYTES), sealed.slice(XAES_NONCE_BYTES)]
  const given = associated === undefined ? null : () => associated
  const message = await keyUse.decrypt(
    request,
    name,
    'XAES_GCM',
    () => encrypted,
    () => iv,
    given,
  )
  request.services.activity.decrypt++
  return message
}

async function encryptItem(request: Asked, name: string, item: Fields) {
  const plaintext = text(item, 'plaintext')
  if (plaintext === undefined) throw invalid('missing plaintext to encrypt')
  return { ciphertext: await encrypt(request, name, decoded(plaintext), item), key_version: 1 }
}

async function decryptItem(request: Asked, name: string, item: Fields) {
  const message = await decrypt(request, name, item)
  try {
    return { plaintext: encodeBase64(message) }
  } finally {
    wipe(message)
  }
}

async function rewrapItem(request: Asked, name: string, item: Fields) {
  const message = await decrypt(request, name, item)
  try {
    return { ciphertext: await encrypt(request, name, message, item), key_version: 1 }
  } finally {
    wipeIn(message) // done already, unless something was wrong before it was encrypted
  }
}

const DATA_KEY_BITS = [128, 256, 512]

async function dataKey(request: Asked) {
  const { kind } = request.params as { kind: string }
  if (kind !== 'plaintext' && kind !== 'wrapped') throw invalid("Invalid path, must be 'plaintext' or 'wrapped'")
  const name = expectCipher(request, 'encrypt')
  const bits = integer(request.body, 'bits') ?? 256
  if (!DATA_KEY_BITS.includes(bits)) throw invalid('invalid bit length')
  const key = request.services.random(bits / 8)
  const shown = kind === 'plaintext' ? { plaintext: encodeBase64(key) } : {}
  return answer({ ciphertext: await encrypt(request, name, key, request.body), key_version: 1, ...shown })
}

export const dataDeclarations = [
  declare({
    ...KEY_USE,
    path: '/v1/transit/encrypt/:name',
    summary: 'Encrypts.',
    handle: (request) => {
      const name = expectCipher(request, 'encrypt')
      return inBatches(request.body, (item) => encryptItem(request, name, item), { failedStatus: 400 })
    },
  }),
  declare({
    ...KEY_USE,
    path: '/v1/transit/decrypt/:name',
    summary: 'Decrypts.',
    handle: (request) => {
      const name = expectCipher(request, 'decrypt')
      const form = { failedStatus: 400, failed: { plaintext: '' } }
      return inBatches(request.body, (item) => decryptItem(request, name, item), form)
    },
  }),
  declare({
    ...KEY_USE,
    path: '/v1/transit/rewrap/:name',
    summary: 'Decrypts and encrypts anew, without showing the plaintext.',
    handle: (request) => {
      const name = expectCipher(request, 'decrypt')
      return inBatches(request.body, (item) => rewrapItem(request, name, item))
    },
  }),
  declare({
    ...KEY_USE,
    path: '/v1/transit/datakey/:kind/:name',
    summary: 'A random key, encrypted.',
    handle: dataKey,
  }),
]
