/** Conditions that need attention, and where they are mailed: contract section 7.10. */

import type { MailChange } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { listOf } from './outgoing.ts'

const roles = ['Administrator'] as const

const SETTINGS = {
  server: { value: 'HOST', summary: 'mail server; empty for none' },
  port: { value: 'NUMBER', summary: 'its port; default: 465' },
  security: {
    value: 'KIND',
    choices: ['tls', 'starttls', 'none'],
    summary: 'none for a server on the same computer only',
  },
  user: { value: 'NAME', summary: 'user to log in as; empty for none' },
  password: { value: '@FILE', secret: true, summary: 'file that holds the password' },
  from: { value: 'ADDRESS', summary: 'sender' },
  to: { value: 'ADDRESSES', summary: 'recipients, separated by commas' },
  alerts: { value: 'IDS', summary: 'alerts to mail, separated by commas; "all" for all' },
} as const

export const ALERTS: Command[] = [
  {
    words: 'alerts',
    summary: 'List the conditions that need attention.',
    roles,
    example: 'coffer alerts',
    run: async ({ client, output }) => output.result(await client().alerts()),
  },
  {
    words: 'config mail',
    summary: 'Show or set where alerts are mailed.',
    roles,
    options: SETTINGS,
    example: 'coffer config mail --server mail.example.org --from coffer@example.org --to admin@example.org',
    run: async (context, input) => {
      const change = await changeOf(context, input)
      if (Object.keys(change).length > 0) return context.client().changeMail(change)
      context.output.result(await context.client().mail())
    },
  },
  {
    words: 'config mail test',
    summary: 'Send a mail that says that it is a test.',
    roles,
    example: 'coffer config mail test',
    run: async ({ client, output }) => output.result(await client().testMail()),
  },
]

async function changeOf({ passphrase }: CommandContext, input: OptionValues): Promise<MailChange> {
  const [server, security, from] = [input.text('server'), input.text('security'), input.text('from')]
  const [user, alerts] = [input.text('user'), input.text('alerts')]
  const [port, to] = [input.number('port'), listOf(input.text('to'))]
  const hasPassword = input.text('password') !== undefined
  const password = hasPassword ? await passphrase('password', 'Password of the mail server') : undefined
  return {
    ...(server !== undefined && { server: server || null }),
    ...(port !== undefined && { port }),
    ...(security !== undefined && { security }),
    ...(user !== undefined && { user: user || null }),
    ...(password !== undefined && { password }),
    ...(from !== undefined && { from: from || null }),
    ...(to !== undefined && { to }),
    ...(alerts !== undefined && { alerts: alerts === 'all' ? null : (listOf(alerts) ?? []) }),
  }
}
