/** One body of key use as large as they come, of JSON that would cost a parser gigabytes or half a minute. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, startProvisioned } from '../support/suite.ts'

const MIB = 1024 * 1024
const BODY_BYTES = 66 * MIB
const GROWTH_BYTES_MAX = 400 * MIB // what the bytes of one message take on their way; a parser took two gigabytes

let appliance: Appliance
let operator: string
let other: string

before(async () => {
  appliance = await startProvisioned()
  operator = await addUser(appliance, 'operator', 'Operator')
  other = await addUser(appliance, 'other', 'Operator')
  await expect(204, appliance.call('PUT', '/users/operator/tags/berlin', { as: ADMIN }))
  const json = { id: 'key', type: 'Curve25519', mechanisms: ['EdDSA_Signature'], restrictions: { tags: ['berlin'] } }
  await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json }))
})
after(() => appliance?.dispose())

const filled = (begin: string, more: string, end = ''): Buffer =>
  Buffer.concat([Buffer.from(begin), Buffer.alloc(BODY_BYTES, more), Buffer.from(end)])

const BODIES: Record<string, [body: () => Buffer, status: number]> = {
  'lists in lists': [() => filled('{"message":', '['), 400],
  'millions of members': [() => filled('{', '"mode":"x",'), 400],
  'millions of numbers': [() => filled('{"mode":[', '0,'), 400],
  'an endless name': [() => filled('{"', 'x'), 400],
  'an endless mode': [() => filled('{"mode":"', '\\u0041'), 400],
  'a message of escapes': [() => filled('{"mode":"EdDSA","message":"', '\\u0041'), 400],
  'a good message': [() => filled('{"mode":"EdDSA","message":"', 'AAAA', '"}'), 200],
}

for (const [name, [body, status]] of Object.entries(BODIES)) {
  test(`${name}: ${status}, while others are served`, { timeout: 120_000 }, async () => {
    const residentBefore = appliance.residentBytes()
    let resident = residentBefore
    const sending = appliance.call('POST', '/keys/key/sign', { as: operator, body: body(), type: 'application/json' })
    let isDone = false
    const done = sending.finally(() => {
      isDone = true
    })
    while (!isDone) {
      await expect(200, appliance.call('GET', '/health/state'))
      resident = Math.max(resident, appliance.residentBytes())
    }
    assert.equal((await done).status, status)
    assert.ok(resident - residentBefore < GROWTH_BYTES_MAX, `${(resident - residentBefore) / MIB} MiB`)
    assert.equal(await appliance.state(), 'Operational')
  })
}

test('a caller who may not use the key is refused before the body is read', async () => {
  const sending = appliance.call('POST', '/keys/key/sign', {
    as: other,
    body: filled('{"message":', '['),
    type: 'application/json',
  })
  assert.equal((await sending).status, 403)
  assert.equal(await appliance.state(), 'Operational')
})
