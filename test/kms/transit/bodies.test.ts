/** Bodies of the wire: empty, of other types than expected, too long, and namespaces in headers. CONTRACT.md, "Bodies", "Requests". */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { expect } from '../../support/appliance.ts'
import type { Rig } from '../../support/in-process.ts'
import { ask, OPERATOR, openTransit, say, switchWire, wiredRig } from './rig.ts'

const PLAINTEXT = 'aGVsbG8='
const MIB = 1024 * 1024

describe('bodies', () => {
  let rig: Rig
  let web = ''
  before(async () => {
    const opened = await openTransit()
    rig = opened.rig
    web = opened.web
    await ask(rig, opened.admin, 'keys/app')
  })
  after(() => rig.close())

  const encrypt = (body?: unknown, headers = {}) =>
    say(rig, 'POST', 'transit/encrypt/app', { token: web, body, headers })
  const errorOf = async (body?: unknown) => {
    const { status, body: answer } = await encrypt(body)
    return [status, answer.errors?.[0]]
  }

  test('no body, null and an empty object are the same, whatever the content type', async () => {
    for (const body of [undefined, '', 'null', '{}', ' \n{ } '])
      for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
        const { status, body: answer } = await encrypt(body, { 'content-type': type })
        assert.deepEqual([status, answer.errors], [400, ['missing plaintext to encrypt']], `${body} ${type}`)
        const random = await say(rig, 'POST', 'transit/random', { token: web, body })
        assert.equal(random.status, 200)
      }
  })

  test('what is no object is refused', async () => {
    for (const body of ['[]', '1', '"text"', 'true', '{', '{}{}', '{"a":}', "{'a':1}", '{"a":1,}'])
      assert.deepEqual(await errorOf(body), [400, 'failed to decode JSON input'], body)
  })

  test('unknown members are ignored, members that are null are absent, of two of one name the last counts', async () => {
    const one = { plaintext: PLAINTEXT, key_version: null, other: { deep: [1] }, __proto__: null }
    assert.equal((await encrypt(one)).status, 200)
    assert.deepEqual(await errorOf({ plaintext: null }), [400, 'missing plaintext to encrypt'])
    assert.equal((await encrypt(`{"plaintext":"?","plaintext":"${PLAINTEXT}"}`)).status, 200)
    assert.equal((await errorOf(`{"plaintext":"${PLAINTEXT}","plaintext":"?"}`))[0], 400)
    assert.equal((await encrypt(`{"__proto__":{"plaintext":"${PLAINTEXT}"}}`)).status, 400)
  })

  test('numbers and booleans may be texts, and the other way round; other types are named', async () => {
    for (const version of [0, 1, '0', '1', '', null])
      assert.equal((await encrypt({ plaintext: PLAINTEXT, key_version: version })).status, 200, String(version))
    for (const version of [1.5, 'one', 1e300, true, '1 ', '0x1', {}, []]) {
      const [status, error] = await errorOf({ plaintext: PLAINTEXT, key_version: version })
      assert.equal(status, 400)
      assert.match(
        error,
        /^error converting input for field "key_version": expected type '(int|string)'$/,
        String(version),
      )
    }
    for (const plaintext of [{}, [], [PLAINTEXT]])
      assert.deepEqual(await errorOf({ plaintext }), [
        400,
        'error converting input for field "plaintext": expected type \'string\'',
      ])
    const sign = (prehashed: unknown) =>
      say(rig, 'POST', 'transit/hmac/app', { token: web, body: { input: PLAINTEXT, prehashed } })
    assert.equal((await sign('true')).status, 200)
    for (const batch_input of [{}, 'x', [1], [[]], [null], [{}, 'x']])
      assert.deepEqual(await errorOf({ batch_input }), [400, 'failed to parse batch input'])
    assert.deepEqual(await errorOf({ batch_input: [] }), [400, 'missing batch input to process'])
  })

  test('a body may have 1 MiB and not a byte more, a batch a thousand items and not one more', async () => {
    const padded = (bytes: number) => {
      const start = `{"plaintext":"${PLAINTEXT}","pad":"`
      return `${start}${'x'.repeat(bytes - start.length - 2)}"}`
    }
    assert.equal((await encrypt(padded(MIB))).status, 200)
    const { status, body } = await encrypt(padded(MIB + 1))
    assert.equal(status, 413)
    assert.equal(body.errors.length, 1)
    const items = (length: number) => ({ batch_input: Array.from({ length }, () => ({ plaintext: PLAINTEXT })) })
    const most = await encrypt(items(1000))
    assert.deepEqual([most.status, most.body.data.batch_results.length], [200, 1000])
    assert.deepEqual(await errorOf(items(1001)), [400, 'batch_input may have 1000 items'])
  })

  test('a login takes 16 KiB and not more', async () => {
    const login = (pad: number) =>
      say(rig, 'POST', 'auth/userpass/login/web', { body: { password: OPERATOR, pad: 'x'.repeat(pad) } })
    assert.equal((await login(16_000)).status, 200)
    assert.equal((await login(17_000)).status, 413)
  })
})

test('x-vault-namespace with every form of a name, a missing and a deleted namespace', async (t) => {
  const rig = await wiredRig()
  t.after(() => rig.close())
  await switchWire(rig, 'on')
  const as = { as: 'admin' }
  const user = (role: string) => ({ ...as, json: { realName: 'x', role, passphrase: OPERATOR } })
  // Users may be made before their namespace, and are of it from then on.
  for (const name of ['team1~web', 'team2~web']) {
    await expect(201, rig.call('PUT', `/users/${name}`, user('Operator')))
    await expect(204, rig.call('PUT', `/namespaces/${name.slice(0, 5)}`, as))
  }
  const login = async (name: string, namespace?: string) => {
    rig.nowMs += 2000
    const headers = namespace === undefined ? {} : { 'x-vault-namespace': namespace }
    const { status, body } = await say(rig, 'POST', `auth/userpass/login/${name}`, {
      headers,
      body: { password: OPERATOR },
    })
    return { status, token: body.auth?.client_token as string }
  }
  for (const namespace of ['team1', 'team1/', '/team1/'])
    for (const name of ['web', 'team1~web'])
      assert.equal((await login(name, namespace)).status, 200, `${name} ${namespace}`)
  for (const namespace of [undefined, '', '/', 'root'])
    for (const name of ['web', 'team1~web'])
      assert.equal((await login(name, namespace)).status, 200, `${name} ${namespace}`)
  for (const [name, namespace] of [
    ['web', 'missing'],
    ['missing~web', undefined],
    ['web', 'team1/below'],
    ['web', 'Team1'],
    ['web', '../team1'],
    ['~web', undefined],
    ['team1~', undefined],
    ['team1~team1~web', undefined],
  ] as const)
    assert.equal((await login(name, namespace)).status, 400, `${name} ${namespace}`)

  const { token } = await login('web', 'team1')
  const looked = async (namespace?: string) => {
    const headers = namespace === undefined ? {} : { 'x-vault-namespace': namespace }
    return (await say(rig, 'GET', 'auth/token/lookup-self', { token, headers })).status
  }
  for (const [namespace, status] of [
    [undefined, 200],
    ['team1', 200],
    ['team1/', 200],
    ['team2', 403],
    ['', 403],
    ['root', 403],
    ['/', 403],
    ['missing', 404],
    ['team1/below', 404],
    ['x'.repeat(500), 404],
  ] as const)
    assert.equal(await looked(namespace), status, String(namespace))

  await expect(204, rig.call('DELETE', '/namespaces/team1', as))
  assert.notEqual(await looked('team1'), 200)
  assert.notEqual(await looked(), 200)
  await expect(204, rig.call('PUT', '/namespaces/team1', as))
  assert.equal(await looked(), 200, 'users of a namespace stay, and so do their tokens')
})
