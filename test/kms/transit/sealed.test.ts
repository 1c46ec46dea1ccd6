/** Recorded answers of a sealed server and of one that is not initialized, by an appliance that is Locked or Unprovisioned. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createApp } from '../../../firmware/app.ts'
import { createLog } from '../../../firmware/base/log.ts'
import { createTrialGate } from '../../../firmware/trial-gate.ts'
import { expect } from '../../support/appliance.ts'
import { openRig, type Rig } from '../../support/in-process.ts'
import { DIRECTORY, expectForm, skip } from './recorded.ts'
import { logIn, OPERATOR, say, switchWire, wiredRig } from './rig.ts'

interface Sealed {
  /** `sealed`, or that of a server that was never initialized. */
  state: string
  asked: string
  status: number
  body: unknown
}

const recorded = (isSealed: boolean): Sealed[] =>
  (JSON.parse(readFileSync(join(DIRECTORY, 'sealed.json'), 'utf8')) as Sealed[])
    .map((one, i, all) => (one.body === 'as above' ? { ...one, body: all[i - 1]!.body } : one))
    .filter(({ state }) => (state === 'sealed') === isSealed)

async function expectRecorded(rig: Rig, isSealed: boolean, token?: string): Promise<void> {
  for (const { asked, status, body } of recorded(isSealed)) {
    const [method, path] = asked.split(' ') as [string, string]
    const given = method === 'GET' ? {} : { body: { plaintext: 'YQ==', password: OPERATOR } }
    const answer = await say(rig, method, path, { ...given, ...(token !== undefined && { token }) })
    assert.equal(answer.status, status, asked)
    expectForm(answer.body, body, asked)
  }
}

test('a Locked appliance answers as a sealed server, with a token and without', { skip }, async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  const token = await logIn(rig, 'web')
  await expect(204, rig.call('POST', '/lock', { as: 'admin' }))
  await expectRecorded(rig, true)
  await expectRecorded(rig, true, token)
  assert.equal(await rig.status('HEAD', '//v1/sys/health?sealedcode=299'), 299)
})

test('an Unprovisioned appliance answers as a server that is not initialized', { skip }, async (t) => {
  const rig = await openRig(t)
  const value = { transit: 'on', tokenHours: 24 } // before provisioning nobody can switch it on
  Object.defineProperty(rig.appliance.configuration, 'interfaces', { value })
  await expectRecorded(rig, false)
})

test('a version on trial answers 503 to all that would use a key', { skip }, async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  const token = await logIn(rig, 'web')
  const { appliance } = rig
  const log = createLog('error', () => {})
  const app = createApp({ appliance, log, info: { vendor: 'Coffer', product: 'Coffer', version: '1.2.3' } })
  const gate = createTrialGate(app, appliance, true)
  const ask = (asked: string) => {
    const [method, path] = asked.split(' ') as [string, string]
    const body = method === 'POST' ? { body: '{"plaintext":"YQ=="}' } : {}
    const request = new Request(`http://coffer/v1/${path}`, { method, headers: { 'x-vault-token': token }, ...body })
    return gate.fetch(request)
  }
  const questions = [...new Set(recorded(true).map(({ asked }) => asked))]
  for (const asked of questions) {
    const { status, headers } = await ask(asked)
    assert.equal(status, 503, asked)
    assert.equal(headers.get('retry-after'), '1', asked)
  }
  gate.end()
  assert.equal((await ask('GET sys/health')).status, 200)
  assert.equal((await ask('GET transit/keys/app')).status, 404)
})
