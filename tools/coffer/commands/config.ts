/** Settings of the appliance: contract section 3.4. */

import type { Client } from '../../../firmware/client/client.ts'
import type { AuditSettings, Network } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { usage } from '../failure.ts'
import { readInput } from '../files.ts'
import { ACME } from './acme.ts'
import { SUBJECT, subjectOf } from './keys.ts'
import { OUTGOING } from './outgoing.ts'
import { timeOf } from './start.ts'
import { SYSLOG } from './syslog.ts'

const roles = ['Administrator'] as const
export const PASSPHRASES = {
  'new-passphrase': { short: 'n', value: '@FILE', secret: true, summary: 'file with the new passphrase' },
  'current-passphrase': { short: 'p', value: '@FILE', secret: true, summary: 'file with the current passphrase' },
} as const
export const NETWORK = {
  'ip-address': { short: 'a', value: 'ADDRESS', summary: 'IPv4 address' },
  netmask: { short: 'n', value: 'MASK', summary: 'netmask, for example 255.255.255.0' },
  gateway: { short: 'g', value: 'ADDRESS', summary: 'gateway; 0.0.0.0 for none' },
  'ipv6-cidr': { value: 'ADDRESS/BITS', summary: 'IPv6 address with prefix; default: none' },
  'ipv6-gateway': { value: 'ADDRESS', summary: 'IPv6 gateway' },
} as const
export const LOGGING = {
  'ip-address': { short: 'a', value: 'ADDRESS', summary: 'address of the log server; 0.0.0.0 for none' },
  port: { short: 'p', value: 'NUMBER', summary: 'port; default: 514' },
  'log-level': {
    short: 'l',
    value: 'LEVEL',
    choices: ['debug', 'info', 'warning', 'error'],
    summary: 'log level',
  },
} as const
export const NTP = {
  'ntp-ip': { short: 'a', value: 'ADDRESS', summary: 'address of the time server' },
  'nts-name': { short: 's', value: 'NAME', summary: 'name of the time server, for NTS' },
} as const
export const TLS_KEY = {
  type: { short: 't', value: 'TYPE', summary: 'RSA, EC_P256 or another type; default: EC_P256' },
  length: { short: 'l', value: 'BITS', summary: 'bits, for RSA' },
} as const

function onOff(
  words: string,
  summary: string,
  example: string,
  get: (api: Client) => Promise<{ status: string }>,
  set: (api: Client, status: 'on' | 'off') => Promise<void>,
): Command {
  return {
    words,
    arguments: '[on|off]',
    summary,
    roles,
    example,
    run: async ({ client, output }, { arguments: [status] }) => {
      if (status === 'on' || status === 'off') return set(client(), status)
      if (status !== undefined) throw usage(`${words}: on or off`)
      const value = await get(client())
      output.result(value, () => value.status)
    },
  }
}

/** The same of the appliance's own port and of the chat's. */
export function tlsCommands(
  prefix: string,
  port: string,
  calls: (api: Client) => {
    publicKey(): Promise<string>
    certificate(): Promise<string>
    set(pem: string): Promise<void>
    request(subject: ReturnType<typeof subjectOf>): Promise<string>
    generate(key: { type: string; length?: number }): Promise<void>
  },
): Command[] {
  return [
    {
      words: `${prefix} public`,
      summary: `Print the public key of ${port}.`,
      roles,
      example: `coffer ${prefix} public`,
      run: async ({ client, output }) => {
        const pem = await calls(client()).publicKey()
        output.result({ pem }, () => pem)
      },
    },
    {
      words: `${prefix} certificate get`,
      summary: `Print the certificates of ${port}.`,
      roles,
      options: { facts: { summary: 'names and dates instead of the certificates' } },
      example: `coffer ${prefix} certificate get --facts`,
      run: async ({ client, output }, input) => {
        const pem = await calls(client()).certificate()
        const { readCertificates } = await import('../../../firmware/client/certificate.ts')
        if (input.flag('facts')) output.result(readCertificates(pem))
        else output.result({ pem }, () => pem)
      },
    },
    {
      words: `${prefix} certificate set`,
      arguments: 'FILE',
      summary: `Set the certificates (PEM) of ${port}; new connections get them at once.`,
      roles,
      example: `coffer ${prefix} certificate set chain.pem`,
      run: ({ client }, { arguments: [file = ''] }) => calls(client()).set(readInput(file).toString('utf8')),
    },
    {
      words: `${prefix} csr`,
      summary: `Print a certificate request signed with the key of ${port}.`,
      roles,
      options: SUBJECT,
      example: `coffer ${prefix} csr --name coffer.example.org`,
      run: async ({ client, output }, input) => {
        const pem = await calls(client()).request(subjectOf(input))
        output.result({ pem }, () => pem)
      },
    },
    {
      words: `${prefix} generate`,
      summary: `Generate a new key with a self-signed certificate for ${port}.`,
      roles,
      options: TLS_KEY,
      example: `coffer ${prefix} generate --type EC_P256`,
      run: ({ client }, input) => calls(client()).generate(tlsKeyOf(input)),
    },
  ]
}

export const CONFIG: Command[] = [
  {
    words: 'config unlock-passphrase',
    summary: 'Change the unlock passphrase.',
    roles,
    options: PASSPHRASES,
    example: 'coffer config unlock-passphrase',
    run: changeUnlock,
  },
  {
    words: 'config backup-passphrase',
    summary: 'Set the backup passphrase.',
    roles,
    options: { ...PASSPHRASES, first: { summary: 'no backup passphrase is set yet: do not ask for it' } },
    example: 'coffer config backup-passphrase --first',
    run: changeBackup,
  },
  onOff(
    'config unattended-boot',
    'Show or set whether the appliance starts without the unlock passphrase.',
    'coffer config unattended-boot',
    (api) => api.unattendedBoot(),
    (api, status) => api.setUnattendedBoot({ status }),
  ),
  onOff(
    'config console',
    'Show or set whether the appliance serves the web console.',
    'coffer config console on',
    (api) => api.console(),
    (api, status) => api.setConsole({ status }),
  ),
  {
    words: 'config interfaces',
    summary: 'Show or set whether the appliance serves the transit API.',
    roles,
    options: {
      transit: { value: 'ON|OFF', choices: ['on', 'off'], summary: "OpenBao's transit API on or off" },
      'token-hours': { value: 'N', summary: 'lifetime of its login tokens; default: 24' },
    },
    example: 'coffer config interfaces --transit off',
    run: interfaces,
  },
  {
    words: 'config time',
    arguments: '[TIME]',
    summary: 'Show or set the time; "now" is the time of this computer.',
    roles,
    example: 'coffer config time now',
    run: async ({ client, output }, { arguments: [time] }) => {
      if (time !== undefined) return client().setTime(timeOf(time === 'now' ? undefined : time))
      const now = await client().time()
      output.result({ time: now }, () => now)
    },
  },
  {
    words: 'config network',
    summary: 'Show or set the address of the appliance.',
    roles,
    options: NETWORK,
    example: 'coffer config network',
    run: async (context, input) => {
      if (input.text('ip-address') !== undefined) return setNetwork(context, input)
      context.output.result(await context.client().network())
    },
  },
  {
    words: 'config ntp',
    summary: 'Show or set the time server; --off removes it.',
    roles,
    options: { ...NTP, off: { summary: 'no time server' } },
    example: 'coffer config ntp',
    run: async (context, input) => {
      const isSet = input.flag('off') || input.text('ntp-ip') !== undefined || input.text('nts-name') !== undefined
      if (isSet) return setNtp(context, input)
      context.output.result(await context.client().ntp())
    },
  },
  {
    words: 'config logging',
    summary: 'Show or set the log server and the level.',
    roles,
    options: LOGGING,
    example: 'coffer config logging --ip-address 0.0.0.0 --log-level info',
    run: async (context, input) => {
      if (input.text('ip-address') !== undefined) return setLogging(context, input)
      context.output.result(await context.client().logging())
    },
  },
  ...OUTGOING,
  ...ACME,
  SYSLOG,
  ...tlsCommands('config syslog tls', 'the appliance as a client of the log server', (api) => ({
    publicKey: () => api.syslogTlsPublicKey(),
    certificate: () => api.syslogTlsCertificate(),
    set: (pem) => api.setSyslogTlsCertificate(pem),
    request: (subject) => api.syslogTlsRequest(subject),
    generate: (key) => api.generateSyslogTlsKey(key),
  })),
  {
    words: 'config vocabulary',
    arguments: '[MEMBERS]',
    summary: 'Show or set the members of answers about keys: both, reference or original.',
    roles,
    example: 'coffer config vocabulary both',
    run: async ({ client, output }, { arguments: [members] }) => {
      if (members !== undefined) return client().setVocabulary(members)
      output.result(await client().vocabulary())
    },
  },
  {
    words: 'config audit',
    summary: 'Show or set how many lines the audit log keeps.',
    roles,
    options: {
      lines: { value: 'NUMBER', summary: 'lines of each kind' },
      changes: { value: 'NUMBER', summary: 'lines of changes' },
      refusals: { value: 'NUMBER', summary: 'lines of refusals' },
      uses: { value: 'NUMBER', summary: 'lines of uses of keys' },
      'when-full': {
        value: 'WHAT',
        choices: ['overwrite', 'refuse'],
        summary: 'what to do with uses if their log is full',
      },
    },
    example: 'coffer config audit',
    run: async ({ client, output }, input) => {
      const numbers = ['lines', 'changes', 'refusals', 'uses'].map((name) => [name, input.number(name)] as const)
      const known = Object.fromEntries(numbers.filter(([, value]) => value !== undefined)) as AuditSettings
      const whenFull = input.text('when-full')
      const settings = { ...known, ...(whenFull !== undefined && { whenFull }) }
      if (Object.keys(settings).length > 0) return client().setAuditSettings(settings)
      output.result(await client().auditSettings())
    },
  },
  ...tlsCommands('config tls', 'the appliance’s port', (api) => ({
    publicKey: () => api.tlsPublicKey(),
    certificate: () => api.tlsCertificate(),
    set: (pem) => api.setTlsCertificate(pem),
    request: (subject) => api.tlsRequest(subject),
    generate: (key) => api.generateTlsKey(key),
  })),
]

export async function changeUnlock({ client, passphrase }: CommandContext): Promise<void> {
  const currentPassphrase = await passphrase('current-passphrase', 'Current unlock passphrase')
  const newPassphrase = await passphrase('new-passphrase', 'New unlock passphrase', true)
  await client().setUnlockPassphrase({ newPassphrase, currentPassphrase })
}

export async function changeBackup({ client, passphrase, input }: CommandContext): Promise<void> {
  const currentPassphrase = input.flag('first')
    ? ''
    : await passphrase('current-passphrase', 'Current backup passphrase')
  const newPassphrase = await passphrase('new-passphrase', 'New backup passphrase', true)
  await client().setBackupPassphrase({ newPassphrase, currentPassphrase })
}

export function setNetwork({ client }: CommandContext, input: OptionValues): Promise<void> {
  const cidr = input.text('ipv6-cidr')
  const network: Network = {
    ipAddress: needed(input, 'ip-address'),
    netmask: needed(input, 'netmask'),
    gateway: input.text('gateway') ?? '0.0.0.0',
    ...(cidr !== undefined && { ipv6: { cidr, gateway: input.text('ipv6-gateway') ?? null } }),
  }
  return client().setNetwork(network)
}

export function setNtp({ client }: CommandContext, input: OptionValues): Promise<void> {
  const ntpIP = input.text('ntp-ip')
  const ntsName = input.text('nts-name')
  return client().setNtp({ ...(ntpIP !== undefined && { ntpIP }), ...(ntsName !== undefined && { ntsName }) })
}

const SYSLOG_PORT = 514

export const setLogging = ({ client }: CommandContext, input: OptionValues): Promise<void> =>
  client().setLogging({
    ipAddress: needed(input, 'ip-address'),
    port: input.number('port') ?? SYSLOG_PORT,
    logLevel: input.text('log-level') ?? 'info',
  })

export function tlsKeyOf(input: OptionValues): { type: string; length?: number } {
  const length = input.number('length')
  return { type: input.text('type') ?? 'EC_P256', ...(length !== undefined && { length }) }
}

function needed(input: OptionValues, name: string): string {
  const value = input.text(name)
  if (value === undefined) throw usage(`--${name} is missing`)
  return value
}

async function interfaces({ client, output }: CommandContext, input: OptionValues): Promise<void> {
  const api = client()
  const now = await api.interfaces()
  const transit = input.text('transit') as typeof now.transit | undefined
  const tokenHours = input.number('token-hours')
  if (transit === undefined && tokenHours === undefined) return output.result(now)
  await api.setInterfaces({ transit: transit ?? now.transit, tokenHours: tokenHours ?? now.tokenHours })
}
