/** Changes of a key's id, label, tags and certificate. Contract sections 3.2, 5 (row 12), 6.6 and 7.4. */

import * as z from 'zod'
import { CofferError } from '../../base/error.ts'
import { CERTIFICATE_TYPES, type CertificateType } from '../domain/key-record.ts'
import { createId } from './key-schemas.ts'
import { type KeyTarget, keyExists, keyParams } from './keys.ts'
import { id, label, tag } from './schema.ts'
import { ADMINISTRATORS, declare, domainOf, EMPTY, OPERATIONAL, READERS } from './services.ts'

const tagParams = z.object({ id, tag })

const certificateExists = (request: KeyTarget): void => {
  domainOf(request).keys.certificateType(request.caller.namespace, request.params.id)
}

const certificateVersion = (request: KeyTarget): string | null =>
  domainOf(request).keys.certificateVersion(request.caller.namespace, request.params.id)

const NO_KEY = 'No such key.'

export const keyAttributeDeclarations = [
  declare({
    method: 'POST',
    path: '/keys/:id/move',
    summary: 'Gives a key another id.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    exists: keyExists,
    noCache: true,
    body: { kind: 'json', schema: z.strictObject({ newId: id }).meta({ id: 'Move', examples: [{ newId: 'myKey2' }] }) },
    facts: ({ body }) => ({ newId: body.newId }),
    answers: { status: 200, json: createId },
    errors: { 400: 'Not an ID.', 404: NO_KEY, 409: 'The new id is taken.' },
    handle: async (request) => {
      const { newId } = request.body
      await domainOf(request).keys.move(request.caller, request.params.id, newId)
      return { status: 200, json: { id: newId } }
    },
  }),
  declare({
    method: 'PUT',
    path: '/keys/:id/label',
    summary: 'Sets the label of a key.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    creates: true,
    noCache: true,
    body: {
      kind: 'json',
      schema: z.strictObject({ label }).meta({ id: 'Label', examples: [{ label: 'web server' }] }),
    },
    answers: EMPTY,
    errors: { 304: 'The key has this label.', 400: 'Not an ID, or the label is longer than 32 bytes.', 404: NO_KEY },
    handle: async (request) => {
      const changed = await domainOf(request).keys.setLabel(request.caller, request.params.id, request.body.label)
      return { status: changed ? 204 : 304 }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/keys/:id/label',
    summary: 'Removes the label of a key.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    exists: keyExists,
    noCache: true,
    answers: EMPTY,
    errors: { 400: 'Not an ID.', 404: NO_KEY },
    handle: async (request) => {
      await domainOf(request).keys.setLabel(request.caller, request.params.id, '')
      return { status: 204 }
    },
  }),
  declare({
    method: 'PUT',
    path: '/keys/:id/restrictions/tags/:tag',
    summary: 'Restricts a key to Operators with this tag, or another of its tags.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: tagParams,
    noCache: true,
    answers: EMPTY,
    errors: { 304: 'The key has this tag.', 400: 'Not an ID or tag, or the key has 32 tags.', 404: NO_KEY },
    handle: async (request) => {
      const { id, tag } = request.params
      return { status: (await domainOf(request).keys.addTag(request.caller, id, tag)) ? 204 : 304 }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/keys/:id/restrictions/tags/:tag',
    summary: 'Removes a tag from a key.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: tagParams,
    exists: keyExists,
    noCache: true,
    answers: EMPTY,
    errors: { 400: 'Not an ID or tag.', 404: 'No such key, or the tag is not there.' },
    handle: async (request) => {
      await domainOf(request).keys.removeTag(request.caller, request.params.id, request.params.tag)
      return { status: 204 }
    },
  }),
  declare({
    method: 'GET',
    path: '/keys/:id/cert',
    summary: 'The certificate of a key, as it was stored.',
    states: OPERATIONAL,
    access: READERS,
    params: keyParams,
    exists: certificateExists,
    version: certificateVersion,
    answers: { status: 200, types: CERTIFICATE_TYPES },
    errors: { 400: 'Not an ID.', 404: 'No such key, or it has no certificate.' },
    handle: (request) => ({
      status: 200,
      ...domainOf(request).keys.certificate(request.caller.namespace, request.params.id),
    }),
  }),
  declare({
    method: 'PUT',
    path: '/keys/:id/cert',
    summary: 'Stores a certificate with a key; it is neither parsed nor checked.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    version: certificateVersion,
    creates: true,
    body: {
      kind: 'raw',
      types: CERTIFICATE_TYPES,
      parse: (bytes, type) => {
        if (bytes.length === 0) throw new CofferError('invalid', 'The certificate is empty')
        return { bytes, type: type as CertificateType }
      },
    },
    answers: { status: 201, empty: true },
    errors: { 400: 'Not an ID.', 404: NO_KEY, 409: 'The key has a certificate.' },
    handle: async (request) => {
      const { bytes, type } = request.body
      await domainOf(request).keys.setCertificate(request.caller, request.params.id, type, bytes)
      return { status: 201 }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/keys/:id/cert',
    summary: 'Removes the certificate of a key.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: keyParams,
    exists: certificateExists,
    version: certificateVersion,
    answers: EMPTY,
    errors: { 400: 'Not an ID.', 404: 'No such key, or it has no certificate.' },
    handle: async (request) => {
      await domainOf(request).keys.removeCertificate(request.caller, request.params.id)
      return { status: 204 }
    },
  }),
]
