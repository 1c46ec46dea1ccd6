/** Use of keys: sign, decrypt, encrypt, public key and certificate request. Contract sections 3.2, 4.6 and 6. */

import * as z from 'zod'
import { decodeBase64, encodeBase64 } from '../../base/base64.ts'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { DECRYPT_MODES, ENCRYPT_MODES, SIGN_MODE_NAMES, signMode } from '../../crypto/algorithms.ts'
import type { Input } from '../domain/key-use.ts'
import { longJson } from '../pipeline/endpoint.ts'
import { keyExists, keyParams } from './keys.ts'
import { base64Text, text } from './schema.ts'
import { declare, domainOf, OPERATIONAL, OPERATORS, PEM_TYPE, READERS } from './services.ts'

const USE_BODY_BYTES_MAX = 67 * 1024 * 1024 // contract 1.5

const SUBJECT_BYTES_MAX = 1024 // X.520 allows 64 to 255 characters; some programs send more

// Examples of the API documents: SHA-256 of an empty text, and sixteen zeros.
const DIGEST = '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
const BLOCK = 'AAAAAAAAAAAAAAAAAAAAAA=='

const iv = base64Text
  .nullish()
  .meta({ description: '16 bytes for AES_CBC, 24 for XAES_GCM, which takes none to encrypt.' })
const signRequest = z
  .strictObject({
    mode: z.enum(SIGN_MODE_NAMES),
    message: base64Text,
    context: base64Text.nullish().meta({ description: 'Up to 255 bytes, for the mode ML_DSA. FIPS 204.' }),
  })
  .meta({ id: 'SignRequest', examples: [{ mode: 'ECDSA', message: DIGEST }] })
const decryptRequest = z
  .strictObject({ mode: z.enum(DECRYPT_MODES), encrypted: base64Text, iv })
  .meta({ id: 'DecryptRequest', examples: [{ mode: 'AES_CBC', encrypted: BLOCK, iv: BLOCK }] })
const encryptRequest = z
  .strictObject({ mode: z.enum(ENCRYPT_MODES), message: base64Text, iv })
  .meta({ id: 'EncryptRequest', examples: [{ mode: 'AES_CBC', message: BLOCK }] })

const part = text(0, SUBJECT_BYTES_MAX).optional()
export const subject = z
  .strictObject({
    commonName: text(1, SUBJECT_BYTES_MAX),
    countryName: part,
    stateOrProvinceName: part,
    localityName: part,
    organizationName: part,
    organizationalUnitName: part,
    emailAddress: part,
    subjectAltNames: z.array(text(0, SUBJECT_BYTES_MAX)).nullish(),
  })
  .meta({ id: 'Subject', examples: [{ commonName: 'web.example.org', organizationName: 'Example' }] })

/** Malformed base64 is refused after the tag restriction is checked: contract 1.7 note (e). */
const input =
  (bytes: Uint8Array | null, field: string): Input =>
  () => {
    if (bytes === null) throw new CofferError('invalid', `${field}: not base64`)
    return bytes
  }

const shortInput = (value: string | null | undefined, field: string): Input | null =>
  value == null ? null : () => decodeBase64(value, field)

export const pem = (text: string) => ({ status: 200, bytes: new TextEncoder().encode(text), type: PEM_TYPE }) as const

const errors = {
  400: 'Not an ID, not base64, a mode that no mechanism of the key permits, or an input of a wrong length.',
  403: "None of the key's tags is a tag of the caller.",
  404: 'No such key.',
}

export const keyUseDeclarations = [
  declare({
    method: 'POST',
    path: '/keys/:id/sign',
    summary: 'Signs a message or digest.',
    states: OPERATIONAL,
    access: OPERATORS,
    params: keyParams,
    exists: keyExists,
    mayUse: (request) => domainOf(request).keyUse.authorize(request, request.params.id, 'sign'),
    noCache: true,
    audit: 'use',
    body: longJson(signRequest, 'message', USE_BODY_BYTES_MAX),
    answers: { status: 200, json: z.object({ signature: base64Text }).meta({ id: 'SignAnswer' }) },
    errors,
    handle: async (request) => {
      const { mode, message, context } = request.body
      const { keyUse } = domainOf(request)
      const { id } = request.params
      const label = shortInput(context, 'context')
      const signature = await keyUse.sign(request, id, signMode(mode), input(message, 'message'), label)
      request.services.activity.sign++
      return { status: 200, json: { signature: encodeBase64(signature) } }
    },
  }),
  declare({
    method: 'POST',
    path: '/keys/:id/decrypt',
    summary: 'Decrypts a message.',
    states: OPERATIONAL,
    access: OPERATORS,
    params: keyParams,
    exists: keyExists,
    mayUse: (request) => domainOf(request).keyUse.authorize(request, request.params.id, 'decrypt'),
    noCache: true,
    audit: 'use',
    body: longJson(decryptRequest, 'encrypted', USE_BODY_BYTES_MAX),
    answers: { status: 200, json: z.object({ decrypted: base64Text }).meta({ id: 'DecryptAnswer' }) },
    errors,
    handle: async (request) => {
      const { mode, encrypted, iv } = request.body
      const { keyUse } = domainOf(request)
      const { id } = request.params
      const decrypted = await keyUse.decrypt(request, id, mode, input(encrypted, 'encrypted'), shortInput(iv, 'iv'))
      request.services.activity.decrypt++
      try {
        return { status: 200, json: { decrypted: encodeBase64(decrypted) } }
      } finally {
        wipe(decrypted)
      }
    },
  }),
  declare({
    method: 'POST',
    path: '/keys/:id/encrypt',
    summary: 'Encrypts a message with a Generic key.',
    states: OPERATIONAL,
    access: OPERATORS,
    params: keyParams,
    exists: keyExists,
    mayUse: (request) => domainOf(request).keyUse.authorize(request, request.params.id, 'encrypt'),
    noCache: true,
    audit: 'use',
    body: longJson(encryptRequest, 'message', USE_BODY_BYTES_MAX),
    answers: { status: 200, json: z.object({ encrypted: base64Text, iv: base64Text }).meta({ id: 'EncryptAnswer' }) },
    errors,
    handle: async (request) => {
      const { mode, message, iv } = request.body
      const { keyUse } = domainOf(request)
      const { id } = request.params
      const answer = await keyUse.encrypt(request, id, mode, input(message, 'message'), shortInput(iv, 'iv'))
      request.services.activity.encrypt++
      return { status: 200, json: { encrypted: encodeBase64(answer.encrypted), iv: encodeBase64(answer.iv) } }
    },
  }),
  declare({
    method: 'GET',
    path: '/keys/:id/public.pem',
    summary: 'The public key.',
    states: OPERATIONAL,
    access: READERS,
    params: keyParams,
    exists: keyExists,
    version: (request) => domainOf(request).keys.contentVersion(request.caller.namespace, request.params.id),
    answers: { status: 200, types: [PEM_TYPE] },
    errors: { 400: 'Not an ID, or a Generic key.', 404: 'No such key.' },
    handle: (request) => pem(domainOf(request).keyUse.publicPem(request.caller.namespace, request.params.id)),
  }),
  declare({
    method: 'POST',
    path: '/keys/:id/csr.pem',
    summary: 'A certificate request signed with the key.',
    states: OPERATIONAL,
    access: READERS,
    params: keyParams,
    exists: keyExists,
    noCache: true,
    audit: 'use',
    body: { kind: 'json', schema: subject },
    answers: { status: 200, types: [PEM_TYPE] },
    errors: { 400: 'Not an ID, a subject that cannot be written down, or a Generic key.', 404: 'No such key.' },
    handle: async (request) => pem(await domainOf(request).keyUse.csrPem(request, request.params.id, request.body)),
  }),
]
