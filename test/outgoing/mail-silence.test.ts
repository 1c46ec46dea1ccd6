// @test long 60
/** The real process for outgoing connections gives up a mail server (aiosmtpd) that is silent, at whatever command. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needsMailServer, openAuthority, openMailServer } from './mail-server.ts'
import { openProcess } from './started.ts'

test('a server that is silent for thirty seconds is given up', needsMailServer(), async (t) => {
  const { root, issue } = openAuthority(t)
  const encode = (text: string) => new TextEncoder().encode(text)
  const { client } = await openProcess(t, { authorities: encode(root.pem) })
  const certificate = issue('localhost')
  const outcomes = await Promise.all(
    ['EHLO', 'MAIL', 'RCPT', 'DATA'].map(async (stage) => {
      const { port } = await openMailServer(t, { security: 'tls', certificate, answers: { [stage]: 'silence' } })
      const sent = client.mail({
        ...{ host: 'localhost', port, security: 'tls', login: null },
        ...{ from: 'coffer@example.org', to: ['admin@example.org'], message: encode('Subject: x\r\n\r\nbody\r\n') },
      })
      return sent.then(
        () => 'taken',
        ({ message }: Error) => message,
      )
    }),
  )
  assert.deepEqual(outcomes, Array(4).fill('it was silent for 30 seconds'))
})
