/** aiosmtpd, a published mail server, with certificates of an authority of the test. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Issued, Workshop } from '../configuration/authority.ts'
import { needs, needsPython, PYTHON } from '../support/tools.ts'

interface ReceivedMail {
  from: string
  to: string[]
  content: string
  tls: boolean
  login: string | null
  ehlo: string
}

export interface MailServer {
  port: number
  mails: ReceivedMail[]
  until(count: number): Promise<void>
}

interface MailServerOptions {
  security: 'tls' | 'starttls' | 'none'
  /** By stage: `EHLO`, `MAIL`, `RCPT`, `RCPT address`, `DATA`. A line, or `silence`. */
  answers?: Record<string, string>
  login?: [user: string, password: string]
  /** Mechanisms of logins that are not offered. */
  without?: string[]
  certificate?: Issued
}

/** The tests need the program, and openssl for certificates. */
export const needsMailServer = (): { skip: string | false } => {
  const python = needsPython()
  return python.skip === false ? { skip: needs('openssl').skip ?? false } : { skip: python.skip ?? false }
}

export function openAuthority(t: Pick<TestContext, 'after'>): { root: Issued; issue(name: string): Issued } {
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  const root = workshop.root('Root of the test')
  return {
    root,
    issue: (name) => {
      const kind = /^[\d.:]+$/.test(name) ? 'IP' : 'DNS'
      return workshop.issue({ name: 'mail server', issuer: root, extensions: [`subjectAltName=${kind}:${name}`] })
    },
  }
}

export async function openMailServer(
  t: Pick<TestContext, 'after'>,
  { certificate, ...options }: MailServerOptions,
): Promise<MailServer> {
  const files = certificate && { cert: certificate.certPath, key: certificate.keyPath }
  const child = spawn(PYTHON, [join(import.meta.dirname, 'smtpd.py'), JSON.stringify({ ...options, ...files })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })
  const [first] = await once(lines, 'line')
  const mails: ReceivedMail[] = []
  lines.on('line', (line) => mails.push(JSON.parse(line)))
  return {
    port: JSON.parse(first).port,
    mails,
    async until(count) {
      while (mails.length < count) await Promise.race([once(lines, 'line'), once(child, 'exit')]).then(() => nextTurn())
    },
  }
}
