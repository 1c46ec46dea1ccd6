/** `/config/network`, `/config/ntp` and `/config/logging`. Contract sections 3.4 and 4.7. */

import { isIP, isIPv4, isIPv6 } from 'node:net'
import * as z from 'zod'
import { CofferError } from '../../base/error.ts'
import type { Network, Ntp } from '../../channel/protocol.ts'
import { networkProblem } from '../../configuration/network-check.ts'
import { integer } from './schema.ts'
import { declare, EMPTY, OPERATIONAL, ROOT_ADMINISTRATORS, type Services } from './services.ts'

const ipv4 = z.string().refine(isIPv4, 'not an IPv4 address').meta({ format: 'ipv4' })
const ipv6 = z
  .string()
  .refine((text) => isIPv6(text) && !text.includes('%'), 'not an IPv6 address') // a zone has no meaning on other machines
  .meta({ format: 'ipv6' })

const NO_GATEWAY = '0.0.0.0'
const PREFIX = /^([^/]*)\/(\d|[1-9]\d|1[01]\d|12[0-8])$/

const cidr = z
  .string()
  .refine((text) => ipv6.safeParse(PREFIX.exec(text)?.[1]).success, 'not an IPv6 address with the length of its prefix')
  .meta({ examples: ['2001:db8::10/64'] })

const networkFields = z.object({
  ipAddress: ipv4,
  netmask: ipv4.refine(isContiguous, 'not contiguous'),
  gateway: ipv4,
  ipv6: z.strictObject({ cidr, gateway: ipv6.nullable() }).optional(),
})

const network = networkFields
  .extend({ gateway: ipv4.optional(), ipv6: networkFields.shape.ipv6.nullable() })
  .strict()
  .meta({
    id: 'SetNetwork',
    examples: [{ ipAddress: '192.168.1.1', netmask: '255.255.255.0', gateway: '192.168.1.254' }],
  })
  .transform(
    ({ ipAddress, netmask, gateway = NO_GATEWAY, ipv6 }): Network => ({
      ipAddress,
      netmask,
      gateway,
      ...(ipv6 && { ipv6 }),
    }),
  )

const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/

const ntp = z
  .strictObject({
    ntpIP: z
      .string()
      .refine((text) => text === '' || isIPv4(text) || ipv6.safeParse(text).success, 'not an IP address')
      .optional()
      .meta({ description: 'IPv4 or IPv6 address of the time server; empty is absent.' }),
    ntsName: z
      .string()
      .refine((text) => text === '' || HOST_NAME.test(text), 'not a host name')
      .optional()
      .meta({
        description: 'Its host name, if it speaks NTS: its certificate must be for this name. Empty is absent.',
      }),
  })
  .meta({ id: 'Ntp', examples: [{ ntpIP: '192.168.1.2', ntsName: 'time.example.org' }] })

/** The reference uses empty texts for missing values. */
const setNtp = ntp.transform(
  ({ ntpIP, ntsName }): Ntp => ({
    ...(ntpIP && { ntpIP }),
    ...(ntsName && { ntsName }),
  }),
)

const logging = z
  .strictObject({
    ipAddress: z
      .string()
      .refine((text) => isIP(text) !== 0, 'not an IP address')
      .meta({ description: 'IPv4 or IPv6; 0.0.0.0 sends nothing.' }),
    port: integer(0, 65535).meta({ description: '0 sends nothing.' }),
    logLevel: z.enum(['debug', 'info', 'warning', 'error']),
  })
  .meta({ id: 'Logging', examples: [{ ipAddress: '192.168.1.3', port: 514, logLevel: 'info' }] })

const configurationOf = ({ services }: { services: Services }) => services.appliance.configuration
const networkVersion = (request: { services: Services }) => JSON.stringify(configurationOf(request).network)
const ntpVersion = (request: { services: Services }) => JSON.stringify(configurationOf(request).ntp)
const loggingVersion = (request: { services: Services }) => JSON.stringify(configurationOf(request).logging)

export const configNetworkDeclarations = [
  declare({
    method: 'GET',
    path: '/config/network',
    summary: "The device's address.",
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: networkVersion,
    answers: { status: 200, json: networkFields.meta({ id: 'Network' }) },
    handle: (request) => ({ status: 200, json: configurationOf(request).network }),
  }),
  declare({
    method: 'PUT',
    path: '/config/network',
    summary: "Sets the device's address, which is then applied, on a device only.",
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: networkVersion,
    creates: true,
    body: { kind: 'json', schema: network },
    facts: ({ body }) => ({ ipAddress: body.ipAddress, netmask: body.netmask, gateway: body.gateway }),
    answers: EMPTY,
    errors: {
      400: 'Not an address, a netmask that is not contiguous, or settings under which the device could not be reached.',
      412: 'In a cluster: the TLS certificate is not for that address.',
    },
    handle: async ({ services, caller, body }) => {
      const problem = networkProblem(body, { allowLoopback: !services.appliesNetwork })
      if (problem !== null) throw new CofferError('invalid', problem)
      await services.appliance.cluster.members.moveTo(body)
      services.log.info('general', `network set to ${body.ipAddress} ${body.netmask} by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'GET',
    path: '/config/ntp',
    summary: 'The time server of the device.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: ntpVersion,
    answers: { status: 200, json: ntp },
    handle: (request) => ({ status: 200, json: configurationOf(request).ntp }),
  }),
  declare({
    method: 'PUT',
    path: '/config/ntp',
    summary: 'Sets the time server of the device, for NTP or, with a name, NTS; applied on a device only.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: ntpVersion,
    creates: true,
    body: { kind: 'json', schema: setNtp },
    facts: ({ body }) => ({ ...body }),
    answers: EMPTY,
    errors: { 400: 'Not an address, or not a host name.' },
    handle: (request) => {
      const { services, caller, body } = request
      configurationOf(request).setNtp(body)
      const { ntsName = '', ntpIP = '' } = body
      services.log.info('general', `time server set to ${`${ntsName} ${ntpIP}`.trim() || 'none'} by ${caller.userId}`)
      return { status: 204 }
    },
  }),
  declare({
    method: 'GET',
    path: '/config/logging',
    summary: 'Where the log goes, and how much of it.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: loggingVersion,
    answers: { status: 200, json: logging },
    handle: (request) => ({ status: 200, json: configurationOf(request).logging }),
  }),
  declare({
    method: 'PUT',
    path: '/config/logging',
    summary: 'Sets where the log goes, and how much of it; applied at once.',
    states: OPERATIONAL,
    access: ROOT_ADMINISTRATORS,
    version: loggingVersion,
    creates: true,
    body: { kind: 'json', schema: logging },
    facts: ({ body }) => ({ ipAddress: body.ipAddress, port: String(body.port), logLevel: body.logLevel }),
    answers: EMPTY,
    errors: { 400: 'Not an address, port or level.' },
    handle: (request) => {
      const { services, caller, body } = request
      const { ipAddress, port, logLevel } = body
      configurationOf(request).setLogging(body)
      services.log.info('general', `log set to ${ipAddress} port ${port} level ${logLevel} by ${caller.userId}`)
      return { status: 204 }
    },
  }),
]

function isContiguous(netmask: string): boolean {
  const zeros = netmask.split('.').reduce((bits, byte) => bits * 256 + (255 - Number(byte)), 0)
  return Number.isInteger(Math.log2(zeros + 1))
}
