// @test long 10 slow
/** Random variations of every JSON body of the contract, each in the state that it is for. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { BODIES, type BodyCase, expectWhole, furnish, restoreKeys } from '../accept/bodies.ts'
import { expect } from '../support/appliance.ts'
import { makeRig } from '../support/in-process.ts'
import { ADMIN } from '../support/suite.ts'

const RUNS = process.env.COFFER_SLOW === undefined ? 120 : 20_000 // of each body
const SEED = Number(process.env.COFFER_SEED ?? Date.now() % 0x7fffffff)
const ATTEMPT_MS = 10_000 // between two calls: failed attempts are limited

const words = fc.constantFrom(
  ...['RSA', 'ECDSA', 'Generic', 'EC_P521', 'Administrator', 'on', 'PSS_SHA256', 'RAW', '__proto__', 'generate', ''],
)
const numbers = fc.constantFrom(-1, 0, 1, 255, 256, 521, 1024, 1023, 8193, 2 ** 31, 2 ** 53, 1e308, 0.5)
const texts = fc.oneof(
  words,
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.base64String({ maxLength: 80 }),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
)
const anything = fc.oneof(texts, numbers, fc.jsonValue({ maxDepth: 3 }), fc.array(texts, { maxLength: 5 }))
const nested = fc.oneof(anything, fc.record({ data: texts }), fc.record({ tags: fc.array(texts, { maxLength: 4 }) }))

function randomBody({ path, valid, members }: BodyCase): fc.Arbitrary<string> {
  const names = fc.constantFrom(...Object.keys(members), 'algorithm', 'key', 'unknown', '__proto__')
  const mutated = fc
    .array(fc.tuple(names, fc.option(nested, { nil: undefined })), { minLength: 1, maxLength: 4 })
    .map((changes) => {
      const body = { ...valid }
      for (const [name, value] of changes) {
        Object.defineProperty(body, name, { value, enumerable: true, configurable: true, writable: true })
      }
      // A provisioned or unlocked appliance would end this test, a changed unlock passphrase the next ones.
      if (path === '/provision') body.adminPassphrase = 'short'
      if (path === '/unlock' && body.passphrase === valid.passphrase) body.passphrase = 'wrong passphrase'
      if (path === '/config/unlock-passphrase') body.currentPassphrase = 'wrong passphrase'
      if (path === '/config/unattended-boot') body.status = 'off'
      return JSON.stringify(body)
    })
  const cut = fc
    .tuple(fc.constant(JSON.stringify(valid)), fc.nat(200))
    .map(([text, at]) => text.slice(0, Math.min(at, text.length - 1)))
  return fc.oneof({ weight: 6, arbitrary: mutated }, { weight: 2, arbitrary: fc.json() }, { weight: 1, arbitrary: cut })
}

const rigs = { Unprovisioned: await makeRig(), Operational: await makeRig(), Locked: await makeRig() }
after(() => Promise.all(Object.values(rigs).map((rig) => rig.close())))
await furnish(rigs.Operational)
await furnish(rigs.Locked)
await expect(204, rigs.Locked.call('POST', '/lock', { as: ADMIN }))

let serial = 0
for (const item of BODIES)
  test(`${item.method} ${item.path} takes random JSON without an internal error (seed ${SEED})`, async (t) => {
    const rig = rigs[item.state]
    const statuses = new Map<number, number>()
    const property = fc.asyncProperty(randomBody(item), async (body) => {
      rig.nowMs += ATTEMPT_MS
      const fresh = `h${serial++}`
      const path = item.path.replace('{new}', fresh).replace('{key}', 'movable')
      const call = { as: item.as, body: body.replaceAll('{new}', fresh), type: 'application/json' }
      const { status, text } = await rig.call(item.method, path, call)
      assert.ok(status < 500, `${item.method} ${path}: ${status} ${text()} ${JSON.stringify(rig.entries)}`)
      rig.entries.length = 0
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (status < 300 && path.endsWith('/move')) await restoreKeys(rig)
    })
    await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true })
    t.diagnostic(`by status: ${JSON.stringify([...statuses].sort())}`)
    assert.ok((statuses.get(400) ?? 0) > 0)
    await expectWhole(rig, item.state)
  })
