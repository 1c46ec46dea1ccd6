/** `/config/mail`: where alerts are mailed. Contract sections 3.4 and 4.7. */

import * as z from 'zod'
import { ALERT_IDS } from '../../alerts/conditions.ts'
import { CofferError } from '../../base/error.ts'
import { MAIL_SECURITY, type MailChange, type MailSettings } from '../../configuration/mail.ts'
import { loopbackOf } from '../../outgoing/hosts.ts'
import { MAIL_ADDRESS } from '../../outgoing/mail-address.ts'
import { host } from './config-outgoing.ts'
import { integer, text } from './schema.ts'
import { changedMembers, declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const ADDRESS_BYTES_MAX = 254 // RFC 5321 section 4.5.3.1.3
const RECIPIENTS_MAX = 10
const USER_BYTES_MAX = 254
const PASSWORD_BYTES_MAX = 256

const address = text(3, ADDRESS_BYTES_MAX).regex(MAIL_ADDRESS, 'must be a mail address in ASCII, such as a@example.org')
const withoutRepetition = (list: readonly string[]): boolean => new Set(list).size === list.length

const common = {
  server: host.nullable().meta({ description: 'Null: nothing is mailed.' }),
  port: integer(1, 65_535),
  security: z.enum(MAIL_SECURITY).meta({ description: '`none` for a server on the same computer only.' }),
  user: text(1, USER_BYTES_MAX)
    .regex(/^[^\p{Cc}]+$/u, 'must have no control characters')
    .nullable(),
  from: address.nullable(),
  to: z.array(address).max(RECIPIENTS_MAX).refine(withoutRepetition, 'must not repeat'),
  alerts: z
    .array(z.enum(ALERT_IDS))
    .max(ALERT_IDS.length)
    .refine(withoutRepetition, 'must not repeat')
    .nullable()
    .meta({ description: 'Those that are mailed; null for all.' }),
}

const settings = z
  .strictObject({ ...common, password: z.literal(true).optional() })
  .meta({ id: 'Mail', description: '`password` is true where one is set.' })

const change = z
  .strictObject({
    ...common,
    password: text(1, PASSWORD_BYTES_MAX).nullable().meta({
      format: 'password',
      description: 'Absent: stays for the same server, port and user. Null: none.',
    }),
  })
  .partial()
  .refine((value) => Object.keys(value).length > 0, 'at least one member')
  .meta({
    id: 'MailChange',
    examples: [{ server: 'mail.example.org', from: 'coffer@example.org', to: ['admin@example.org'] }],
  })

const outcome = z
  .strictObject({ problem: z.string().optional().meta({ description: 'Why the mail was not taken.' }) })
  .meta({ id: 'MailOutcome' })

const settingsOf = ({ services }: { services: Services }): MailSettings => services.appliance.configuration.mail

function show(request: { services: Services }): z.infer<typeof settings> {
  const { password, to, alerts, ...others } = settingsOf(request)
  return {
    ...others,
    to: [...to],
    alerts: alerts && ALERT_IDS.filter((id) => alerts.includes(id)),
    ...(password !== undefined && { password: true as const }),
  }
}

/** Without the password, which the tag of an answer must not help to guess. */
const version = (request: { services: Services }) => JSON.stringify(show(request))

/** Throws `invalid`: what is sent without TLS stays on this computer. */
function expectSecure({ server, security }: MailSettings, change: MailChange): void {
  const after = { server, security, ...change }
  if (after.security === 'none' && after.server !== null && loopbackOf(after.server) === undefined)
    throw new CofferError('invalid', 'security: only localhost, 127.0.0.1 and ::1 are sent mail without TLS')
}

export const configMailDeclarations = [
  declare({
    method: 'GET',
    path: '/config/mail',
    summary: 'Where alerts are mailed.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    answers: { status: 200, json: settings },
    handle: (request) => ({ status: 200, json: show(request) }),
  }),
  declare({
    method: 'PUT',
    path: '/config/mail',
    summary: 'Sets what is given and leaves the rest. Alerts that hold are mailed anew.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version,
    creates: true,
    body: { kind: 'json', schema: change },
    facts: changedMembers,
    answers: EMPTY,
    errors: { 400: 'Something of it cannot be taken.' },
    handle: (request) => {
      const { services, caller } = request
      const body = request.body as MailChange
      expectSecure(settingsOf(request), body)
      services.appliance.configuration.changeMail(body)
      services.log.info('general', `mail of alerts set by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'POST',
    path: '/config/mail/test',
    summary: 'Sends a mail that says that it is a test, and says how that went.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    noCache: true,
    answers: { status: 200, json: outcome },
    errors: {
      412: 'No server is set, or the boot manager is too old for outgoing connections.',
      429: 'Within 10 seconds of the last time.',
    },
    handle: async ({ services: { alerts } }) => {
      if (alerts === undefined) throw new CofferError('unavailable', 'There are no connections to other hosts here')
      const problem = await alerts.mail.test()
      return { status: 200, json: problem === null ? {} : { problem } }
    },
  }),
]
