/** `/keys`: lists, creates and deletes keys. Contract sections 3.2, 4.6 and 5. */

import * as z from 'zod'
import type { Vocabulary } from '../../configuration/vocabulary.ts'
import type { KeyFilter } from '../domain/key-directory.ts'
import type { Caller } from '../domain/roles.ts'
import {
  createId,
  type KeyImport,
  key,
  keyGenerate,
  keyImport,
  keyImportParts,
  keyList,
  keyPage,
} from './key-schemas.ts'
import { membersOf, nameKey, show } from './key-view.ts'
import { isPageQuery, NO_PAGE, PAGE_DEFAULT, pageQuery } from './pages.ts'
import { id, label } from './schema.ts'
import { ADMINISTRATORS, declare, domainOf, EMPTY, OPERATIONAL, READERS, type Services } from './services.ts'

export const keyParams = z.object({ id })

export type KeyTarget = { services: Services; caller: Caller; params: { id: string } }

/** `exists` of endpoints that use version 1 of a key. */
export const keyExists = (request: KeyTarget): void => {
  domainOf(request).keys.get(request.caller.namespace, request.params.id)
}

/** As `keyExists`, for endpoints that can name a version. */
export const anyVersionExists = (request: KeyTarget): void => {
  domainOf(request).keys.getAnyVersion(request.caller.namespace, request.params.id)
}

const keyVersion = (request: KeyTarget): string | null => {
  const version = domainOf(request).keys.version(request.caller.namespace, request.params.id)
  return version && `${version} ${membersOf(request)}`
}

/** Also of a key whose version 1 was deleted. */
const anyKeyVersion = (request: KeyTarget): string | null =>
  keyVersion(request) ?? domainOf(request).keys.recordVersion(request.caller.namespace, request.params.id)

/** Lists with details have no version, because counting an operation does not change it. */
function listVersion(request: Listing): string | undefined {
  const { filter, details, types = 'known' } = request.query
  if (filter !== undefined || details === 'true') return undefined
  return `${domainOf(request).keys.listVersion(request.caller.namespace)} ${membersOf(request)} ${types}`
}

const query = z
  .object({
    filter: z.string().optional().meta({ description: 'With any value: only keys the calling Operator may use.' }),
    label: label.optional().meta({ description: 'Only keys with this label; empty: without label.' }),
    types: z
      .enum(['all'])
      .optional()
      .meta({ description: 'With `all`: also keys of types that the clients published for NetHSM do not know.' }),
    ...pageQuery(id, 'keys', 'all their details'),
  })
  .refine(isPageQuery, NO_PAGE)

interface Listing {
  services: Services
  caller: Caller
  query: z.infer<typeof query>
}

function list(request: Listing, prefix?: string): z.infer<typeof keyList | typeof keyPage> {
  const { keys, users } = domainOf(request)
  const { caller } = request
  const { filter, label, types, details, after = '', limit = PAGE_DEFAULT } = request.query
  const restricted = filter !== undefined && caller.role === 'Operator'
  const selection: KeyFilter = {
    prefix,
    label,
    usableWith: restricted ? users.tagsOfCaller(caller) : undefined,
    ofAllTypes: types === 'all',
  }
  const members = membersOf(request)
  if (details !== 'true') return keys.list(caller.namespace, selection).map((id) => nameKey(id, members))
  const { keys: entries, next } = keys.page(caller.namespace, selection, after, Number(limit))
  return {
    keys: entries.map((entry) => ({
      ...nameKey(entry.id, members),
      ...show(entry, keys.publicKey(caller.namespace, entry.id), members),
    })),
    ...(next !== undefined && { next }),
  }
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

/** The original API answers without a body. */
const generated = (id: string, members: Vocabulary) =>
  members === 'original' ? ({ status: 201, location: `/keys/${id}` } as const) : created(id)

const BAD_KEY = 'The description of the key is not valid, or its mechanisms do not fit its type.'

export const keyDeclarations = [
  declare({
    method: 'GET',
    path: '/keys',
    summary: "The keys of the caller's namespace: the ids of all of them, or page by page with details.",
    states: OPERATIONAL,
    access: READERS,
    query,
    version: listVersion,
    answers: { status: 200, json: z.union([keyList, keyPage]) },
    errors: { 400: 'Not a label, an ID or a number.' },
    handle: (request) => ({ status: 200, json: list(request) }),
  }),
  declare({
    method: 'GET',
    path: '/keys/:prefix*',
    summary: 'The keys whose ids start with a prefix.',
    states: OPERATIONAL,
    access: READERS,
    params: z.object({ prefix: id.meta({ examples: ['my'] }) }),
    query,
    answers: { status: 200, json: z.union([keyList, keyPage]) },
    errors: { 400: 'Not an ID, a label or a number.' },
    handle: (request) => ({ status: 200, json: list(request, request.params.prefix) }),
  }),
  declare({
    method: 'POST',
    path: '/keys',
    summary: 'Imports a key under a generated id.',
    addsRecords: true,
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
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    creates: true,
    noCache: true,
    body: { kind: 'json', schema: keyGenerate },
    facts: ({ body }) => ({ key: body.id, type: body.typeName }),
    answers: { status: 201, json: createId },
    errors: { 400: BAD_KEY, 409: 'The key already exists.' },
    handle: async (request) => {
      const { id, key, typeName, length } = request.body
      const made = await domainOf(request).keys.generate(request.caller, id, key, typeName, length)
      request.services.activity.generate++
      return generated(made, membersOf(request))
    },
  }),
  declare({
    method: 'GET',
    path: '/keys/:id',
    summary: 'A key, with its public part.',
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
        json: show(
          keys.get(namespace, request.params.id),
          keys.publicKey(namespace, request.params.id),
          membersOf(request),
        ),
      }
    },
  }),
  declare({
    method: 'PUT',
    path: '/keys/:id',
    summary: 'Imports a key.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    version: keyVersion,
    creates: true,
    body: importBody,
    answers: EMPTY,
    errors: { 400: BAD_KEY, 409: 'The key already exists.' },
    handle: async (request) => {
      await importKey(request, request.params.id)
      return { status: 204 }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/keys/:id',
    summary: 'Deletes a key, with all its versions and its certificate.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    exists: anyVersionExists,
    version: anyKeyVersion,
    answers: EMPTY,
    errors: { 400: 'Not an ID.', 404: 'No such key.' },
    handle: async (request) => {
      await domainOf(request).keys.remove(request.caller, request.params.id)
      return { status: 204 }
    },
  }),
]
