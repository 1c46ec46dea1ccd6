/** `/users/{uid}/access-keys`: credentials of programs on the transit API. Contract sections 3.3 and 7.9. */

import * as z from 'zod'
import { formatTime } from '../../base/clock.ts'
import { defined } from '../../base/defined.ts'
import { text, userId } from './schema.ts'
import { declare, domainOf, EMPTY, OPERATIONAL, READERS, type Services } from './services.ts'

const NAME_BYTES_MAX = 128

const name = text(1, NAME_BYTES_MAX)
const accessKeyId = z
  .string()
  .regex(/^COFR[A-Z2-7]{16}$/, 'not an access key')
  .meta({ examples: ['COFRKRSXG5CUMVZXIMJS'] })
const params = z.object({ user: userId })
const created = z.string().meta({ format: 'date-time' })

const accessKeyList = z.array(z.object({ id: accessKeyId, name, created })).meta({ id: 'AccessKeyList' })
const newAccessKey = z
  .object({ id: accessKeyId, secret: z.string(), token: z.string() })
  .meta({ id: 'NewAccessKey', description: 'Shown once.' })

type Target = { services: Services; params: { user: string } }

const exists = (request: Target): void => {
  domainOf(request).users.get(request.params.user)
}

export const accessKeyDeclarations = [
  declare({
    method: 'GET',
    path: '/users/:user/access-keys',
    summary: 'The access keys of a user, without their secrets; Operators see their own.',
    states: OPERATIONAL,
    access: READERS,
    authorize: (request) => domainOf(request).users.authorizeRead(request.caller, defined(request.params.user)),
    params,
    exists,
    noCache: true,
    answers: { status: 200, json: accessKeyList },
    errors: { 400: 'Not a user ID.', 404: 'No such user.' },
    handle: (request) => {
      const keys = domainOf(request).accessKeys.list(request.params.user)
      const json = keys.map(({ id, name, created }) => ({ id, name, created: formatTime(created * 1000) }))
      return { status: 200, json }
    },
  }),
  declare({
    method: 'POST',
    path: '/users/:user/access-keys',
    summary: 'Makes an access key of the caller.',
    addsRecords: true,
    states: OPERATIONAL,
    access: READERS,
    authorize: (request) =>
      domainOf(request).accessKeys.authorizeCreation(request.caller, defined(request.params.user)),
    params: z.object({ user: userId.meta({ examples: ['admin'] }) }),
    exists,
    noCache: true,
    creates: true,
    body: {
      kind: 'json',
      schema: z.strictObject({ name }).meta({ id: 'AccessKeyRequest', examples: [{ name: 'ci' }] }),
    },
    answers: { status: 201, json: newAccessKey },
    errors: {
      400: 'Not a user ID, a name of 1 to 128 bytes is missing, or the user has 16 access keys.',
      403: 'Users make access keys for themselves only.',
      404: 'No such user.',
    },
    handle: async (request) => {
      const { user } = request.params
      const { id, secret, token } = await domainOf(request).accessKeys.create(request.caller, user, request.body.name)
      return { status: 201, location: `/users/${user}/access-keys/${id}`, json: { id, secret, token } }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/users/:user/access-keys/:accessKey',
    summary: 'Deletes an access key; Operators their own.',
    states: OPERATIONAL,
    access: READERS,
    authorize: (request) => domainOf(request).users.authorizeChange(request.caller, defined(request.params.user)),
    params: z.object({ user: userId, accessKey: accessKeyId }),
    exists: (request) => domainOf(request).accessKeys.expect(request.params.user, request.params.accessKey),
    answers: EMPTY,
    errors: { 400: 'Not a user ID or an access key.', 404: 'No such user or access key.' },
    handle: async (request) => {
      const { user, accessKey } = request.params
      await domainOf(request).accessKeys.remove(request.caller, user, accessKey)
      return { status: 204 }
    },
  }),
]
