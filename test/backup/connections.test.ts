/** Settings of all connections to others in backups: our own form brings every one, that of a NetHSM is the same without them. Contract section 8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { makeOperationalRig, type Rig } from '../support/in-process.ts'
import { furnishedRig, restoredElsewhere, setBackupPassphrase, takeBackup, unlock } from './rig.ts'

const PASSWORDS = { proxy: 'password-of-the-proxy', mail: 'password-of-the-mail-server' }
const { cert: authorities } = await makeTlsIdentity(systemRandom)

const SETTINGS: [path: string, json: object][] = [
  [
    '/config/outgoing',
    {
      resolvers: ['192.0.2.53', '[2001:db8::53]:5353'],
      proxy: { host: 'proxy.example.org', port: 3128, user: 'coffer', password: PASSWORDS.proxy },
      ...{ proxyExcept: ['.example.net', '192.0.2.0/24'], authorities, publicAuthorities: false },
    },
  ],
  [
    '/config/mail',
    {
      ...{ server: 'mail.example.org', port: 587, security: 'starttls', user: 'coffer', password: PASSWORDS.mail },
      ...{ from: 'coffer@example.org', to: ['one@example.org', 'two@example.org'], alerts: ['disk', 'syslog'] },
    },
  ],
  ['/config/syslog', { port: 6515, send: 'audit', fingerprints: [`sha-256${':0A'.repeat(32)}`] }],
  [
    '/config/acme',
    {
      ...{ directory: 'https://acme.example.org/directory', contact: ['admin@example.org'], termsAgreed: true },
      ...{ eab: { kid: 'one', key: 'c2VjcmV0LW9mLXRoZS1leHRlcm5hbC1hY2NvdW50' }, profile: 'shortlived' },
      ...{ challenge: 'tls-alpn-01', appliance: ['coffer.example.org'], chat: ['chat.example.org'] },
    },
  ],
]

async function setAll(rig: Rig): Promise<void> {
  for (const [path, json] of SETTINGS) assert.equal(await rig.status('PUT', path, { as: 'admin', json }), 204, path)
  rig.appliance.configuration.changeSyslog({ server: 'log.example.org' }) // the API needs a process for it
  const json = { type: 'EC_P256' }
  assert.equal(await rig.status('POST', '/config/syslog/tls/generate', { as: 'admin', json }), 204)
}

/** As each is shown, without what tells of attempts, and the secrets that are not. */
async function inventory(rig: Rig) {
  const shown: Record<string, unknown> = {}
  for (const [path] of SETTINGS) {
    const { ports, ...settings } = (await rig.call('GET', path, { as: 'admin' })).json()
    shown[path] = settings
  }
  const { outgoing, mail, syslogTls } = rig.appliance.configuration
  const key = syslogTls.identityIfAny && Buffer.from(syslogTls.identityIfAny.key).toString()
  return { shown, secrets: [outgoing.proxy?.password, mail.password, key] }
}

test('a full restore of our own form brings every setting with its secrets', async (t) => {
  const rig = await furnishedRig(t)
  const none = await inventory(rig)
  await setAll(rig)
  const before = await inventory(rig)
  for (const [path] of SETTINGS) assert.notDeepEqual(before.shown[path], none.shown[path])
  assert.deepEqual(before.secrets.slice(0, 2), [PASSWORDS.proxy, PASSWORDS.mail])
  const fresh = await restoredElsewhere(t, await takeBackup(rig, 'coffer'))
  await unlock(fresh)
  assert.deepEqual(await inventory(fresh), before)
})

test('the form of a NetHSM is the same byte for byte with all of them', async (t) => {
  let isFixed = false
  const random = (bytes: number) => (isFixed ? new Uint8Array(bytes).fill(7) : systemRandom(bytes))
  const rig = await makeOperationalRig({}, { random })
  t.after(rig.close)
  await rig.key('one')
  await setBackupPassphrase(rig)
  const take = async () => {
    isFixed = true
    const backup = await takeBackup(rig, 'nethsm').finally(() => {
      isFixed = false
    })
    return Buffer.from(backup).toString('hex')
  }
  const before = await take()
  await setAll(rig)
  assert.equal(await take(), before)
  const json = { ipAddress: '192.0.2.99', port: 514, logLevel: 'error' }
  assert.equal(await rig.status('PUT', '/config/logging', { as: 'admin', json }), 204)
  assert.notEqual(await take(), before, 'a setting that a NetHSM has is in it')
})
