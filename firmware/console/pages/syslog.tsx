/** The log server over TLS, and how far it has confirmed. */

import type * as T from '../../client/types.ts'
import type { Api } from '../api.ts'
import { Resource, wholeNumber } from '../parts/resource.tsx'
import * as words from '../words.ts'

export function Syslog({ api }: { api: Api }) {
  return (
    <Resource
      api={api}
      path="/config/syslog"
      title={words.syslog}
      about={words.syslogText}
      status={(value) => <p role="status">{words.syslogStatus(value as unknown as T.Syslog)}</p>}
      fields={{
        server: words.syslogServer,
        port: words.syslogPort,
        send: words.syslogSend,
        fingerprints: words.syslogFingerprints,
      }}
      hints={{ server: words.syslogServerHint, fingerprints: words.syslogFingerprintsHint }}
      choices={{
        send: [
          ['all', words.syslogSendAll],
          ['audit', words.syslogSendAudit],
          ['log', words.syslogSendLog],
        ],
      }}
      read={(value) => {
        const { server, port, send, fingerprints } = value as unknown as T.Syslog
        return { server: server ?? '', port: `${port}`, send, fingerprints: fingerprints.join(' ') }
      }}
      write={({ server = '', port, send, fingerprints = '' }) => ({
        server: server.trim() || null,
        port: wholeNumber(port, words.syslogPort),
        send,
        fingerprints: fingerprints.split(/[\s,]+/).filter(Boolean),
      })}
    />
  )
}
