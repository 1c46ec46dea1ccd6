/** Mails of a real appliance by the real process for outgoing connections to aiosmtpd: while Locked, and without the names of what it holds. */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sign } from '../backup/rig.ts'
import { type MailServer, needsMailServer, openAuthority, openMailServer } from '../outgoing/mail-server.ts'
import { openProcess } from '../outgoing/started.ts'
import { type AlertRig, GIB, HOUR_MS, MINUTE_MS, openAlerts } from './rig.ts'

const TICK_MS = 10_000

/** A server whose authority the process trusts, and an appliance that knows it. */
async function open(t: TestContext) {
  const { root, issue } = openAuthority(t)
  const server = await openMailServer(t, {
    ...{ security: 'starttls', certificate: issue('localhost') },
    login: ['coffer', 'password-of-the-mail-server'],
  })
  const { client } = await openProcess(t, { authorities: new TextEncoder().encode(root.pem) })
  const outgoing = { mail: client.mail, isDown: false }
  const opened = await openAlerts(t, { outgoing })
  await furnish(opened)
  const json = {
    ...{ server: 'localhost', port: server.port, security: 'starttls' },
    ...{ user: 'coffer', password: 'password-of-the-mail-server' },
    ...{ from: 'coffer@example.org', to: ['admin@example.org'] },
  }
  assert.equal(await opened.rig.status('PUT', '/config/mail', { as: 'admin', json }), 204)
  return { opened, server, outgoing }
}

const NAMES = ['zebra-key', 'zebra-user', 'zebra-namespace', 'zebra-tag', 'zebra-label', 'zebra-real-name']

async function furnish({ rig }: AlertRig): Promise<void> {
  await rig.user('zebra-user', 'Operator')
  await rig.user('zebra-namespace~zebra-user', 'Administrator')
  await rig.call('PUT', '/namespaces/zebra-namespace', { as: 'admin' })
  await rig.call('PUT', '/users/operator/tags/zebra-tag', { as: 'admin' })
  await rig.key('zebra-key', { label: 'zebra-label', restrictions: { tags: ['zebra-tag'] } })
  const json = { realName: 'zebra-real-name', role: 'Operator', passphrase: 'passphrase of this user' }
  await rig.call('POST', '/users', { as: 'admin', json })
  await sign(rig, 'zebra-key')
}

/** Lets time pass as the timer does, and waits for this many mails in all. */
async function passUntil({ alerts, pass }: AlertRig, ms: number, server: MailServer, mails: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += TICK_MS) {
    pass(TICK_MS)
    alerts.look()
  }
  await server.until(mails)
}

test(
  'an appliance that has started and waits Locked mails so, and that it is unlocked',
  needsMailServer(),
  async (t) => {
    const { opened, server, outgoing } = await open(t)
    await opened.rig.appliance.close()
    const started = await openAlerts(t, { outgoing }, opened.rig.dataDirectory)
    assert.equal(started.rig.appliance.state, 'Locked')
    await passUntil(started, 8 * MINUTE_MS, server, 1)
    const [mail] = server.mails
    assert.deepEqual([mail!.tls, mail!.login, mail!.to], [true, 'coffer', ['admin@example.org']])
    assert.match(mail!.content, /^Subject: Coffer [A-Z0-9]+: locked \(critical\)\r$/m)
    assert.match(mail!.content, /CRITICAL: locked.*\r\n {2}The appliance is locked\. ?\r\n/)
    assert.equal(await started.rig.status('POST', '/unlock', { json: { passphrase: 'unlock passphrase' } }), 204)
    await passUntil(started, 3 * MINUTE_MS, server, 2)
    assert.match(server.mails[1]!.content, /^Subject: .*locked \(ended\)/m)
  },
)

test('no mail has the name of a key, a user, a namespace, a tag or a channel', needsMailServer(), async (t) => {
  const { opened, server, outgoing } = await open(t)
  const chat = { state: 'failed', problem: 'zebra-channel', hasOlderCopies: true } as never
  const others = { lostMs: HOUR_MS, behindMs: HOUR_MS, refusal: 'zebra-key', spaceProblem: 'zebra-key' }
  const appliance = new Proxy(opened.rig.appliance, {
    get: (target, name) => {
      if (name === 'replica') return others
      if (name === 'cluster') return { node: others }
      if (name === 'openFailure') return 'zebra-user'
      return Reflect.get(target, name, target)
    },
  })
  const failing = { state: 'failing', failures: 9, problem: 'zebra-key' } as const
  const acme = { view: () => ({ settings: {}, account: null, ports: { appliance: failing, chat: failing } }) as never }
  const all = await openAlerts(t, {
    ...{ appliance, acme, chat, isRolledBack: true },
    outgoing: { mail: outgoing.mail, isDown: true },
  })
  await opened.rig.call('PUT', '/config/ntp', { as: 'admin', json: { ntpIP: '192.0.2.7' } })
  opened.disk.freeBytes = GIB
  all.pass(25 * HOUR_MS)
  await passUntil(all, 3 * MINUTE_MS, server, 1)
  const texts = server.mails.map(({ content }) => content).join()
  for (const id of [
    'certificate-appliance',
    'update',
    'disk',
    'outgoing',
    'backup',
    'chat',
    'store',
    'cluster',
    'clock',
  ])
    assert.ok(texts.includes(`: ${id}, `), id)
  for (const name of [...NAMES, 'zebra']) assert.ok(!texts.includes(name), name)
})
