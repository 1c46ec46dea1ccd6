/** Outgoing connections: contract section 4.7. */

import type { OutgoingChange } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { usage } from '../failure.ts'
import { readInput } from '../files.ts'

const roles = ['Administrator'] as const

const SETTINGS = {
  resolver: { value: 'ADDRESSES', summary: 'servers of names, separated by commas; empty for none' },
  proxy: { value: 'HOST:PORT', summary: 'HTTP proxy for TLS connections; empty for none' },
  'proxy-user': { value: 'NAME', summary: 'user of the proxy' },
  'proxy-password': { value: '@FILE', secret: true, summary: 'file that holds its password' },
  'proxy-except': { value: 'LIST', summary: 'hosts, .suffixes and CIDRs without proxy, separated by commas' },
  authorities: { value: 'FILE', summary: 'certificates (PEM) to trust; an empty file for none' },
  'public-authorities': { value: 'ON|OFF', choices: ['on', 'off'], summary: 'trust of the public authorities' },
} as const

export const OUTGOING: Command[] = [
  {
    words: 'config outgoing',
    summary: 'Show or set how the appliance reaches other hosts.',
    roles,
    options: SETTINGS,
    example: 'coffer config outgoing --resolver 192.168.1.2',
    run: async (context, input) => {
      const change = await changeOf(context, input)
      if (Object.keys(change).length > 0) return context.client().changeOutgoing(change)
      context.output.result(await context.client().outgoing())
    },
  },
  {
    words: 'config outgoing test',
    arguments: 'HOST PORT',
    summary: 'Test a connection of the appliance to a host; --plain leaves out TLS.',
    roles,
    options: { plain: { summary: 'without TLS' } },
    example: 'coffer config outgoing test acme.example.org 443',
    run: async ({ client, output }, input) => {
      const [host = '', port = ''] = input.arguments
      output.result(await client().testOutgoing({ host, port: portOf(port), tls: !input.flag('plain') }))
    },
  },
]

async function changeOf({ passphrase }: CommandContext, input: OptionValues): Promise<OutgoingChange> {
  const [resolver, except] = [listOf(input.text('resolver')), listOf(input.text('proxy-except'))]
  const authorities = input.text('authorities')
  const trust = input.text('public-authorities')
  const proxy = input.text('proxy')
  if (proxy === undefined && (input.text('proxy-user') ?? input.text('proxy-password')) !== undefined)
    throw usage('config outgoing: --proxy-user and --proxy-password need --proxy')
  return {
    ...(resolver !== undefined && { resolvers: resolver }),
    ...(except !== undefined && { proxyExcept: except }),
    ...(authorities !== undefined && { authorities: readInput(authorities).toString('utf8') }),
    ...(trust !== undefined && { publicAuthorities: trust === 'on' }),
    ...(proxy !== undefined && { proxy: proxy === '' ? null : await proxyOf(proxy) }),
  }

  async function proxyOf(place: string): Promise<NonNullable<OutgoingChange['proxy']>> {
    const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(place) ?? []
    if (host === undefined || port === undefined) throw usage('config outgoing: --proxy must be HOST:PORT')
    const user = input.text('proxy-user')
    const isSecret = input.text('proxy-password') !== undefined
    const password = isSecret ? await passphrase('proxy-password', 'Password of the proxy') : undefined
    return {
      host,
      port: portOf(port),
      ...(user !== undefined && { user }),
      ...(password !== undefined && { password }),
    }
  }
}

export const listOf = (text: string | undefined): string[] | undefined =>
  text
    ?.split(',')
    .map((one) => one.trim())
    .filter(Boolean)

function portOf(text: string): number {
  if (!/^\d+$/.test(text)) throw usage(`${text} is not a port`)
  return Number(text)
}
