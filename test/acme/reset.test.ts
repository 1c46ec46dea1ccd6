// @test long 15
/** A factory reset leaves no setting of connections to others, no account, no certificate and no time of an order, and no bytes of them. */

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { DEFAULT_MAIL } from '../../firmware/configuration/mail.ts'
import { DEFAULT_OUTGOING } from '../../firmware/configuration/outgoing.ts'
import { DEFAULT_SYSLOG } from '../../firmware/configuration/syslog.ts'
import { ADMIN, expect, provision } from '../support/appliance.ts'
import { copyOpenStore } from '../support/open-store.ts'
import { makeDataDirectory } from '../support/process.ts'
import { needs } from '../support/tools.ts'
import { DIRECTORY } from './support/ca.ts'
import { joinCa, serveCa } from './support/served.ts'
import { acmeOf, certificateAt, choosePorts, isForNames, setAcme, startWhole, untilPort } from './support/whole.ts'

const NAMES = ['coffer.example.org']
const SECRETS = { mail: 'password-of-the-mail-server', eab: 'c2VjcmV0LW9mLXRoZS1leHRlcm5hbC1hY2NvdW50' }

/** Settings beside those of ACME; nobody answers there. */
const OTHERS: [path: string, json: object][] = [
  ['/config/outgoing', { resolvers: ['127.0.0.1:9'], proxyExcept: ['.example.net'] }],
  [
    '/config/mail',
    {
      ...{ server: 'localhost', port: 9, user: 'coffer', password: SECRETS.mail },
      ...{ from: 'coffer@example.org', to: ['admin@example.org'] },
    },
  ],
  ['/config/syslog', { server: 'localhost', port: 9, send: 'audit', fingerprints: [`sha-256${':0A'.repeat(32)}`] }],
]

/** Sealed records of the device area, as they lie on the disk. */
function sealedRecords(data: string): Buffer[] {
  const copy = mkdtempSync(join(data, '../coffer-copy-'))
  copyOpenStore(join(data, 'store'), copy)
  const database = new Sqlite(join(copy, 'store.db'))
  try {
    return database.prepare<[], Buffer>('SELECT sealed FROM device').pluck().all()
  } finally {
    database.close()
    rmSync(copy, { recursive: true })
  }
}

const filesOf = (data: string): Buffer[] =>
  readdirSync(data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name)))

test('a factory reset forgets ACME and all other connections', needs('openssl'), async (t) => {
  const served = await serveCa(t)
  const ports = await choosePorts()
  const data = makeDataDirectory(t)
  const coffer = await startWhole(t, ports, data)
  await coffer.see(/Unprovisioned/)
  await provision(coffer)
  await joinCa(coffer, served)
  const fresh = await acmeOf(coffer)
  await setAcme(coffer, { directory: DIRECTORY, contact: ['admin@example.org'], challenge: 'tls-alpn-01' })
  await setAcme(coffer, { eab: { kid: 'account-1', key: SECRETS.eab }, appliance: NAMES, chat: ['chat.example.org'] })
  await untilPort(coffer, 'appliance', ({ state }) => state === 'valid')
  const certificate = await certificateAt(ports.appliance)
  assert.ok(isForNames(certificate, NAMES))
  const { ca } = served
  const [accounts, orders] = [ca.accounts.length, ca.orders.length]
  assert.deepEqual([accounts, orders], [1, 1])
  for (const [path, json] of OTHERS) await expect(204, coffer.call('PUT', path, { as: ADMIN, json }))
  await expect(204, coffer.call('POST', '/config/syslog/tls/generate', { as: ADMIN, json: { type: 'EC_P256' } }))
  const key = readFileSync(join(data, 'device.key'))
  const sealed = [key, ...sealedRecords(data)]
  const secrets = Object.values(SECRETS).map((secret) => Buffer.from(secret))
  const isThere = (bytes: Buffer) => filesOf(data).some((file) => file.includes(bytes.subarray(0, 64)))
  assert.ok(sealed.length > 6 && sealed.every(isThere) && !secrets.some(isThere))

  await expect(204, coffer.call('POST', '/system/factory-reset', { as: ADMIN }))
  await coffer.see(/Unprovisioned/)
  const after = await certificateAt(ports.appliance)
  assert.ok(!isForNames(after, NAMES) && !after.publicKey.equals(certificate.publicKey))
  assert.ok(![...sealed, ...secrets].some(isThere))
  await provision(coffer)
  assert.deepEqual(await acmeOf(coffer), fresh)
  const shown = async (path: string) => (await expect(200, coffer.call('GET', path, { as: ADMIN }))).json()
  assert.deepEqual(await shown('/config/outgoing'), DEFAULT_OUTGOING)
  assert.deepEqual(await shown('/config/mail'), DEFAULT_MAIL)
  const off = { state: 'off', confirmed: 0, waiting: 0 }
  assert.deepEqual(await shown('/config/syslog'), { ...DEFAULT_SYSLOG, ...off })
  await expect(404, coffer.call('GET', '/config/syslog/tls/public.pem', { as: ADMIN }))
  await expect(
    400,
    coffer.call('PUT', '/config/acme', { as: ADMIN, json: { directory: DIRECTORY, eab: { kid: 'account-1' } } }),
  )
  assert.deepEqual([ca.accounts.length, ca.orders.length], [accounts, orders])

  // The same directory sees another account.
  await joinCa(coffer, served)
  await setAcme(coffer, { directory: DIRECTORY, challenge: 'tls-alpn-01', appliance: NAMES })
  await untilPort(coffer, 'appliance', ({ state }) => state === 'valid')
  assert.deepEqual([ca.accounts.length, ca.orders.length], [accounts + 1, orders + 1])
})
