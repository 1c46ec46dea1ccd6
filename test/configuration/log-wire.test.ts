/** The log at a real syslog server, from the running appliance: in order, whole, without secrets. Contract section 7.6. */

import assert from 'node:assert/strict'
import test, { before } from 'node:test'
import { ADMIN, ADMIN_PASSPHRASE, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { needs } from '../support/tools.ts'
import { type Line, startRsyslog } from './rsyslog.ts'

const { skip } = needs('rsyslogd')

let program: string
before(async () => {
  program = await buildForTests()
})

const OPERATOR_PASSPHRASE = 'passphrase of the operator'
const WRONG_PASSPHRASE = 'a wrong passphrase 123'
const MESSAGE = Buffer.from('the message nobody may log').toString('base64')
const QUERY_SECRET = 'backup-passphrase-in-the-query'
const SECRETS = [
  ...[UNLOCK_PASSPHRASE, ADMIN_PASSPHRASE, OPERATOR_PASSPHRASE, WRONG_PASSPHRASE, MESSAGE, QUERY_SECRET, 'Basic '],
  Buffer.from(ADMIN).toString('base64'),
  Buffer.from(`operator:${OPERATOR_PASSPHRASE}`).toString('base64'),
]

const SEVERITIES: Record<string, string> = { error: 'err', warning: 'warning', info: 'info', debug: 'debug' }

/** The lines of the console that bear a number, as a syslog server should have got them. */
function consoleLines(output: string): Line[] {
  const pattern = /^(error|warning|info|debug) *(\w+): (\[\d+\] .*)$/gm
  return [...output.matchAll(pattern)].map(([, level, source, text]) => ({
    facility: 'daemon',
    severity: SEVERITIES[level!]!,
    host: 'coffer',
    tag: `${source}:`,
    text: ` ${text}`,
  }))
}

const numberOf = ({ text }: Line): number => Number(/^ \[(\d+)\]/.exec(text)![1])

/** From its first line on, the server has exactly what the console has, in that order. */
async function assertSame(received: Line[], coffer: Coffer): Promise<void> {
  assert.ok(received.length > 0)
  const first = numberOf(received[0]!)
  const printed = () => consoleLines(coffer.output()).filter((line) => numberOf(line) >= first)
  while (printed().length < received.length) await new Promise((resolve) => setTimeout(resolve, 20))
  const shown = (lines: Line[]) => lines.map((line) => Object.values(line).join(' ')).join('\n')
  assert.equal(shown(received), shown(printed().slice(0, received.length)))
  assert.deepEqual(
    received.map(numberOf),
    received.map((_, i) => first + i),
  )
}

function assertNoSecrets(text: string): void {
  for (const secret of SECRETS) assert.ok(!text.includes(secret), `a log holds ${secret}`)
}

const logTo = (coffer: Coffer, port: number, logLevel = 'info') =>
  expect(204, coffer.call('PUT', '/config/logging', { as: ADMIN, json: { ipAddress: '127.0.0.1', port, logLevel } }))

test('what administrators, operators and strangers do arrives in order, without secrets, also before an unlock', {
  skip,
  timeout: 240_000,
}, async (t) => {
  const server = await startRsyslog(t)
  const data = makeDataDirectory(t)
  const probes = server.lines().length
  const coffer = startCoffer(t, { program, data, settings: { COFFER_HTTP_PORT: '0' } })
  await provision(coffer)
  await logTo(coffer, server.port)

  const json = { realName: 'Öp\nerator', role: 'Operator', passphrase: OPERATOR_PASSPHRASE }
  await expect(201, coffer.call('PUT', '/users/operator', { as: ADMIN, json }))
  await expect(204, coffer.call('PUT', '/users/operator/tags/web', { as: ADMIN }))
  const key = { id: 'k', type: 'Curve25519', mechanisms: ['EdDSA_Signature'], restrictions: { tags: ['web'] } }
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: key }))
  const sign = { as: `operator:${OPERATOR_PASSPHRASE}`, json: { mode: 'EdDSA', message: MESSAGE } }
  for (let i = 0; i < 20; i++) await expect(200, coffer.call('POST', '/keys/k/sign', sign))
  await expect(400, coffer.call('POST', '/keys/k/sign', { ...sign, json: { mode: 'ECDSA', message: MESSAGE } }))
  await expect(401, coffer.call('GET', '/users', { as: `admin:${WRONG_PASSPHRASE}`, from: '127.0.0.7' }))
  await expect(200, coffer.call('POST', '/keys/k/move', { as: ADMIN, json: { newId: 'k2' } }))
  await expect(204, coffer.call('PUT', '/namespaces/team', { as: ADMIN }))
  await expect(204, coffer.call('DELETE', '/namespaces/team', { as: ADMIN }))
  await expect(204, coffer.call('DELETE', '/keys/k2', { as: ADMIN }))
  // Whatever a restore makes of this: its query is secret.
  const restore = `/system/restore?backupPassphrase=${QUERY_SECRET}&systemTime=2026-11-21T12:00:00Z`
  const answer = await coffer.call('POST', restore, { as: ADMIN, body: 'not a backup' })
  assert.ok(answer.status >= 400, String(answer.status))
  const redirectPort = Number(/port (\d+) redirects/.exec(coffer.output())![1])
  const redirected = await fetch(`http://127.0.0.1:${redirectPort}/api/v1${restore}`, { redirect: 'manual' })
  assert.equal(redirected.status, 301)

  await server.see(/ log set to 127\.0\.0\.1 port \d+ level info by admin$/)
  await server.see(/^ \[\d+\] request PUT \/api\/v1\/users\/operator$/)
  assert.match((await server.see(/operator.*Operator/)).text, /Öp\\u000aerator/)
  await server.see(/operator from 127\.0\.0\.1: sign k: ok$/)
  await server.see(/operator from 127\.0\.0\.1: sign k: invalid$/)
  const failure = await server.see(/authentication of admin from 127\.0\.0\.7 failed/)
  assert.equal(failure.severity, 'warning')
  await server.see(/request POST \/api\/v1\/system\/restore$/)
  await server.see(/redirected POST|redirected GET/)
  assert.match(server.text(), /access:\| \[\d+\] response 204 response time \d+\.\d+\n/)
  await assertSame(server.lines().slice(probes), coffer)

  // The level counts at once.
  await logTo(coffer, server.port, 'warning')
  await expect(200, coffer.call('GET', '/namespaces', { as: ADMIN }))
  await expect(401, coffer.call('GET', '/namespaces', { as: `stranger:${WRONG_PASSPHRASE}`, from: '127.0.0.8' }))
  await server.see(/authentication of stranger/)
  await logTo(coffer, server.port, 'info')
  await server.see(/response 204/)
  assert.doesNotMatch(server.text(), /request GET \/api\/v1\/namespaces/)
  await assertSame(server.lines().slice(probes), coffer)

  // After a restart it goes on before anybody has unlocked, counting from 1.
  const before = server.lines().length
  assertNoSecrets(coffer.output())
  await coffer.stop()
  await new Promise((resolve) => setTimeout(resolve, 500)) // for the last words
  const stopped = server.lines().length
  const again = startCoffer(t, { program, data })
  const unlock = (passphrase: string) => again.call('POST', '/unlock', { json: { passphrase } })
  await expect(403, unlock(WRONG_PASSPHRASE))
  await server.see(/request POST \/api\/v1\/unlock$/)
  await server.see(/response 403/)
  const locked = server.lines().slice(stopped)
  assert.equal(numberOf(locked[0]!), 1)
  await assertSame(locked, again)
  await new Promise((resolve) => setTimeout(resolve, 1100)) // the limit on attempts
  await expect(204, unlock(UNLOCK_PASSPHRASE))
  await server.see(/state Operational/)
  assert.ok(before <= stopped)

  // A server that is gone, and one that was never there, are nobody's concern.
  await server.stop()
  for (let i = 0; i < 20; i++) await expect(200, again.call('GET', '/users', { as: ADMIN }))
  const nowhere = { ipAddress: '240.0.0.1', port: 9, logLevel: 'debug' }
  await expect(204, again.call('PUT', '/config/logging', { as: ADMIN, json: nowhere }))
  for (let i = 0; i < 20; i++) await expect(200, again.call('GET', '/users', { as: ADMIN }))
  assertNoSecrets(again.output())
  assertNoSecrets(server.text())
  assert.equal(await again.stop(), 0)
})
