/** `/users/{id}/tags`: tags that let an Operator use restricted keys. Contract sections 3.3 and 7.4. */

import * as z from 'zod'
import { defined } from '../../base/defined.ts'
import { id, tag, userId } from './schema.ts'
import { ADMINISTRATORS, declare, domainOf, EMPTY, OPERATIONAL, READERS } from './services.ts'

const params = z.object({ user: userId, tag })

export const userTagDeclarations = [
  declare({
    method: 'GET',
    path: '/users/:user/tags',
    summary: 'The tags of an Operator; Operators see their own.',
    states: OPERATIONAL,
    access: READERS,
    authorize: (request) => domainOf(request).users.authorizeRead(request.caller, defined(request.params.user)),
    params: z.object({ user: userId }),
    exists: (request) => {
      domainOf(request).users.tags(request.params.user)
    },
    noCache: true,
    answers: { status: 200, json: z.array(id).meta({ id: 'TagList' }) },
    errors: { 400: 'Not a user ID.', 404: 'No such user, or no Operator.' },
    handle: (request) => ({ status: 200, json: domainOf(request).users.tags(request.params.user) }),
  }),
  declare({
    method: 'PUT',
    path: '/users/:user/tags/:tag',
    summary: 'Adds a tag to an Operator.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    authorize: (request) => domainOf(request).users.authorizeChange(request.caller, defined(request.params.user)),
    params,
    noCache: true,
    answers: EMPTY,
    errors: {
      304: 'The user has this tag.',
      400: 'Not a user ID or tag, no Operator, or the user has 256 tags.',
      404: 'No such user.',
    },
    handle: async (request) => {
      const { user, tag } = request.params
      return { status: (await domainOf(request).users.addTag(request.caller, user, tag)) ? 204 : 304 }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/users/:user/tags/:tag',
    summary: 'Removes a tag from an Operator.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    authorize: (request) => domainOf(request).users.authorizeChange(request.caller, defined(request.params.user)),
    params,
    exists: (request) => {
      domainOf(request).users.get(request.params.user)
    },
    noCache: true,
    answers: EMPTY,
    errors: { 400: 'Not a user ID or tag.', 404: 'No such user, or the tag is not there.' },
    handle: async (request) => {
      await domainOf(request).users.removeTag(request.caller, request.params.user, request.params.tag)
      return { status: 204 }
    },
  }),
]
