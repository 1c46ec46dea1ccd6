/** OpenBao's API as a dialect: `/v1/`, tokens, LIST, errors. CONTRACT.md, "Requests". */

import { CofferError } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import { domainOf, type Services } from '../api/services.ts'
import type { ApiInfo } from '../documents/openapi.ts'
import { ID_PATTERN, type Namespace } from '../domain/identifiers.ts'
import type { Dialect } from '../pipeline/dialect.ts'
import { readQuery } from '../pipeline/query.ts'
import { invalid, sealed, TransitError, transitErrorReply, unsupportedPath } from './answers.ts'
import { authDeclarations } from './auth.ts'
import { parseBoolean } from './body.ts'
import { dataDeclarations } from './data.ts'
import { documentDeclaration } from './documents.ts'
import { hashDeclarations } from './hash.ts'
import { keyDeclarations } from './keys.ts'
import { signatureDeclarations } from './signatures.ts'
import { sysDeclarations } from './sys.ts'
import { tokenDeclarations } from './tokens.ts'

export const TRANSIT_DECLARATIONS = [
  ...sysDeclarations,
  ...authDeclarations,
  ...tokenDeclarations,
  ...keyDeclarations,
  ...dataDeclarations,
  ...hashDeclarations,
  ...signatureDeclarations,
]

const isOn = ({ appliance }: Services): boolean => appliance.configuration.interfaces.transit === 'on'

export const transitDialect = (log: Log, info: ApiInfo): Dialect<Services> => ({
  name: 'transit',
  base: '/v1/',
  declarations: [...TRANSIT_DECLARATIONS, documentDeclaration(TRANSIT_DECLARATIONS, info)],
  isOffered: isOn,
  pathOf: (path) => (path.endsWith('/') ? path.slice(0, -1) : path),
  refusePath(exchange, services) {
    if (services.appliance.state !== 'Operational') throw sealed()
    tokenOf(exchange, services)
    throw unsupportedPath()
  },
  methodOf({ method }, query) {
    if (method === 'LINK') throw new TransitError(501, ['unsupported operation'])
    if (method === 'PUT') return 'POST'
    if (method !== 'GET') return method
    const isList = parseBoolean(readQuery(query).list ?? '')
    if (isList === null) throw new TransitError(400, [])
    return isList ? 'LIST' : method
  },
  namespaceOf({ header }) {
    if (header('x-vault-wrap-ttl') !== undefined) throw invalid('response wrapping is not offered')
    const name = (header('x-vault-namespace') ?? '').replace(/^\/|\/$/g, '')
    return name === 'root' ? '' : name
  },
  authenticate(exchange, namespace, services) {
    const token = tokenOf(exchange, services)
    const { users, namespaces } = domainOf({ services })
    const caller = users.caller(token.userId)
    if (caller === null) throw noToken()
    if (exchange.header('x-vault-namespace') !== undefined && namespace !== caller.namespace)
      throw isKnown(namespace, namespaces) ? noToken() : new TransitError(404, ['namespace not found'])
    return { caller, token }
  },
  isCurrent: (token, services) => domainOf({ services }).tokens.isCurrent(token),
  isRefusal: (error) => error instanceof TransitError && error.isRefusal,
  errorReply: (error) => transitErrorReply(error, log),
})

const isKnown = (namespace: Namespace, namespaces: { exists(id: Namespace): boolean }): boolean =>
  namespace === '' || (ID_PATTERN.test(namespace) && namespaces.exists(namespace))

function tokenOf({ header }: Exchange, services: Services) {
  const text = header('x-vault-token') ?? /^bearer +(\S+)$/i.exec(header('authorization') ?? '')?.[1]
  const token = text === undefined ? null : domainOf({ services }).tokens.read(text)
  if (token === null) throw noToken()
  return token
}

/** No token, or one that has ended. The pipeline asks again once changes of other nodes have arrived. */
const noToken = (): CofferError => new CofferError('unauthenticated', 'No token, or one that has ended')
