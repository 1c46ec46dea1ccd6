/** `/keys`: listing, creation, deletion. Contract sections 3.2, 4.6 and 5. */

import * as z from 'zod'
import type { PublicKey } from '../crypto/types.ts'
import type { KeyEntry } from '../domain/key-index.ts'
import type { KeyFilter } from '../domain/keys.ts'
import { encodeBase64 } from '../http/base64.ts'
import { id, label } from '../http/schema.ts'
import type { Caller } from '../vocabulary.ts'
import { createId, type KeyImport, key, keyGenerate, keyImport, keyImportParts, keyList } from './key-schemas.ts'
import { ADMINISTRATORS, declare, domainOf, EMPTY, OPERATIONAL, READERS, type Services } from './services.ts'

export const keyParams = z.object({ id })

export type KeyTarget = { services: Services; caller: Caller; params: { id: string } }

/** Step 12 of the endpoints below a key. */
export const keyExists = (request: KeyTarget): void => {
  domainOf(request).keys.get(request.caller.namespace, request.params.id)
}

const keyVersion = (request: KeyTarget): string | null =>
  domainOf(request).keys.version(request.caller.namespace, request.params.id)

const query = z.object({
  filter: z.string().optional().meta({ description: 'With any value: only keys the calling Operator may use.' }),
  label: label.optional().meta({ description: 'Only keys with this label; empty: without label.' }),
})

interface Listing {
  services: Services
  caller: Caller
  query: z.infer<typeof query>
}

function list(request: Listing, prefix?: string): { id: string; key: string }[] {
  const { keys, users } = domainOf(request)
  const { caller } = request
  const { filter, label } = request.query
  const restricted = filter !== undefined && caller.role === 'Operator'
  const selection: KeyFilter = {
    ...(prefix !== undefined && { prefix }),
    ...(label !== undefined && { label }),
    ...(restricted && { usableWith: users.tagsOfCaller(caller) }),
  }
  return keys.list(caller.namespace, selection).map((id) => ({ id, key: id }))
}

/** A key as clients of both vocabularies read it. */
function show(entry: Readonly<KeyEntry>, publicKey: PublicKey): z.infer<typeof key> {
  const { mechanisms, typeName, tags, operations, label } = entry
  return {
    mechanisms: [...mechanisms],
    type: typeName,
    algorithm: typeName,
    restrictions: tags.length === 0 ? {} : { tags: [...tags] },
    ...showPublic(publicKey),
    operations,
    ...(label !== '' && { label }),
  }
}

function showPublic(publicKey: PublicKey): Partial<z.infer<typeof key>> {
  if (publicKey === null) return {}
  if ('data' in publicKey) return { public: { data: encodeBase64(publicKey.data) } }
  const modulus = encodeBase64(publicKey.modulus)
  const publicExponent = encodeBase64(publicKey.publicExponent)
  return { public: { modulus, publicExponent }, modulus, publicExponent }
}

type Creation = { services: Services; caller: Caller; body: KeyImport }

function importKey(request: Creation, id: string | undefined): Promise<string> {
  const { keys } = domainOf(request)
  const { caller, body } = request
  if ('pem' in body) return keys.importPem(caller, id, body.key, body.pem)
  return keys.importFields(caller, id, body.key, body.typeName, body.material)
}

const importBody = { kind: 'jsonOrMultipart', schema: keyImport, parts: keyImportParts } as const

const created = (id: string) => ({ status: 201, location: `/keys/${id}`, json: { id } }) as const

const BAD_KEY = 'The key is not described well, or its mechanisms do not fit its type.'

export const keyDeclarations = [
  declare({
    method: 'GET',
    path: '/keys',
    summary: "The keys of the caller's namespace.",
    states: OPERATIONAL,
    access: READERS,
    query,
    version: (request) =>
      request.query.filter === undefined ? domainOf(request).keys.listVersion(request.caller.namespace) : undefined,
    answers: { status: 200, json: keyList },
    errors: { 400: 'Not a label.' },
    handle: (request) => ({ status: 200, json: list(request) }),
  }),
  declare({
    method: 'GET',
    path: '/keys/:prefix*',
    summary: 'The keys whose ids start with a prefix.',
    states: OPERATIONAL,
    access: READERS,
    params: z.object({ prefix: id }),
    query,
    answers: { status: 200, json: keyList },
    errors: { 400: 'Not an ID, or not a label.' },
    handle: (request) => ({ status: 200, json: list(request, request.params.prefix) }),
  }),
  declare({
    method: 'POST',
    path: '/keys',
    summary: 'Imports a key under a generated id.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    creates: true,
    body: importBody,
    answers: { status: 201, json: createId },
    errors: { 400: BAD_KEY },
    handle: async (request) => created(await importKey(request, undefined)),
  }),
  declare({
    method: 'POST',
    path: '/keys/generate',
    summary: 'Generates a key.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    creates: true,
    noCache: true,
    body: { kind: 'json', schema: keyGenerate },
    facts: ({ body }) => ({ key: body.id, type: body.typeName }),
    answers: { status: 201, json: createId },
    errors: { 400: BAD_KEY, 409: 'The key exists.' },
    handle: async (request) => {
      const { id, key, typeName, length } = request.body
      const made = await domainOf(request).keys.generate(request.caller, id, key, typeName, length)
      request.services.activity.generate++
      return created(made)
    },
  }),
  declare({
    method: 'GET',
    path: '/keys/:id',
    summary: 'What a key is, with its public part.',
    states: OPERATIONAL,
    access: READERS,
    params: keyParams,
    exists: keyExists,
    version: keyVersion,
    answers: { status: 200, json: key },
    errors: { 400: 'Not an ID.', 404: 'No such key.' },
    handle: (request) => {
      const { keys } = domainOf(request)
      const { namespace } = request.caller
      return {
        status: 200,
        json: show(keys.get(namespace, request.params.id), keys.publicKey(namespace, request.params.id)),
      }
    },
  }),
  declare({
    method: 'PUT',
    path: '/keys/:id',
    summary: 'Imports a key.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    version: keyVersion,
    creates: true,
    body: importBody,
    answers: EMPTY,
    errors: { 400: BAD_KEY, 409: 'The key exists.' },
    handle: async (request) => {
      await importKey(request, request.params.id)
      return { status: 204 }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/keys/:id',
    summary: 'Deletes a key and its certificate.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    exists: keyExists,
    version: keyVersion,
    answers: EMPTY,
    errors: { 400: 'Not an ID.', 404: 'No such key.' },
    handle: (request) => {
      domainOf(request).keys.remove(request.caller, request.params.id)
      return { status: 204 }
    },
  }),
]
