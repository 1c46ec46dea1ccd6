/** The log server over TLS: contract section 4.7. */

import type { SyslogChange } from '../../../firmware/client/types.ts'
import type { Command, OptionValues } from '../command.ts'
import { listOf } from './outgoing.ts'

const roles = ['Administrator'] as const

export const SYSLOG: Command = {
  words: 'config syslog',
  summary: 'Show or set the log server that gets the audit log and the system log over TLS.',
  roles,
  options: {
    server: { value: 'HOST', summary: 'log server; empty for none' },
    port: { value: 'NUMBER', summary: 'its port; default: 6514' },
    send: { value: 'WHAT', choices: ['all', 'audit', 'log'], summary: 'which log; default: all' },
    fingerprint: {
      value: 'LIST',
      summary: 'fingerprints of its certificate, such as sha-256:0A:1B:..., separated by commas; empty for none',
    },
  },
  example: 'coffer config syslog --server log.example.org --send audit',
  run: async (context, input) => {
    const change = changeOf(input)
    if (Object.keys(change).length > 0) return context.client().changeSyslog(change)
    context.output.result(await context.client().syslog())
  },
}

function changeOf(input: OptionValues): SyslogChange {
  const [server, port, send] = [input.text('server'), input.number('port'), input.text('send')]
  const fingerprints = listOf(input.text('fingerprint'))
  return {
    ...(server !== undefined && { server: server || null }),
    ...(port !== undefined && { port }),
    ...(send !== undefined && { send }),
    ...(fingerprints !== undefined && { fingerprints }),
  }
}
