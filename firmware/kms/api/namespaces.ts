/** `/namespaces`. Contract sections 3.3 and 7.3. */

import * as z from 'zod'
import { defined } from '../../base/defined.ts'
import { QUOTA_MAX } from '../domain/namespace-quotas.ts'
import { id, namespaceId } from './schema.ts'
import { declare, domainOf, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const params = z.object({ namespace: namespaceId })
const list = z.array(z.object({ id })).meta({ id: 'NamespaceList' })

const limit = z.int().min(0).max(QUOTA_MAX)
const quota = z.object({ keys: limit, users: limit }).meta({ id: 'NamespaceQuota' })
const quotaChange = z
  .strictObject({ keys: limit.optional(), users: limit.optional() })
  .refine((input) => Object.keys(input).length > 0, 'nothing is given')
  .meta({ id: 'NamespaceQuotaChange', examples: [{ keys: 50_000 }] })

const namespaceExists = (request: { services: Services; params: Record<string, string> }): void =>
  domainOf(request).namespaces.assertExists(defined(request.params.namespace))

export const namespaceDeclarations = [
  declare({
    method: 'GET',
    path: '/namespaces',
    summary: 'All namespaces.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    answers: { status: 200, json: list },
    handle: (request) => ({
      status: 200,
      json: domainOf(request)
        .namespaces.list()
        .map((id) => ({ id })),
    }),
  }),
  declare({
    method: 'PUT',
    path: '/namespaces/:namespace',
    summary: 'Creates a namespace; users whose ids begin with its name become its users.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    answers: EMPTY,
    errors: { 400: 'Not a valid ID, or the namespace exists.' },
    handle: async (request) => {
      await domainOf(request).namespaces.create(request.caller, request.params.namespace)
      return { status: 204 }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/namespaces/:namespace',
    summary: 'Deletes a namespace with all its keys; its users stay and are refused until it is created again.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    exists: namespaceExists,
    answers: EMPTY,
    errors: { 400: 'Not a valid ID.', 404: 'No such namespace.' },
    handle: async (request) => {
      const { namespaces, keys } = domainOf(request)
      await namespaces.remove(request.caller, request.params.namespace, keys)
      return { status: 204 }
    },
  }),
  declare({
    method: 'GET',
    path: '/namespaces/:namespace/quota',
    summary: 'How many keys and users a namespace may have.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    exists: namespaceExists,
    noCache: true,
    answers: { status: 200, json: quota },
    errors: { 400: 'Not a valid ID.', 404: 'No such namespace.' },
    handle: (request) => ({ status: 200, json: domainOf(request).quotas.get(request.params.namespace) }),
  }),
  declare({
    method: 'PUT',
    path: '/namespaces/:namespace/quota',
    summary: 'Sets what is given of it. Keys and users beyond it stay; no more are made.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    params,
    creates: true,
    body: { kind: 'json', schema: quotaChange },
    facts: ({ body: { keys, users } }) => ({ keys: keys?.toString(), users: users?.toString() }),
    answers: EMPTY,
    errors: { 400: 'Not a valid ID, or not such numbers.', 404: 'No such namespace.' },
    handle: async (request) => {
      const { caller, params, body } = request
      await domainOf(request).quotas.set(caller, params.namespace, body)
      return { status: 204 }
    },
  }),
]
