/** Settings of the appliance: contract section 3.4. */

import type { Client } from '../../../firmware/client/client.ts'
import type { AuditSettings, Network } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { usage } from '../failure.ts'
import { readInput } from '../files.ts'
import { SUBJECT, subjectOf } from './keys.ts'
import { timeOf } from './start.ts'

const roles = ['Administrator'] as const
export const PASSPHRASES = {
  'new-passphrase': { short: 'n', value: '@FILE', secret: true, summary: 'where the new one is read from' },
  'current-passphrase': { short: 'p', value: '@FILE', secret: true, summary: 'where the current one is read from' },
} as const
export const NETWORK = {
  'ip-address': { short: 'a', value: 'ADDRESS', summary: 'IPv4' },
  netmask: { short: 'n', value: 'MASK', summary: 'such as 255.255.255.0' },
  gateway: { short: 'g', value: 'ADDRESS', summary: '0.0.0.0 is none' },
  'ipv6-cidr': { value: 'ADDRESS/BITS', summary: 'IPv6; none if left out' },
  'ipv6-gateway': { value: 'ADDRESS', summary: 'of IPv6' },
} as const
export const LOGGING = {
  'ip-address': { short: 'a', value: 'ADDRESS', summary: 'of the log server; 0.0.0.0 is none' },
  port: { short: 'p', value: 'NUMBER', summary: '514 if left out' },
  'log-level': {
    short: 'l',
    value: 'LEVEL',
    choices: ['debug', 'info', 'warning', 'error'],
    summary: 'how much of it',
  },
} as const
export const NTP = {
  'ntp-ip': { short: 'a', value: 'ADDRESS', summary: 'of the time server' },
  'nts-name': { short: 's', value: 'NAME', summary: 'its name, for NTS' },
} as const
export const TLS_KEY = {
  type: { short: 't', value: 'TYPE', summary: 'RSA, EC_P256 and others; EC_P256 if left out' },
  length: { short: 'l', value: 'BITS', summary: 'of RSA' },
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
      summary: `Prints the public key of ${port}.`,
      roles,
      example: `coffer ${prefix} public`,
      run: async ({ client, output }) => {
        const pem = await calls(client()).publicKey()
        output.result({ pem }, () => pem)
      },
    },
    {
      words: `${prefix} certificate get`,
      summary: `Prints the certificates of ${port}.`,
      roles,
      options: { facts: { summary: 'their names and dates instead' } },
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
      summary: `Sets the certificates (PEM) of ${port}; new connections get them at once.`,
      roles,
      example: `coffer ${prefix} certificate set chain.pem`,
      run: ({ client }, { arguments: [file] }) => calls(client()).set(readInput(file!).toString('utf8')),
    },
    {
      words: `${prefix} csr`,
      summary: `Prints a certificate request signed with the key of ${port}.`,
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
      summary: `Makes a new key with a self-signed certificate for ${port}.`,
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
    summary: 'Changes the unlock passphrase.',
    roles,
    options: PASSPHRASES,
    example: 'coffer config unlock-passphrase',
    run: changeUnlock,
  },
  {
    words: 'config backup-passphrase',
    summary: 'Sets the passphrase that opens backups.',
    roles,
    options: { ...PASSPHRASES, first: { summary: 'there is none yet: the current one is not asked for' } },
    example: 'coffer config backup-passphrase --first',
    run: changeBackup,
  },
  onOff(
    'config unattended-boot',
    'Shows or sets whether it starts without the unlock passphrase.',
    'coffer config unattended-boot',
    (api) => api.unattendedBoot(),
    (api, status) => api.setUnattendedBoot({ status }),
  ),
  onOff(
    'config console',
    'Shows or sets whether it serves the page for browsers.',
    'coffer config console on',
    (api) => api.console(),
    (api, status) => api.setConsole({ status }),
  ),
  {
    words: 'config time',
    arguments: '[TIME]',
    summary: 'Shows or sets the time; "now" is that of this computer.',
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
    summary: 'Shows or sets the address of the appliance.',
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
    summary: 'Shows or sets the time server; without an address and with --off there is none.',
    roles,
    options: { ...NTP, off: { summary: 'none' } },
    example: 'coffer config ntp',
    run: async (context, input) => {
      const isSet = input.flag('off') || input.text('ntp-ip') !== undefined || input.text('nts-name') !== undefined
      if (isSet) return setNtp(context, input)
      context.output.result(await context.client().ntp())
    },
  },
  {
    words: 'config logging',
    summary: 'Shows or sets where the log goes.',
    roles,
    options: LOGGING,
    example: 'coffer config logging --ip-address 0.0.0.0 --log-level info',
    run: async (context, input) => {
      if (input.text('ip-address') !== undefined) return setLogging(context, input)
      context.output.result(await context.client().logging())
    },
  },
  {
    words: 'config vocabulary',
    arguments: '[MEMBERS]',
    summary: 'Shows or sets the members of answers about keys: both, reference or original.',
    roles,
    example: 'coffer config vocabulary both',
    run: async ({ client, output }, { arguments: [members] }) => {
      if (members !== undefined) return client().setVocabulary(members)
      output.result(await client().vocabulary())
    },
  },
  {
    words: 'config audit',
    summary: 'Shows or sets how many lines the audit log keeps.',
    roles,
    options: {
      lines: { value: 'NUMBER', summary: 'of each kind' },
      changes: { value: 'NUMBER', summary: 'of changes' },
      refusals: { value: 'NUMBER', summary: 'of what was refused' },
      uses: { value: 'NUMBER', summary: 'of uses of keys' },
      'when-full': {
        value: 'WHAT',
        choices: ['overwrite', 'refuse'],
        summary: 'what happens to uses when it is full of them',
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
