/** `auth/`: logins with the passphrase of a user. CONTRACT.md, "Login". */

import { hash } from 'node:crypto'
import { defined } from '../../base/defined.ts'
import { wipe } from '../../base/secret.ts'
import { declare, domainOf, OPERATIONAL, type Services } from '../api/services.ts'
import { USER_ID_PATTERN, userPrefix } from '../domain/identifiers.ts'
import type { Role } from '../domain/roles.ts'
import type { LoginMethod, Token } from '../domain/tokens.ts'
import type { DialectRequest } from '../pipeline/dialect.ts'
import { ANSWER, answer, invalid, TransitError } from './answers.ts'
import { type Fields, jsonBody, text } from './body.ts'

interface Login {
  services: Services
  dialect: DialectRequest | null
}

/** Seconds. */
export const tokenLifetime = ({ appliance }: Services): number => appliance.configuration.interfaces.tokenHours * 3600

/** A name without `~` is one of the namespace of the request. */
function userIdOf(name: string, namespace: string): string {
  return name.includes('~') ? name : userPrefix(namespace) + name
}

async function logIn(request: Login, method: LoginMethod, name: string, secret: string, wrong: string) {
  const { services } = request
  const dialect = defined(request.dialect)
  const userId = userIdOf(name, dialect.namespace)
  const passphrase = new TextEncoder().encode(secret)
  try {
    const caller = USER_ID_PATTERN.test(userId) ? await dialect.logIn(userId, passphrase) : null
    if (caller === null) throw new TransitError(400, [wrong], { isRefusal: true })
    const token = domainOf(request).tokens.issue(caller, method, tokenLifetime(services))
    services.log.info('access', `${caller.userId} logged in by ${method}`)
    return answer(null, { auth: authOf(token, request) })
  } finally {
    wipe(passphrase)
  }
}

export const policiesOf = (role: Role): string[] => [role.toLowerCase(), 'default'].sort()

/** A UUID that is always the same for the user. */
export function entityOf({ userId }: Token): string {
  const hex = hash('sha256', `coffer entity ${userId}`, 'hex')
  return [8, 12, 16, 20, 32].map((end, i, ends) => hex.slice(ends[i - 1] ?? 0, end)).join('-')
}

/** The part of the id behind the namespace, as it was sent at the login. */
const nameOf = ({ userId }: Token): string => userId.slice(userId.indexOf('~') + 1)

/** Names the login; null for tokens that were made of others. */
export function metadataOf(token: Token): Record<string, string> | null {
  if (token.method === 'userpass') return { username: nameOf(token) }
  return token.method === 'approle' ? { role_name: nameOf(token) } : null
}

export const isOrphan = ({ method }: Token): boolean => method !== 'token'

export function authOf(token: Token, request: { services: Services }) {
  const { tokens, users } = domainOf(request)
  const policies = policiesOf(users.get(token.userId).role)
  return {
    client_token: token.text,
    accessor: token.accessor,
    policies,
    token_policies: policies,
    metadata: metadataOf(token),
    lease_duration: tokens.secondsLeft(token),
    renewable: true,
    entity_id: entityOf(token),
    token_type: 'service',
    orphan: isOrphan(token),
    mfa_requirement: null,
    num_uses: 0,
  }
}

function required(body: Fields, name: string): string {
  const value = text(body, name)
  if (value === undefined || value === '') throw invalid(`missing ${name}`)
  return value
}

export const authDeclarations = [
  declare({
    method: 'POST',
    path: '/v1/auth/userpass/login/:user',
    summary: 'Logs a user in.',
    states: OPERATIONAL,
    access: 'public',
    audit: 'none',
    body: jsonBody,
    answers: ANSWER,
    handle: (request) => {
      const { user } = request.params as { user: string }
      return logIn(request, 'userpass', user, required(request.body, 'password'), 'invalid username or password')
    },
  }),
  declare({
    method: 'POST',
    path: '/v1/auth/approle/login',
    summary: 'Logs a user in, whose id is the role id.',
    states: OPERATIONAL,
    access: 'public',
    audit: 'none',
    body: jsonBody,
    answers: ANSWER,
    handle: (request) => {
      const role = required(request.body, 'role_id')
      return logIn(request, 'approle', role, required(request.body, 'secret_id'), 'invalid role or secret ID')
    },
  }),
]
