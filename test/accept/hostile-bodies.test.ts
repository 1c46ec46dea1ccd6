// @test long 30
/** Every member of every body with what it must not be, and random bodies: contract 1.1 and section 4. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { expect } from '../support/appliance.ts'
import type { Reply } from '../support/client.ts'
import { ADMIN, type Appliance, addUser, provision, startAppliance } from '../support/suite.ts'
import { BODIES, type BodyCase, type Kind, OPERATOR } from './bodies.ts'

const DEEP = 100_000
const DEEP_AND_SHORT = 5_000
const ANONYMOUS_BYTES_MAX = 16 * 1024 // contract 1.5: without credentials, a longer body is 413
const SEED = Number(process.env.ACCEPT_SEED ?? Date.now() % 0x7fffffff)
const RUNS = 120
const SLOW_RUNS = 20 // where a key is derived from a passphrase

let appliance: Appliance
let serial = 0

/** A fresh address for each call: failed attempts to unlock are counted per address. */
const address = () => {
  serial++
  return `127.${1 + (serial >> 16)}.${(serial >> 8) & 255}.${serial & 255}`
}

/** Sends `body` to the endpoint; `{new}` is an id nobody has, `{key}` a key that may be moved. */
async function post(item: BodyCase, body: string | Uint8Array): Promise<Reply> {
  const fresh = `h${serial++}`
  const path = item.path.replace('{new}', fresh).replace('{key}', 'movable')
  const filled = typeof body === 'string' ? body.replaceAll('{new}', fresh) : body
  const from = item.state === 'Locked' ? address() : undefined
  return appliance.call(item.method, path, { as: item.as, body: filled, type: 'application/json', from })
}

const wrongTypes = (kind: Kind): unknown[] => {
  const values: unknown[] = [true, 1.5, {}, [], 'x', 1]
  switch (kind) {
    case 'integer':
      return values.filter((value) => value !== 1)
    case 'list':
      return values.filter((value) => !Array.isArray(value)).concat([[1], [null], [[]]])
    case 'object':
      return values.filter((value) => typeof value !== 'object' || Array.isArray(value)).concat([{ unknown: 1 }])
    case 'text':
      return values.filter((value) => typeof value !== 'string')
    case 'label':
    case 'id': // `x` is one
      return values.filter((value) => typeof value !== 'string')
    default:
      return values
  }
}

/** Too much of the kind, where the contract has a bound. */
const oversized = (kind: Kind): unknown[] => {
  const long = 'x'.repeat(500_000)
  switch (kind) {
    case 'passphrase':
      return ['x'.repeat(201), long]
    case 'label':
      return ['x'.repeat(33), long]
    case 'id':
      return ['x'.repeat(129), long]
    case 'integer':
      return [1e6, 2 ** 31, 2 ** 53, -1, Number.MAX_VALUE]
    case 'word':
    case 'time':
    case 'base64':
      return [`${long}*`]
    case 'list':
      return [new Array(100_000).fill(0)]
    default:
      return []
  }
}

const badBase64 = ['*', 'AAA', 'A===', 'AAAA=', 'AA==AA==', '____', 'AAA\u0000', ' AAAA', 'ÄÄÄÄ']

/** What is wrong, and a body with it. All of these are 400. */
function* broken({ valid, members }: BodyCase): Generator<[string, string | Uint8Array]> {
  yield ['no body', '']
  yield ['broken JSON', '{}}}']
  yield ['an unknown member', JSON.stringify({ ...valid, unknown: 1 })]
  yield ['a list', JSON.stringify([valid])]
  yield ['null', 'null']
  yield ['a text', '"text"']
  yield ['deep lists', '['.repeat(DEEP) + ']'.repeat(DEEP)]
  yield ['deep objects', `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`]
  yield ['deep lists without end', '['.repeat(DEEP)]
  yield ['deep lists that are short', '['.repeat(DEEP_AND_SHORT) + ']'.repeat(DEEP_AND_SHORT)]
  yield [
    '100,000 unknown members',
    JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`m${n}`, n]))),
  ]
  for (const [name, { kind, required, nullable }] of Object.entries(members)) {
    const change = (value: unknown) => JSON.stringify({ ...valid, [name]: value })
    if (required) yield [`${name} missing`, change(undefined)]
    if (!nullable) yield [`${name} null`, change(null)]
    for (const value of wrongTypes(kind)) {
      if (name === 'length' && value === 'x') yield ['length as text', change('256')]
      yield [`${name} as ${JSON.stringify(value)}`, change(value)]
    }
    for (const value of oversized(kind)) {
      if (name === 'length' && 'type' in members) continue // ignored for this type
      yield [`${name} oversized`, change(value)]
    }
    yield [`${name} deep`, change('@').replace('"@"', '['.repeat(DEEP) + ']'.repeat(DEEP))]
    if (kind === 'base64') for (const value of badBase64) yield [`${name} as ${value}`, change(value)]
    if (kind !== 'integer') {
      const bytes = Buffer.from(change('@@@@@@@@@@'), 'latin1')
      bytes[bytes.indexOf('@@@') + 1] = 0xff
      yield [`${name} not UTF-8`, bytes]
    }
  }
  const { private: secret } = valid
  if (secret) {
    for (const value of [undefined, 1, null, '', ...badBase64]) {
      yield [`private.data as ${value}`, JSON.stringify({ ...valid, private: { data: value } })]
    }
    yield ['private with more', JSON.stringify({ ...valid, private: { ...(secret as object), more: 1 } })]
  }
  if ('restrictions' in valid) {
    for (const tags of [null, 1, 'tag', {}, [1], [null], [''], ['.x'], ['x'.repeat(129)], [['tag']]]) {
      yield [`tags as ${JSON.stringify(tags)}`, JSON.stringify({ ...valid, restrictions: { tags } })]
    }
    yield ['restrictions with more', JSON.stringify({ ...valid, restrictions: { tags: [], more: 1 } })]
  }
}

const setUp = async () => {
  await provision(appliance)
  await addUser(appliance, 'operator', 'Operator')
  await addUser(appliance, 'somebody', 'Operator')
  await restore()
}

/** Puts back what the endpoints below change: `movable` may have moved, tags and labels changed. */
async function restore() {
  const json = {
    type: 'Curve25519',
    mechanisms: ['EdDSA_Signature'],
    private: { data: Buffer.alloc(32, 7).toString('base64') },
  }
  const aes = {
    type: 'Generic',
    mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'],
    private: { data: Buffer.alloc(16, 7).toString('base64') },
  }
  for (const [id, value] of Object.entries({ ed: json, movable: json, aes })) {
    const { status } = await appliance.call('PUT', `/keys/${id}`, { as: ADMIN, json: value })
    assert([204, 409].includes(status), `${id}: ${status}`)
  }
}

const ids = async () =>
  (await expect(200, appliance.call('GET', '/keys', { as: ADMIN }))).json<{ id: string }[]>().map(({ id }) => id)

/** Every key and user can still be read, and the firmware never went down: it would come back Locked. */
async function isWhole(state: BodyCase['state']) {
  assert.equal(await appliance.state(), state)
  if (state !== 'Operational') return
  for (const id of await ids()) await expect(200, appliance.call('GET', `/keys/${id}`, { as: ADMIN }))
  const users = (await expect(200, appliance.call('GET', '/users', { as: ADMIN }))).json<{ user: string }[]>()
  for (const { user } of users) await expect(200, appliance.call('GET', `/users/${user}`, { as: ADMIN }))
  const json = { mode: 'EdDSA', message: 'AAAA' }
  await expect(200, appliance.call('POST', '/keys/ed/sign', { as: OPERATOR, json }))
}

describe('hostile bodies', () => {
  before(async () => {
    appliance = await startAppliance()
  })
  after(() => appliance?.dispose())

  for (const state of ['Unprovisioned', 'Operational', 'Locked'] as const) {
    describe(`while ${state}`, () => {
      before(async () => {
        if (state === 'Operational') await setUp()
        if (state === 'Locked') await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
      })

      for (const item of BODIES.filter((item) => item.state === state)) {
        test(`${item.method} ${item.path} refuses each broken body with 400, too long ones of strangers with 413`, async () => {
          const earlier = state === 'Operational' ? await ids() : []
          const problems: string[] = []
          for (const [what, body] of broken(item)) {
            const reply = await post(item, body)
            const isTooLong = item.as === undefined && Buffer.byteLength(body) > ANONYMOUS_BYTES_MAX
            if (reply.status !== (isTooLong ? 413 : 400))
              problems.push(`${what}: ${reply.status} ${reply.text().slice(0, 100)}`)
          }
          assert.deepEqual(problems, [])
          if (state === 'Operational') assert.deepEqual(await ids(), earlier, 'nothing was made')
          assert.equal(await appliance.state(), state)
        })

        test(`${item.method} ${item.path} takes random JSON without an internal error (seed ${SEED})`, async () => {
          const slow = /provision|unlock|users/.test(item.path)
          const property = fc.asyncProperty(randomBody(item), async (body) => {
            const reply = await post(item, body)
            assert(reply.status < 500, `${reply.status} ${reply.text()}`)
            if (reply.status < 300 && item.path.includes('/move')) await restore()
          })
          await fc.assert(property, { seed: SEED, numRuns: slow ? SLOW_RUNS : RUNS, endOnFailure: true })
          await isWhole(state)
        })
      }
    })
  }
})

/** A valid body with some of its members replaced by others, or anything at all. Never a valid one for `slow` types. */
function randomBody(item: BodyCase): fc.Arbitrary<string> {
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
  const names = fc.constantFrom(...Object.keys(item.members), 'algorithm', 'key', 'unknown', '__proto__')
  const mutated = fc
    .array(fc.tuple(names, fc.option(nested, { nil: undefined })), { minLength: 1, maxLength: 4 })
    .map((changes) => {
      const body = { ...item.valid }
      for (const [name, value] of changes) {
        Object.defineProperty(body, name, { value, enumerable: true, configurable: true, writable: true })
      }
      // A provisioned or unlocked appliance would end this test, a changed unlock passphrase the next ones.
      if (item.path === '/provision') body.adminPassphrase = 'short'
      if (item.path === '/unlock' && body.passphrase === item.valid.passphrase) body.passphrase = 'wrong passphrase'
      if (item.path === '/config/unlock-passphrase') body.currentPassphrase = 'wrong passphrase'
      if (item.path === '/config/unattended-boot') body.status = 'off'
      return JSON.stringify(body)
    })
  const cut = fc
    .tuple(fc.constant(JSON.stringify(item.valid)), fc.nat(200))
    .map(([text, at]) => text.slice(0, Math.min(at, text.length - 1)))
  return fc.oneof({ weight: 6, arbitrary: mutated }, { weight: 2, arbitrary: fc.json() }, { weight: 1, arbitrary: cut })
}
