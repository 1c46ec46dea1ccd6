// @test long 30
/** Every member of every body with what it must not be: contract 1.1 and section 4. Random bodies: test/fuzz/bodies.test.ts. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import type { Reply } from '../support/client.ts'
import { ADMIN, type Appliance, startAppliance } from '../support/suite.ts'
import { BODIES, type BodyCase, expectWhole, furnish, type Kind, keyIds } from './bodies.ts'

const DEEP = 100_000
const DEEP_AND_SHORT = 5_000
const ANONYMOUS_BYTES_MAX = 16 * 1024 // contract 1.5: without credentials, a longer body is 413

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

describe('hostile bodies', () => {
  before(async () => {
    appliance = await startAppliance()
  })
  after(() => appliance?.dispose())

  for (const state of ['Unprovisioned', 'Operational', 'Locked'] as const) {
    describe(`while ${state}`, () => {
      before(async () => {
        if (state === 'Operational') await furnish(appliance)
        if (state === 'Locked') await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
      })

      for (const item of BODIES.filter((item) => item.state === state)) {
        test(`${item.method} ${item.path} refuses each broken body with 400, too long ones of strangers with 413`, async () => {
          const earlier = state === 'Operational' ? await keyIds(appliance) : []
          const problems: string[] = []
          for (const [what, body] of broken(item)) {
            const reply = await post(item, body)
            const isTooLong = item.as === undefined && Buffer.byteLength(body) > ANONYMOUS_BYTES_MAX
            if (reply.status !== (isTooLong ? 413 : 400))
              problems.push(`${what}: ${reply.status} ${reply.text().slice(0, 100)}`)
          }
          assert.deepEqual(problems, [])
          if (state === 'Operational') assert.deepEqual(await keyIds(appliance), earlier, 'nothing was made')
          await expectWhole(appliance, state)
        })
      }
    })
  }
})
