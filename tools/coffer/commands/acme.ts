/** Certificates from a certificate authority: contract section 4.7. */

import type { AcmeChange } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { usage } from '../failure.ts'
import { listOf } from './outgoing.ts'

const roles = ['Administrator'] as const

const SETTINGS = {
  directory: { value: 'URL', summary: 'directory of the CA; empty for none' },
  contact: { value: 'ADDRESSES', summary: 'mail addresses for the CA, separated by commas; empty for none' },
  'agree-terms': { value: 'YES|NO', choices: ['yes', 'no'], summary: 'agreement to the terms of the CA' },
  challenge: { value: 'TYPE', choices: ['http-01', 'tls-alpn-01'], summary: 'how the CA validates names' },
  'acme-profile': { value: 'NAME', summary: 'profile of the CA, such as shortlived; empty for none' },
  appliance: { value: 'NAMES', summary: 'names for the port of the appliance, separated by commas; empty for none' },
  chat: { value: 'NAMES', summary: 'names for the port of the chat, separated by commas; empty for none' },
  'eab-kid': { value: 'ID', summary: 'external account that the CA has given; empty for none' },
  'eab-key': { value: '@FILE', secret: true, summary: 'file that holds its key in base64url' },
} as const

export const ACME: Command[] = [
  {
    words: 'config acme',
    summary: 'Show or set how certificates are ordered from a CA.',
    roles,
    options: SETTINGS,
    example:
      'coffer config acme --directory https://acme.example.org/directory --challenge tls-alpn-01 --appliance coffer.example.org',
    run: async (context, input) => {
      const change = await changeOf(context, input)
      if (Object.keys(change).length > 0) return context.client().changeAcme(change)
      context.output.result(await context.client().acme())
    },
  },
  {
    words: 'config acme renew',
    arguments: 'PORT',
    summary: 'Order a certificate now, for appliance or chat.',
    roles,
    example: 'coffer config acme renew appliance',
    run: async ({ client }, { arguments: [port = ''] }) => {
      if (port !== 'appliance' && port !== 'chat') throw usage('config acme renew: appliance or chat')
      await client().renewCertificate(port)
    },
  },
]

async function changeOf({ passphrase }: CommandContext, input: OptionValues): Promise<AcmeChange> {
  const [directory, profile, kid] = [input.text('directory'), input.text('acme-profile'), input.text('eab-kid')]
  const [contact, appliance, chat] = (['contact', 'appliance', 'chat'] as const).map((name) => listOf(input.text(name)))
  const [terms, challenge] = [input.text('agree-terms'), input.text('challenge')]
  const hasKey = input.text('eab-key') !== undefined
  if (hasKey && !kid) throw usage('config acme: --eab-key needs --eab-kid')
  const key = hasKey ? await passphrase('eab-key', 'Key of the external account') : undefined
  return {
    ...(directory !== undefined && { directory: directory || null }),
    ...(contact && { contact }),
    ...(terms !== undefined && { termsAgreed: terms === 'yes' }),
    ...(challenge !== undefined && { challenge }),
    ...(profile !== undefined && { profile: profile || null }),
    ...(appliance && { appliance }),
    ...(chat && { chat }),
    ...(kid !== undefined && { eab: kid === '' ? null : { kid, ...(key !== undefined && { key }) } }),
  }
}
