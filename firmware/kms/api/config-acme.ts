/** `/config/acme`: certificates for the ports from a certificate authority. Contract sections 3.4 and 4.7. */

import * as z from 'zod'
import type { Acme, AcmeView } from '../../acme/service.ts'
import { ACME_PORTS, type AcmeChange, type AcmePort, CHALLENGES } from '../../acme/settings.ts'
import { formatTime } from '../../base/clock.ts'
import { CofferError } from '../../base/error.ts'
import { canonicalIPv6, ipVersion } from '../../base/ip-address.ts'
import { host } from './config-outgoing.ts'
import { text } from './schema.ts'
import { changedMembers, declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const URL_BYTES_MAX = 500
const CONTACTS_MAX = 10
const CONTACT_BYTES_MAX = 254 // RFC 5321 section 4.5.3.1.3
const NAMES_MAX = 100 // of a certificate: public CAs take no more
const PROFILE_BYTES_MAX = 64
const KID_BYTES_MAX = 256
const KEY_BYTES_MAX = 512

const CONTACT = /^[\x21-\x3f\x41-\x7e]+@[a-z0-9.-]+$/i

function isDirectory(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && url.protocol === 'https:' && url.username === '' && url.href === value && url.hash === ''
}

/** IPv6 addresses have one form only, in which a CA returns them. */
const isCanonical = (value: string): boolean => ipVersion(value) !== 6 || canonicalIPv6(value) === value

const names = z
  .array(host.refine(isCanonical, 'must be in the form of RFC 5952'))
  .max(NAMES_MAX)
  .refine((list) => new Set(list).size === list.length, 'must not repeat')

const common = {
  directory: text(1, URL_BYTES_MAX)
    .refine(isDirectory, 'must be an https URL')
    .nullable()
    .meta({
      description: 'Of the CA. Null: nothing is ordered, and the account is forgotten.',
      examples: ['https://acme-v02.api.letsencrypt.org/directory'],
    }),
  contact: z
    .array(text(3, CONTACT_BYTES_MAX).regex(CONTACT, 'must be a mail address'))
    .max(CONTACTS_MAX)
    .meta({ description: 'Mail addresses that the CA gets.' }),
  termsAgreed: z.boolean().meta({ description: 'Whether you agree to the terms of the CA.' }),
  challenge: z.enum(CHALLENGES).meta({ description: 'How the CA validates names.' }),
  profile: text(1, PROFILE_BYTES_MAX)
    .regex(/^[!-~]+$/)
    .nullable()
    .meta({ description: 'A profile that the CA offers, such as `shortlived`.' }),
  appliance: names.meta({ description: "Names and IP addresses of the certificate for the appliance's port." }),
  chat: names.meta({ description: "Names and IP addresses of the certificate for the chat's port." }),
}

const kid = text(1, KID_BYTES_MAX).regex(/^[!-~]+$/)

const portView = z.strictObject({
  state: z.enum(['off', 'pending', 'ordering', 'valid', 'failing']),
  notAfter: z.string().optional().meta({ format: 'date-time' }),
  renewAt: z.string().optional().meta({ format: 'date-time', description: 'When the next order is due.' }),
  failures: z.int().meta({ description: 'In a row.' }),
  problem: z.string().optional().meta({ description: 'Why the last order failed.' }),
})

const settings = z
  .strictObject({
    ...common,
    eab: z
      .strictObject({ kid, key: z.literal(true) })
      .nullable()
      .meta({ description: 'External account. The key is never shown.' }),
    account: z.string().nullable().meta({ description: 'URL of the account, null until there is one.' }),
    ports: z.strictObject({ appliance: portView, chat: portView }),
  })
  .meta({ id: 'Acme' })

const change = z
  .strictObject({
    ...common,
    eab: z
      .strictObject({
        kid,
        key: text(1, KEY_BYTES_MAX)
          .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url')
          .optional()
          .meta({ format: 'password', description: 'Base64url. Absent: stays for the same kid.' }),
      })
      .nullable(),
  })
  .partial()
  .refine((value) => Object.keys(value).length > 0, 'at least one member')
  .meta({
    id: 'AcmeChange',
    examples: [
      {
        directory: 'https://acme.example.org/directory',
        termsAgreed: true,
        challenge: 'tls-alpn-01',
        appliance: ['coffer.example.org'],
      },
    ],
  })

const renewal = z
  .strictObject({ port: z.enum(ACME_PORTS) })
  .meta({ id: 'AcmeRenewal', examples: [{ port: 'appliance' }] })

function acmeOf({ services }: { services: Services }): NonNullable<Services['acme']> {
  if (services.acme === undefined) throw new CofferError('unavailable', 'There are no connections to other hosts here')
  return services.acme
}

function show({ settings: set, account, ports }: AcmeView): z.infer<typeof settings> {
  const { eab, contact, appliance, chat, ...others } = set
  return {
    ...others,
    contact: [...contact],
    appliance: [...appliance],
    chat: [...chat],
    eab: eab && { kid: eab.kid, key: true },
    account,
    ports: { appliance: showPort(ports.appliance), chat: showPort(ports.chat) },
  }
}

function showPort({ notAfterMs, renewAtMs, ...others }: ReturnType<Acme['view']>['ports'][AcmePort]) {
  return {
    ...others,
    ...(notAfterMs !== undefined && { notAfter: formatTime(notAfterMs) }),
    ...(renewAtMs !== undefined && { renewAt: formatTime(renewAtMs) }),
  }
}

export const configAcmeDeclarations = [
  declare({
    method: 'GET',
    path: '/config/acme',
    summary: 'How certificates are ordered, and how the orders of each port go.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: { status: 200, json: settings },
    handle: (request) => ({ status: 200, json: show(acmeOf(request).view()) }),
  }),
  declare({
    method: 'PUT',
    path: '/config/acme',
    summary: 'Sets what is given and leaves the rest. Orders start anew.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    creates: true,
    body: { kind: 'json', schema: change },
    facts: changedMembers,
    answers: EMPTY,
    errors: {
      400: 'Something of it cannot be taken.',
      412: 'The appliance has no port for plain HTTP, or a cluster CA has to sign its certificate.',
    },
    handle: (request) => {
      const { services, caller, body } = request
      acmeOf(request).change(body as AcmeChange)
      services.log.info('general', `ACME set by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'POST',
    path: '/config/acme/renew',
    summary: 'Orders a certificate now.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    body: { kind: 'json', schema: renewal },
    facts: ({ body }) => ({ port: body.port }),
    answers: EMPTY,
    errors: {
      400: 'No such port.',
      412: 'Nothing is ordered for this port.',
      429: 'Within 10 seconds of the last time.',
    },
    handle: (request) => {
      acmeOf(request).renew(request.body.port)
      request.services.log.info(
        'general',
        `certificate for the ${request.body.port} ordered by ${request.caller.userId}`,
      )
      return { status: 204 }
    },
  }),
]
