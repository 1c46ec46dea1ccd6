/** `auth/token/`: tokens about themselves, and tokens made of others. CONTRACT.md, "Tokens". */

import { formatTime } from '../../base/clock.ts'
import { defined } from '../../base/defined.ts'
import { declare, domainOf, OPERATIONAL, READERS, type Services } from '../api/services.ts'
import type { Caller } from '../domain/roles.ts'
import type { Token } from '../domain/tokens.ts'
import type { DialectRequest } from '../pipeline/dialect.ts'
import { ANSWER, answer, denied, invalid } from './answers.ts'
import { authOf, entityOf, isOrphan, metadataOf, policiesOf, tokenLifetime } from './auth.ts'
import { duration, type Fields, flag, integer, jsonBody, text, texts } from './body.ts'

interface Asked {
  services: Services
  caller: Caller
  address: string
  dialect: DialectRequest | null
}

/** Behind authentication there is always one. */
const tokenOf = ({ dialect }: Asked): Token => defined(dialect?.token)

const DISPLAY_NAME_MAX = 128

function displayName(token: Token): string {
  if (token.method === 'userpass') return `userpass-${token.userId.slice(token.userId.indexOf('~') + 1)}`
  if (token.method === 'approle') return 'approle'
  return token.displayName === '' ? 'token' : `token-${token.displayName}`
}

function pathOf({ method, userId }: Token): string {
  if (method === 'userpass') return `auth/userpass/login/${userId.slice(userId.indexOf('~') + 1)}`
  return method === 'approle' ? 'auth/approle/login' : 'auth/token/create'
}

function lookup(request: Asked) {
  const token = tokenOf(request)
  const { tokens } = domainOf(request)
  const { issued, lifetime, accessor, text: id } = token
  return answer({
    id,
    accessor,
    creation_time: issued,
    creation_ttl: lifetime,
    display_name: displayName(token),
    entity_id: entityOf(token),
    expire_time: lifetime === 0 ? null : formatTime((issued + lifetime) * 1000),
    explicit_max_ttl: 0,
    issue_time: formatTime(issued * 1000),
    meta: metadataOf(token),
    num_uses: 0,
    orphan: isOrphan(token),
    path: pathOf(token),
    policies: policiesOf(request.caller.role),
    renewable: true,
    ttl: tokens.secondsLeft(token),
    type: 'service',
  })
}

/** Access keys are changes of a user: the audit log has them, however they are made. */
async function recordChange(request: Asked, action: string, id: string): Promise<void> {
  const { appliance } = request.services
  const { userId, namespace } = request.caller
  const time = formatTime(appliance.clock.now())
  const event = { time, user: userId, address: request.address, action, key: '', namespace, result: 200 }
  await appliance.audit?.record({ ...event, facts: { accessKey: id } }, 'change', userId)
}

function expectBudget({ services: { appliance }, caller }: Asked): void {
  if (caller.role !== 'Administrator') appliance.audit?.expectBudget(caller.userId)
}

/** Ignored, they would leave a token that may do more than its maker meant, and longer. */
function refuseRestrictions(body: Fields, { role }: Caller): void {
  const uses = integer(body, 'num_uses') ?? 0
  if (uses < 0) throw invalid('number of uses cannot be negative')
  if (uses > 0) throw invalid('num_uses is not offered: the uses of tokens are not counted')
  if (flag(body, 'no_default_policy')) throw invalid('no_default_policy is not offered')
  const policies = texts(body, 'policies').map((name) => name.trim().toLowerCase())
  const allowed = ['', ...policiesOf(role)]
  if (!policies.every((name) => allowed.includes(name))) throw invalid('child policies must be subset of parent')
  if (policies.length > 0 && !policies.includes(role.toLowerCase()))
    throw invalid(`policies must include ${role.toLowerCase()}: a token has all rights of its user`)
}

async function create(request: Asked & { body: Fields }) {
  const { body, caller, services } = request
  refuseRestrictions(body, caller)
  const parent = tokenOf(request)
  const { tokens, accessKeys } = domainOf(request)
  const name = (text(body, 'display_name') ?? '').replace(/[^\w.-]/g, '-').slice(0, DISPLAY_NAME_MAX)
  const maximum = duration(body, 'explicit_max_ttl') || Number.POSITIVE_INFINITY
  if ((duration(body, 'period') ?? 0) > 0) {
    if (maximum !== Number.POSITIVE_INFINITY)
      throw invalid('explicit_max_ttl is not offered with a period, which makes an access key without an end')
    if (parent.accessKey !== null) throw denied('An access key makes no other access key')
    expectBudget(request)
    const { id, token: text } = await accessKeys.create(caller, caller.userId, name === '' ? 'token' : name)
    await recordChange(request, 'POST /v1/auth/token/create', id)
    return answer(null, { auth: authOf(defined(tokens.read(text)), request) })
  }
  const most = tokenLifetime(services)
  const lifetime = Math.min(duration(body, 'ttl') || most, most, maximum)
  return answer(null, { auth: authOf(tokens.issue(caller, 'token', lifetime, parent, name), request) })
}

async function revoke(request: Asked) {
  const token = tokenOf(request)
  const { tokens, accessKeys } = domainOf(request)
  if (token.method !== null) {
    await tokens.revoke(token)
    return { status: 204 } as const
  }
  expectBudget(request)
  await accessKeys.remove(request.caller, token.userId, token.accessor)
  await recordChange(request, 'POST /v1/auth/token/revoke-self', token.accessor)
  return { status: 204 } as const
}

const common = { states: OPERATIONAL, access: READERS, audit: 'none', answers: ANSWER } as const

export const tokenDeclarations = [
  declare({
    ...common,
    method: 'GET',
    path: '/v1/auth/token/lookup-self',
    summary: 'The token of the request.',
    handle: lookup,
  }),
  declare({
    ...common,
    method: 'POST',
    path: '/v1/auth/token/lookup',
    summary: 'The token of the request, which the body names.',
    body: jsonBody,
    handle: (request) => {
      if (text(request.body, 'token') !== tokenOf(request).text) throw denied('Tokens look up themselves only')
      return lookup(request)
    },
  }),
  declare({
    ...common,
    method: 'POST',
    path: '/v1/auth/token/renew-self',
    summary: 'Answers with the time that is left: nothing extends a token.',
    body: jsonBody,
    handle: (request) => answer(null, { auth: authOf(tokenOf(request), request) }),
  }),
  declare({
    ...common,
    method: 'POST',
    path: '/v1/auth/token/revoke-self',
    summary: 'Ends the token, and those that were made of it.',
    body: jsonBody,
    handle: revoke,
  }),
  ...['create', 'create-orphan'].map((name) =>
    declare({
      ...common,
      method: 'POST',
      path: `/v1/auth/token/${name}`,
      summary: 'A token that ends with this one at the latest; with a period, an access key.',
      addsRecords: true,
      body: jsonBody,
      handle: create,
    }),
  ),
]
