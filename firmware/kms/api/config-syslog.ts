/** `/config/syslog`: the log server over TLS. Contract sections 3.4, 4.7 and 7.6. */

import * as z from 'zod'
import { CofferError } from '../../base/error.ts'
import { SYSLOG_SELECTIONS, type SyslogChange, type SyslogSettings } from '../../configuration/syslog.ts'
import type { Forwarder } from '../../forwarding/forwarder.ts'
import { noOutgoing } from '../../outgoing/error.ts'
import { host } from './config-outgoing.ts'
import { tlsDeclarations } from './config-tls.ts'
import { integer } from './schema.ts'
import { changedMembers, declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const FINGERPRINTS_MAX = 4 // the certificate in use, the next one, and those of a second server
const FINGERPRINT = /^sha-256(?::[0-9A-F]{2}){32}$/

const common = {
  server: host.nullable().meta({
    description: 'Host name in lower case or IP address. Null: nothing is forwarded.',
    examples: ['log.example.org'],
  }),
  port: integer(1, 65_535),
  send: z.enum(SYSLOG_SELECTIONS).meta({ description: 'The audit log, the system log, or both.' }),
  fingerprints: z
    .array(z.string().regex(FINGERPRINT, 'must be sha-256: and 32 bytes in hex, as RFC 5425 writes it'))
    .max(FINGERPRINTS_MAX)
    .meta({ description: "With some, the server's certificate needs one of them, and no authority or name." }),
}

const settings = z
  .strictObject({
    ...common,
    state: z.enum(['off', 'connected', 'waiting']),
    confirmed: z.int().meta({ description: 'Newest line of the audit log that a server has confirmed.' }),
    waiting: z.int().meta({ description: 'Lines that are not confirmed.' }),
    problem: z.string().optional().meta({ description: 'Why the server has not confirmed.' }),
  })
  .meta({ id: 'Syslog' })

const change = z
  .strictObject(common)
  .partial()
  .refine((value) => Object.keys(value).length > 0, 'at least one member')
  .meta({ id: 'SyslogChange', examples: [{ server: 'log.example.org', send: 'audit' }] })

const configurationOf = ({ services }: { services: Services }) => services.appliance.configuration

const show = (
  { fingerprints, ...others }: SyslogSettings,
  view: ReturnType<Forwarder['view']>,
): z.infer<typeof settings> => ({ ...others, fingerprints: [...fingerprints], ...view })

/** Without connections to other hosts. */
const OFF = { state: 'off', confirmed: 0, waiting: 0 } as const

export const configSyslogDeclarations = [
  declare({
    method: 'GET',
    path: '/config/syslog',
    summary: 'The log server over TLS, and how far it has confirmed.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: { status: 200, json: settings },
    handle: (request) => ({
      status: 200,
      json: show(configurationOf(request).syslog, request.services.forwarder?.view() ?? OFF),
    }),
  }),
  declare({
    method: 'PUT',
    path: '/config/syslog',
    summary: 'Sets what is given and leaves the rest. The server before gets what was written until then.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    creates: true,
    body: { kind: 'json', schema: change },
    facts: (request) => ({
      ...changedMembers(request),
      ...(request.body.server != null && { server: request.body.server }),
    }),
    answers: EMPTY,
    errors: { 400: 'Something of it cannot be taken.', 412: 'The boot manager is too old for outgoing connections.' },
    handle: (request) => {
      const { services, caller } = request
      const body = request.body as SyslogChange
      if (body.server != null && services.forwarder === undefined) throw noOutgoing()
      configurationOf(request).changeSyslog(body)
      services.log.info('general', `log server set by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  ...tlsDeclarations({
    path: '/config/syslog/tls',
    owner: 'this appliance as a client of the log server',
    log: 'log client',
    isOfCluster: false,
    exists: (request) => {
      if (!configurationOf(request).syslogTls.isOwn)
        throw new CofferError('notFound', 'No key for the log server was generated')
    },
    tlsOf: (request) => configurationOf(request).syslogTls,
  }),
]
