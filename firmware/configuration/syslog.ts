/** Settings of the log server over TLS. Contract sections 4.7 and 7.6. */

export const SYSLOG_SELECTIONS = ['all', 'audit', 'log'] as const

export interface SyslogSettings {
  /** Host name or IP address; null: nothing is forwarded. */
  readonly server: string | null
  readonly port: number
  readonly send: (typeof SYSLOG_SELECTIONS)[number]
  /** In the form of RFC 5425 section 4.2.2; empty: authority and name of the server's certificate are verified. */
  readonly fingerprints: readonly string[]
}

export type SyslogChange = Partial<SyslogSettings>

const PORT = 6514 // RFC 5425 section 4.1

export const DEFAULT_SYSLOG: SyslogSettings = { server: null, port: PORT, send: 'all', fingerprints: [] }
