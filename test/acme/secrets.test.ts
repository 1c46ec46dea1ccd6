/** The key of the account is in no request, log line, audit line, answer or error, whether orders succeed or fail. */

import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { test } from 'node:test'
import { createAcmeRecords } from '../../firmware/acme/records.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { needs } from '../support/tools.ts'
import { DIRECTORY } from './support/ca.ts'
import { type AcmeRig, DAY_MS, openAcme, portOf, step } from './support/rig.ts'

const EXTERNAL = 'c2VjcmV0LW9mLXRoZS1leHRlcm5hbC1hY2NvdW50'

function accountKeyOf({ rig: { appliance } }: AcmeRig): Buffer {
  const records = createAcmeRecords({
    records: appliance.deviceRecords,
    deriveKey: (purpose) => appliance.deriveKey(purpose),
    random: systemRandom,
  })
  return Buffer.from(records.account()!.key)
}

/** The secret number, and the record that holds it. */
function formsOf(pkcs8: Buffer): string[] {
  const { d } = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  const secret = Buffer.from(d!, 'base64url')
  assert.ok(pkcs8.includes(secret))
  return [secret, pkcs8].flatMap((bytes) => [
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('latin1'),
    String([...bytes]),
  ])
}

/** Each part of a signed request, decoded too. */
const partsOf = (body: Uint8Array): string => {
  const text = Buffer.from(body).toString()
  if (text === '') return text
  const { protected: header, payload, signature } = JSON.parse(text)
  return [text, ...[header, payload, signature].map((part) => Buffer.from(part, 'base64url').toString('latin1'))].join(
    ' ',
  )
}

test('orders that succeed, fail and are renewed tell nothing of the keys', needs('openssl'), async (t) => {
  const opened = await openAcme(t)
  const { ca, rig } = opened
  const sent: string[] = []
  const { send } = ca
  ca.send = (job, ...rest) => {
    sent.push(`${job.url} ${JSON.stringify(job.headers)} ${partsOf(job.body)}`)
    return send(job, ...rest)
  }
  await opened.restart() // with that
  const eab = { kid: 'account-1', key: EXTERNAL }
  await opened.set({ eab, appliance: ['coffer.example.org'], contact: ['admin@example.org'] })
  await step(opened, () => portOf(opened).state === 'valid')
  const keys = [accountKeyOf(opened)]
  const problems = ['serverInternal', 'accountDoesNotExist', 'malformed', 'unauthorized']
  for (const type of problems) {
    ca.problemAt = () => ({ status: 400, type })
    await opened.clock.advance(opened.clock.now() + DAY_MS)
    opened.acme.renew('appliance')
    await step(opened, () => portOf(opened).failures > 0)
  }
  for (const failure of ['unreachable', 'malformed'] as const) {
    ca.problemAt = () => failure
    await opened.clock.advance(opened.clock.now() + DAY_MS)
    const { failures } = portOf(opened)
    await step(opened, () => portOf(opened).failures > failures)
  }
  ca.problemAt = () => null
  await opened.set({ directory: `${DIRECTORY}?other`, eab, appliance: ['coffer.example.org'] })
  await step(opened, () => portOf(opened).state === 'valid')
  keys.push(accountKeyOf(opened))
  assert.notDeepEqual(keys[0], keys[1])

  const answers = await Promise.all(
    ['/audit', '/config/acme', '/system/info', '/metrics'].map((path) => rig.call('GET', path, { as: 'admin' })),
  )
  const said = [
    ...sent,
    ...rig.entries.map((entry) => JSON.stringify(entry)),
    ...answers.map(({ bytes }) => Buffer.from(bytes).toString()),
    JSON.stringify(opened.acme.view().ports),
  ].join('\n')
  assert.match(said, /account-1/)
  assert.ok(sent.length > 10)
  for (const secret of [...keys.flatMap(formsOf), EXTERNAL, Buffer.from(EXTERNAL, 'base64url').toString()])
    assert.ok(!said.includes(secret), `a form of ${secret.length} characters`)
})
