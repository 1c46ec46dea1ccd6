/**
 * `/chat`: the organization of the team chat. The appliance's administrator creates it and cannot read its messages. Contract section 3.8.
 */

import * as z from 'zod'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { ChatService } from '../../chat/link/chat-service.ts'
import { JWT_ALGORITHMS } from '../../chat/link/link.ts'
import { tlsDeclarations } from './config-tls.ts'
import { passphrase, text } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const NAME_BYTES_MAX = 160 // 40 characters, which the chat checks
const EMAIL_BYTES_MAX = 254 // RFC 5321 section 4.5.3.1.3
const FULL_NAME_BYTES_MAX = 400
const URL_BYTES_MAX = 500
const JWT_KEY_CHARACTERS_MAX = 4096 // an RSA public key with 8192 bits has 1500 in PEM
const QUOTA_MIB_MAX = 1_000_000_000

/** URL of the chat: an origin, because clients append their own paths. */
const origin = text(0, URL_BYTES_MAX)
  .refine((value) => value === '' || isOrigin(value), 'must be like https://chat.example.org')
  .meta({ description: 'An origin such as https://chat.example.org; empty: the one that a request names.' })

function isOrigin(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') && url.origin === value
}

const OUTGOING_HOSTS_MAX = 100
const HOST_BYTES_MAX = 260 // a name (RFC 1035 section 3.1) and a port

/** Host as in a URL: lower case, IPv6 in brackets. */
const outgoingHost = text(1, HOST_BYTES_MAX)
  .refine((host) => isHost(host), 'must be like hooks.example.org:8443')
  .meta({ description: 'A host at port 443 of https or 80 of http, or a host and its port.' })

const isHost = (host: string): boolean => URL.parse(`https://${host}`)?.host === host && !/\.(?:$|:)/.test(host)

const CONTACT_BYTES_MAX = 300
const ALL_BELOW = '*.'

const pushHost = text(1, HOST_BYTES_MAX + ALL_BELOW.length)
  .refine((host) => isPushHost(host), 'must be like push.example.org or *.example.org')
  .meta({ description: 'A host at port 443, a host and its port, or `*.` and a domain for all hosts below it.' })

function isPushHost(host: string): boolean {
  const name = host.startsWith(ALL_BELOW) ? host.slice(ALL_BELOW.length) : host
  return isHost(name) && !name.includes('*')
}

const webPush = z
  .strictObject({
    hosts: z.array(pushHost).min(1).max(OUTGOING_HOSTS_MAX),
    contact: text(1, CONTACT_BYTES_MAX)
      .refine((value) => isContact(value), 'must be a mailto: or https: URL')
      .meta({ description: 'For push services that notice a problem.' }),
    content: z
      .boolean()
      .default(false)
      .meta({ description: 'Whether notifications contain sender, topic and text, encrypted for the browser.' }),
  })
  .nullable()
  .meta({ description: 'Push services for browsers whose page is closed; null: none.' })

function isContact(value: string): boolean {
  if (/\p{Cc}/u.test(value)) return false // control characters, which URL parsers remove or encode
  const { protocol, host, pathname } = URL.parse(value) ?? {}
  return (protocol === 'https:' && host !== '') || (protocol === 'mailto:' && pathname?.includes('@') === true)
}

const organization = z
  .strictObject({
    name: text(1, NAME_BYTES_MAX),
    url: origin.default(''),
    owner: z.strictObject({
      email: text(3, EMAIL_BYTES_MAX),
      fullName: text(1, FULL_NAME_BYTES_MAX),
      password: passphrase,
    }),
  })
  .meta({
    id: 'ChatOrganization',
    examples: [
      {
        name: 'Example',
        url: 'https://chat.example.org',
        owner: { email: 'olivia@example.org', fullName: 'Olivia Owner', password: 'a password of an owner' },
      },
    ],
  })

const jwtAlgorithm = z.enum(JWT_ALGORITHMS)

const common = {
  url: origin,
  ownerFullContentAccess: z
    .boolean()
    .meta({ description: 'Whether owners may read private channels that they are not in.' }),
  uploadQuotaMib: z
    .int()
    .min(0)
    .max(QUOTA_MIB_MAX)
    .nullable()
    .meta({ description: 'Of all uploads together; null: a quarter of the disk.' }),
  outgoingHosts: z
    .array(outgoingHost)
    .max(OUTGOING_HOSTS_MAX)
    .meta({ description: 'Whom outgoing webhooks may reach; nobody by default.' }),
  webPush,
  externalPreviews: z.boolean().meta({
    description:
      'Whether messages show pictures and videos of other hosts, whom each reader asks for them; false by default.',
  }),
}

const port = z
  .int()
  .min(1)
  .max(65_535)
  .meta({ description: 'At which the chat listens, on a device alone: 9443 or 443.', examples: [443] })

const settings = z
  .strictObject({
    ...common,
    port: port.optional(),
    jwt: z.strictObject({ algorithm: jwtAlgorithm }).nullable().meta({
      description: 'How tokens that sign people in are checked; null: none are taken. The key is never shown.',
    }),
  })
  .meta({ id: 'ChatSettings' })

const jwtKey = z
  .string()
  .max(JWT_KEY_CHARACTERS_MAX)
  .meta({
    format: 'password',
    description: 'Of HS256 a secret of 32 bytes or more, of the others a public key in PEM.',
  })
  .transform((value) => new TextEncoder().encode(value))

const settingsChange = z
  .strictObject({ ...common, port, jwt: z.strictObject({ algorithm: jwtAlgorithm, key: jwtKey }).nullable() })
  .partial()
  .meta({ id: 'ChatSettingsChange', examples: [{ uploadQuotaMib: 1000 }] })

const status = z
  .object({
    state: z.enum(['none', 'starting', 'running', 'failed']),
    problem: z.string().optional().meta({ description: 'Why it has failed.' }),
    port: z.int().optional(),
    url: z.string().optional(),
    users: z.int().optional(),
    messages: z.int().optional(),
    bytes: z.int().optional(),
    queues: z.int().optional(),
    exportKey: z.string().optional().meta({ description: 'Exports are signed with it: Ed25519, in hex.' }),
    olderCopies: z
      .array(z.string())
      .optional()
      .meta({ description: 'Databases that were put back to an older copy, or lost changes to damage of their logs.' }),
  })
  .meta({ id: 'Chat' })

const recovery = z
  .strictObject({ email: text(3, EMAIL_BYTES_MAX), password: passphrase })
  .meta({ id: 'ChatRecovery', examples: [{ email: 'olivia@example.org', password: 'another password of hers' }] })

function chatOf({ services }: { services: Services }): ChatService {
  if (services.chat === undefined) throw new CofferError('unavailable', 'There is no directory for a chat here')
  return services.chat
}

/** Throws `notFound` if there is no organization. */
function expectOrganization(request: { services: Services }): void {
  if (chatOf(request).state === 'none') throw new CofferError('notFound', 'There is no organization')
}

const describe = async (chat: ChatService): Promise<z.infer<typeof status>> => {
  const figures = chat.state === 'running' ? await chat.figures().catch(() => null) : null // the chat may end meanwhile
  const { state, problem, port } = chat
  const known = { state, ...(problem !== null && { problem }), ...(port !== null && { port }) }
  if (figures === null || state !== 'running') return known
  const { url, users, messages, bytes, queues, exportKey, older } = figures
  return { ...known, url, users, messages, bytes, queues, exportKey, ...(older.length > 0 && { olderCopies: older }) }
}

export const chatDeclarations = [
  declare({
    method: 'GET',
    path: '/chat',
    summary: 'Whether there is a chat, and how large it is; nothing that anybody wrote.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: { status: 200, json: status },
    handle: async (request) => ({ status: 200, json: await describe(chatOf(request)) }),
  }),
  declare({
    method: 'PUT',
    path: '/chat/organization',
    summary: 'Makes the organization of the chat, and its first owner.',
    addsRecords: true,
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    creates: true,
    noCache: true,
    body: { kind: 'json', schema: organization },
    answers: { status: 201, empty: true },
    errors: { 400: 'Something of it cannot be taken.', 409: 'There already is an organization.' },
    handle: async (request) => {
      const { services, caller, body } = request
      const { password, ...owner } = body.owner
      try {
        await chatOf(request).createOrganization({ ...body, owner }, password)
      } finally {
        wipe(password)
      }
      services.log.info('general', `chat organization made by ${caller.userId}`)
      return { status: 201 }
    },
  }),
  declare({
    method: 'DELETE',
    path: '/chat/organization',
    summary: 'Erases the organization and everything in it; its name is asked for certainty.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    body: {
      kind: 'json',
      schema: z
        .strictObject({ name: text(1, NAME_BYTES_MAX) })
        .meta({ id: 'ChatName', examples: [{ name: 'Example' }] }),
    },
    answers: EMPTY,
    errors: { 400: 'That is not its name.', 404: 'There is none.' },
    handle: async (request) => {
      const { services, caller, body } = request
      await chatOf(request).deleteOrganization(body.name)
      services.log.info('general', `chat organization erased by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'GET',
    path: '/chat/settings',
    summary: 'What the administrator of the appliance sets of the chat.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: { status: 200, json: settings },
    errors: { 404: 'There is no organization.' },
    handle: async (request) => ({ status: 200, json: await chatOf(request).settings() }),
  }),
  declare({
    method: 'PUT',
    path: '/chat/settings',
    summary: 'Sets what is given and leaves the rest.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    creates: true,
    noCache: true,
    body: {
      kind: 'json',
      schema: settingsChange,
    },
    answers: EMPTY,
    errors: { 400: 'A value that cannot be taken.', 404: 'There is no organization.' },
    facts: ({ body }) => ({ externalPreviews: body.externalPreviews?.toString() }),
    handle: async (request) => {
      const { services, caller, body } = request
      const input = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
      try {
        await chatOf(request).changeSettings(input)
      } finally {
        wipe(body.jwt?.key)
      }
      services.log.info('general', `chat settings changed by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'POST',
    path: '/chat/recover-owner',
    summary: 'A new password for an owner who has forgotten theirs; the keys of the account are revoked.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    body: { kind: 'json', schema: recovery },
    answers: EMPTY,
    errors: { 404: 'There is no organization, or no such owner.' },
    handle: async (request) => {
      const { services, caller, body } = request
      try {
        await chatOf(request).recoverOwner(body.email, body.password)
      } finally {
        wipe(body.password)
      }
      services.log.info('general', `password of a chat owner set by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  ...tlsDeclarations({
    path: '/chat/tls',
    owner: "the chat's port",
    log: 'chat TLS',
    tlsOf: (request) => {
      expectOrganization(request)
      return request.services.appliance.configuration.chatTls
    },
    isOfCluster: false,
  }),
]
