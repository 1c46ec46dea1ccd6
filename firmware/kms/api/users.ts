/** `/users`. Contract sections 3.3, 4.3 and 7.3 to 7.5. */

import * as z from 'zod'
import { defined } from '../../base/defined.ts'
import { wipe } from '../../base/secret.ts'
import type { Caller } from '../domain/roles.ts'
import type { User } from '../domain/user-record.ts'
import type { NewUser } from '../domain/users.ts'
import { passphraseBody } from './lifecycle.ts'
import { isPageQuery, NO_PAGE, PAGE_DEFAULT, pageQuery } from './pages.ts'
import { namespaceId, role, tag, text, userId } from './schema.ts'
import { ADMINISTRATORS, declare, domainOf, EMPTY, OPERATIONAL, READERS, type Services } from './services.ts'

const REAL_NAME_BYTES_MAX = 4096 // longer than any name; the list of users stays in memory

const realName = text(0, REAL_NAME_BYTES_MAX)
const user = passphraseBody.extend({ realName, role }).meta({
  id: 'User',
  examples: [{ realName: 'Web service', role: 'Operator', passphrase: 'operator of the web' }],
})
const userInfo = z.object({ realName, role }).meta({ id: 'UserInfo' })
const userList = z.array(z.object({ user: userId })).meta({ id: 'UserList' })
const userPage = z
  .object({
    users: z.array(z.object({ user: userId, realName, role, tags: z.array(tag).optional() })),
    next: userId.optional().meta({ description: 'Goes into `after` of the next page; present while there is one.' }),
  })
  .meta({
    id: 'UserPage',
    examples: [{ users: [{ user: 'web', realName: 'Web service', role: 'Operator', tags: ['berlin'] }], next: 'web' }],
  })
const createId = z.object({ id: userId }).meta({ id: 'CreateUserId' })

const query = z
  .object({
    ...pageQuery(userId, 'users', 'name, role and tags'),
  })
  .refine(isPageQuery, NO_PAGE)

interface Listing {
  services: Services
  caller: Caller
  query: z.infer<typeof query>
}

function list(request: Listing): z.infer<typeof userList | typeof userPage> {
  const { users } = domainOf(request)
  const { namespace } = request.caller
  const { details, after = '', limit = PAGE_DEFAULT } = request.query
  if (details !== 'true') return users.list(namespace).map((user) => ({ user }))
  const { users: found, ...more } = users.page(namespace, after, Number(limit))
  const show = ({ id, realName, role, tags }: User) => ({
    user: id,
    realName,
    role,
    ...(role === 'Operator' && { tags: [...tags] }),
  })
  return { users: found.map(show), ...more }
}

const params = z.object({ user: userId })
const BAD_USER = 'Not a user ID, or the user is not described well.'

type Target = { services: Services; params: { user: string } }

const exists = (request: Target): void => {
  domainOf(request).users.get(request.params.user)
}

const version = (request: Target): string | null => domainOf(request).users.version(request.params.user)

async function withUser<T>(body: NewUser, create: (user: NewUser) => Promise<T>): Promise<T> {
  try {
    return await create(body)
  } finally {
    wipe(body.passphrase)
  }
}

export const userDeclarations = [
  declare({
    method: 'GET',
    path: '/users',
    summary: 'All users, or of a namespace those in it: the ids of all of them, or page by page with details.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    query,
    version: (request) =>
      request.query.details === 'true' ? undefined : domainOf(request).users.listVersion(request.caller.namespace),
    answers: { status: 200, json: z.union([userList, userPage]) },
    errors: { 400: 'Not an ID or a number.' },
    handle: (request) => ({ status: 200, json: list(request) }),
  }),
  declare({
    method: 'POST',
    path: '/users',
    summary: "Creates a user with a generated id in the caller's namespace.",
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    creates: true,
    body: { kind: 'json', schema: user },
    facts: ({ body }) => ({ role: body.role }),
    answers: { status: 201, json: createId },
    errors: { 400: 'The user is not described well.' },
    handle: async (request) => {
      const { users } = domainOf(request)
      const { caller, body } = request
      const id = await withUser(body, (user) => users.createWithGeneratedId(caller, caller.namespace, user))
      return { status: 201, location: `/users/${id}`, json: { id } }
    },
  }),
  declare({
    method: 'POST',
    path: '/users/:namespace~',
    summary: 'Creates a user with a generated id in a namespace.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params: z.object({ namespace: namespaceId }),
    creates: true,
    body: { kind: 'json', schema: user },
    facts: ({ body }) => ({ role: body.role }),
    answers: { status: 201, json: createId },
    errors: { 400: BAD_USER, 403: 'The namespace is not for the caller to manage.' },
    handle: async (request) => {
      const { users } = domainOf(request)
      const { caller, params, body } = request
      const id = await withUser(body, (user) => users.createWithGeneratedId(caller, params.namespace, user))
      return { status: 201, location: `/users/${id}`, json: { id } }
    },
  }),
  declare({
    method: 'GET',
    path: '/users/:user',
    summary: 'Name and role of a user; Operators see only their own.',
    states: OPERATIONAL,
    access: READERS,
    authorize: (request) => domainOf(request).users.authorizeRead(request.caller, defined(request.params.user)),
    params,
    exists,
    version,
    answers: { status: 200, json: userInfo },
    errors: { 400: 'Not a user ID.', 404: 'No such user.' },
    handle: (request) => {
      const { realName, role } = domainOf(request).users.get(request.params.user)
      return { status: 200, json: { realName, role } }
    },
  }),
  declare({
    method: 'PUT',
    path: '/users/:user',
    summary: 'Creates a user.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    params,
    version: (request) => {
      // Conditions would reveal whether a user exists, so unauthorized callers are refused first. Without conditions, the body is read
      // first.
      domainOf(request).users.authorizeChange(request.caller, request.params.user)
      return version(request)
    },
    creates: true,
    body: { kind: 'json', schema: user },
    facts: ({ body }) => ({ role: body.role }),
    answers: { status: 201, empty: true },
    errors: { 400: BAD_USER, 403: 'The namespace is not for the caller to manage.', 409: 'The user exists.' },
    handle: async (request) => {
      const { users } = domainOf(request)
      const { caller, params, body } = request
      await withUser(body, (user) => users.create(caller, params.user, user))
      return { status: 201, location: `/users/${params.user}` }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/users/:user',
    summary: 'Deletes a user; your own account cannot be deleted.',
    states: OPERATIONAL,
    access: ADMINISTRATORS,
    authorize: (request) => domainOf(request).users.authorizeChange(request.caller, defined(request.params.user)),
    params,
    exists,
    version,
    answers: EMPTY,
    errors: { 400: 'Not a user ID, or your own account.', 404: 'No such user.' },
    handle: async (request) => {
      await domainOf(request).users.remove(request.caller, request.params.user)
      return { status: 204 }
    },
  }),
  declare({
    method: 'POST',
    path: '/users/:user/passphrase',
    summary: 'Sets the passphrase of a user; Operators their own.',
    states: OPERATIONAL,
    access: READERS,
    authorize: (request) => domainOf(request).users.authorizeChange(request.caller, defined(request.params.user)),
    params,
    exists,
    noCache: true,
    body: { kind: 'json', schema: passphraseBody },
    answers: EMPTY,
    errors: { 400: 'Not a user ID, or the passphrase is not 10 to 200 bytes long.', 404: 'No such user.' },
    handle: async (request) => {
      const { passphrase } = request.body
      try {
        await domainOf(request).users.setPassphrase(request.caller, request.params.user, passphrase)
        return { status: 204 }
      } finally {
        wipe(passphrase)
      }
    },
  }),
]
