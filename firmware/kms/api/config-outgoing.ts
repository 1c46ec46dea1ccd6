/** `/config/outgoing`: how the appliance reaches other hosts. Contract sections 3.4 and 4.7. */

import { X509Certificate } from 'node:crypto'
import * as z from 'zod'
import { ipVersion } from '../../base/ip-address.ts'
import type { OutgoingChange, OutgoingSettings } from '../../configuration/outgoing.ts'
import { noOutgoing, OutgoingError } from '../../outgoing/error.ts'
import type { ProbeAnswer } from '../../outgoing/link.ts'
import { integer, text } from './schema.ts'
import { changedMembers, declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const RESOLVERS_MAX = 4
const EXCEPTIONS_MAX = 32
const AUTHORITIES_MAX = 64
const AUTHORITIES_BYTES_MAX = 128 * 1024 // travels to the process in one message
const HOST_BYTES_MAX = 253 // RFC 1035 section 3.1
const CIDR_BYTES_MAX = 43
const PROXY_USER_BYTES_MAX = 128
const PROXY_PASSWORD_BYTES_MAX = 256

const HOST_NAME = /^(?!-)[a-z0-9-]+(?<!-)(?:\.(?!-)[a-z0-9-]+(?<!-))*$/

const isHost = (value: string): boolean =>
  ipVersion(value) !== 0 || (HOST_NAME.test(value) && !/(?:^|\.)\d+$/.test(value))

export const host = text(1, HOST_BYTES_MAX)
  .refine(isHost, 'must be a host name in lower case, or an IP address')
  .meta({ description: 'A host name in lower case, or an IP address.', examples: ['proxy.example.org'] })

function isResolver(value: string): boolean {
  if (ipVersion(value) !== 0) return true
  const [, address = '', port = ''] = /^\[(.*)\]:(\d{1,5})$/.exec(value) ?? /^([^:]*):(\d{1,5})$/.exec(value) ?? []
  return ipVersion(address) === (value.startsWith('[') ? 6 : 4) && Number(port) >= 1 && Number(port) <= 65_535
}

function isException(value: string): boolean {
  if (value.startsWith('.')) return isHost(value.slice(1)) && ipVersion(value.slice(1)) === 0
  const [network = '', prefix, ...rest] = value.split('/')
  if (prefix === undefined) return isHost(value)
  const bits = { 0: -1, 4: 32, 6: 128 }[ipVersion(network)] ?? -1
  return rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= bits
}

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g

/** Returns the number of certificates, or null if something else is in the text. */
function countCertificates(pem: string): number | null {
  const blocks = pem.match(PEM_BLOCK) ?? []
  if (pem.replace(PEM_BLOCK, '').trim() !== '') return null
  try {
    for (const block of blocks) new X509Certificate(block)
    return blocks.length
  } catch {
    return null
  }
}

const proxyFields = {
  host,
  port: integer(1, 65_535),
  user: text(1, PROXY_USER_BYTES_MAX)
    .refine((value) => !value.includes(':'), 'must have no colon')
    .optional(),
}

const common = {
  resolvers: z
    .array(text(1, 51).refine(isResolver, 'must be an IP address, or one with a port'))
    .max(RESOLVERS_MAX)
    .meta({ description: 'Servers of names, as `address` or `address:port`. Without one a device resolves no name.' }),
  proxyExcept: z
    .array(text(1, Math.max(HOST_BYTES_MAX, CIDR_BYTES_MAX)).refine(isException, 'must be a host, .suffix or CIDR'))
    .max(EXCEPTIONS_MAX)
    .meta({ description: 'Reached without the proxy: a host, `.suffix`, or a CIDR of addresses.' }),
  authorities: text(0, AUTHORITIES_BYTES_MAX)
    .refine((pem) => (countCertificates(pem) ?? AUTHORITIES_MAX + 1) <= AUTHORITIES_MAX, 'must be certificates in PEM')
    .meta({ description: 'Certificates in PEM that are trusted besides the public ones.' }),
  publicAuthorities: z.boolean().meta({ description: 'Whether the public authorities of Mozilla are trusted.' }),
}

const settings = z
  .strictObject({
    ...common,
    proxy: z
      .strictObject({ ...proxyFields, password: z.literal(true).optional() })
      .nullable()
      .meta({ description: 'TLS connections go through it by CONNECT. `password` is true where one is set.' }),
  })
  .meta({ id: 'Outgoing' })

const change = z
  .strictObject({
    ...common,
    proxy: z
      .strictObject({
        ...proxyFields,
        password: text(1, PROXY_PASSWORD_BYTES_MAX).nullable().optional().meta({
          format: 'password',
          description: 'Absent: stays for the same host, port and user. Null: none.',
        }),
      })
      .refine(({ user, password }) => user !== undefined || password == null, 'A password needs a user')
      .nullable(),
  })
  .partial()
  .refine((value) => Object.keys(value).length > 0, 'at least one member')
  .meta({ id: 'OutgoingChange', examples: [{ resolvers: ['192.168.1.2'] }] })

const destination = z
  .strictObject({ host, port: integer(1, 65_535), tls: z.boolean() })
  .meta({ id: 'OutgoingTest', examples: [{ host: 'acme.example.org', port: 443, tls: true }] })

const finding = z
  .strictObject({
    addresses: z.array(z.string()).meta({ description: 'Empty where a proxy resolves.' }),
    tls: z
      .strictObject({
        version: z.string(),
        names: z.array(z.string()),
        notAfter: z.string().meta({ format: 'date-time' }),
      })
      .optional(),
    problem: z.string().optional().meta({ description: 'Why the host cannot be reached.' }),
  })
  .meta({ id: 'OutgoingFinding' })

const settingsOf = ({ services }: { services: Services }): OutgoingSettings => services.appliance.configuration.outgoing

function show(request: { services: Services }): z.infer<typeof settings> {
  const { proxy, resolvers, proxyExcept, ...others } = settingsOf(request)
  const shown = { ...others, resolvers: [...resolvers], proxyExcept: [...proxyExcept] }
  if (proxy === null) return { ...shown, proxy }
  const { password, ...place } = proxy
  return { ...shown, proxy: { ...place, ...(password !== undefined && { password: true as const }) } }
}

/** Without the password, which the tag of an answer must not help to guess. */
const version = (request: { services: Services }) => JSON.stringify(show(request))

export const configOutgoingDeclarations = [
  declare({
    method: 'GET',
    path: '/config/outgoing',
    summary: 'How the appliance reaches other hosts.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    answers: { status: 200, json: settings },
    handle: (request) => ({ status: 200, json: show(request) }),
  }),
  declare({
    method: 'PUT',
    path: '/config/outgoing',
    summary: 'Sets resolvers, proxy and authorities of outgoing connections.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    creates: true,
    body: { kind: 'json', schema: change },
    facts: changedMembers,
    answers: EMPTY,
    errors: { 400: 'Something of it cannot be taken.' },
    handle: ({ services, caller, body }) => {
      services.appliance.configuration.changeOutgoing(body as OutgoingChange)
      services.log.info('general', `outgoing connections set by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'POST',
    path: '/config/outgoing/test',
    summary: 'Connects to a host and says how that went; nothing is sent to it.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    body: { kind: 'json', schema: destination },
    facts: ({ body }) => ({ host: body.host, port: `${body.port}` }),
    answers: { status: 200, json: finding },
    errors: { 400: 'No host, or no port.', 412: 'The boot manager is too old for outgoing connections.' },
    handle: async ({ services, body }) => {
      if (services.outgoing === undefined) throw noOutgoing()
      return { status: 200, json: toFinding(await probe(services.outgoing, body)) }
    },
  }),
]

async function probe(
  outgoing: NonNullable<Services['outgoing']>,
  body: z.infer<typeof destination>,
): Promise<ProbeAnswer> {
  try {
    return await outgoing.probe(body)
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error
    return { addresses: [], problem: error.message }
  }
}

const toFinding = ({ addresses, tls, problem }: ProbeAnswer): z.infer<typeof finding> => ({
  addresses: [...addresses],
  ...(tls && { tls: { ...tls, names: [...tls.names] } }),
  ...(problem !== undefined && { problem: `Cannot connect: ${problem}` }),
})
