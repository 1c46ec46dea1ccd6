/** `/account`: the authenticated user, for tools that adapt to roles. Contract section 3.3. */

import * as z from 'zod'
import { ROLES } from '../domain/roles.ts'
import { id, namespaceId, role, userId } from './schema.ts'
import { declare, domainOf, OPERATIONAL } from './services.ts'

const account = z
  .object({
    user: userId,
    realName: z.string(),
    role,
    namespace: namespaceId.optional().meta({ description: 'Absent for users outside any namespace.' }),
    tags: z.array(id).optional().meta({ description: 'Of Operators only.' }),
  })
  .meta({ id: 'Account' })

export const accountDeclarations = [
  declare({
    method: 'GET',
    path: '/account',
    summary: 'The account of the caller, whatever its role.',
    states: OPERATIONAL,
    access: { roles: ROLES, scope: 'any' },
    noCache: true,
    answers: { status: 200, json: account },
    handle: (request) => {
      const { userId, namespace } = request.caller
      const { users } = domainOf(request)
      const { realName, role } = users.get(userId)
      return {
        status: 200,
        json: {
          user: userId,
          realName,
          role,
          ...(namespace !== '' && { namespace }),
          ...(role === 'Operator' && { tags: users.tags(userId) }),
        },
      }
    },
  }),
]
