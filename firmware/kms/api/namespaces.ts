/** `/namespaces`. Contract sections 3.3 and 7.3. */

import * as z from 'zod'
import { id, namespaceId } from './schema.ts'
import { declare, domainOf, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS } from './services.ts'

const params = z.object({ namespace: namespaceId })
const list = z.array(z.object({ id })).meta({ id: 'NamespaceList' })

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
    exists: (request) => domainOf(request).namespaces.assertExists(request.params.namespace),
    answers: EMPTY,
    errors: { 400: 'Not a valid ID.', 404: 'No such namespace.' },
    handle: async (request) => {
      const { namespaces, keys } = domainOf(request)
      await namespaces.remove(request.caller, request.params.namespace, keys)
      return { status: 204 }
    },
  }),
]
