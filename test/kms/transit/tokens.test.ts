/** Logins, tokens and access keys. Contract section 7.9; firmware/kms/transit/CONTRACT.md. */

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { expect } from '../../support/appliance.ts'
import { type Rig, UNLOCK } from '../../support/in-process.ts'
import { ADMIN, logIn, OPERATOR, say, switchWire, wiredRig } from './rig.ts'

const as = (user: string) => ({ as: user })

describe('tokens', () => {
  let rig: Rig
  before(async () => {
    rig = await wiredRig()
    await switchWire(rig, 'on')
  })
  after(() => rig.close())

  const lives = async (token: string): Promise<boolean> => {
    const { status, body } = await say(rig, 'GET', 'auth/token/lookup-self', { token })
    if (status !== 200) assert.deepEqual([status, body], [403, { errors: ['permission denied'] }])
    return status === 200
  }
  const accessKey = async (user = 'web', name = 'ci') => {
    const call = { ...as(user), json: { name } }
    return (await expect(201, rig.call('POST', `/users/${user}/access-keys`, call))).json()
  }
  const newUser = async (id: string) => {
    const json = { realName: id, role: 'Operator', passphrase: OPERATOR }
    await expect(201, rig.call('PUT', `/users/${id}`, { ...as('admin'), json }))
    rig.use(id, OPERATOR)
  }
  const tokenOf = async (id: string, password = OPERATOR) => {
    const { body } = await say(rig, 'POST', `auth/userpass/login/${id}`, { body: { password } })
    return body.auth.client_token as string
  }

  test('every changed character, and every cut, of a token ends it', async () => {
    const token = await logIn(rig, 'web')
    const { token: key } = await accessKey('web', 'changed')
    for (const text of [token, key]) {
      assert.ok(await lives(text))
      for (let at = 0; at < text.length; at++) {
        const other = text[at] === 'A' ? 'B' : 'A'
        assert.ok(!(await lives(text.slice(0, at) + other + text.slice(at + 1))), `${at}`)
      }
      for (let length = 1; length < text.length; length += 7) assert.ok(!(await lives(text.slice(0, length))))
      assert.ok(!(await lives(`${text}A`)))
    }
  })

  test('a token ends with a new passphrase, and with its user, also when there is one of the same name', async () => {
    await newUser('brief')
    const first = await tokenOf('brief')
    const passphrase = 'another passphrase'
    await expect(204, rig.call('POST', '/users/brief/passphrase', { ...as('brief'), json: { passphrase } }))
    assert.ok(!(await lives(first)))
    const second = await tokenOf('brief', passphrase)
    rig.use('brief', passphrase)
    const { token: key } = await accessKey('brief')
    assert.ok((await lives(second)) && (await lives(key)))
    await expect(204, rig.call('DELETE', '/users/brief', as('admin')))
    assert.ok(!(await lives(second)) && !(await lives(key)))
    await newUser('brief')
    assert.ok(!(await lives(second)) && !(await lives(key)))
    const { json } = await rig.call('GET', '/users/brief/access-keys', as('admin'))
    assert.deepEqual(json(), [])
  })

  test('a revoked token ends, and those that were made with it; others of the user do not', async () => {
    const [parent, other] = [await logIn(rig, 'web'), await logIn(rig, 'web')]
    const make = async (token: string) =>
      (await say(rig, 'POST', 'auth/token/create', { token, body: { ttl: '1h' } })).body.auth.client_token as string
    const child = await make(parent)
    const grandchild = await make(child)
    assert.ok((await lives(child)) && (await lives(grandchild)))
    assert.equal((await say(rig, 'POST', 'auth/token/revoke-self', { token: parent })).status, 204)
    for (const token of [parent, child, grandchild]) assert.ok(!(await lives(token)))
    assert.ok(await lives(other))
  })

  test('a child lives no longer than its parent, and there are eight generations at most', async () => {
    let token = await logIn(rig, 'web')
    const body = { ttl: '10m' }
    for (let generation = 0; generation < 8; generation++) {
      const { body: made } = await say(rig, 'POST', 'auth/token/create', { token, body })
      assert.ok(made.auth.lease_duration <= 600)
      token = made.auth.client_token
    }
    assert.equal((await say(rig, 'POST', 'auth/token/create', { token, body })).status, 400)
    const { body: longer } = await say(rig, 'POST', 'auth/token/create', {
      token: await logIn(rig, 'web'),
      body: { ttl: '9999h' },
    })
    assert.ok(longer.auth.lease_duration <= 24 * 3600)
  })

  test('sixteen access keys, each shown once; nobody makes one for another user, nor with one', async () => {
    await newUser('many')
    const keys = []
    for (let i = 0; i < 16; i++) keys.push(await accessKey('many', `key ${i}`))
    const json = { name: 'one more' }
    assert.equal(await rig.status('POST', '/users/many/access-keys', { ...as('many'), json }), 400)
    assert.equal(await rig.status('POST', '/users/many/access-keys', { ...as('admin'), json }), 403)
    const shown = (await rig.call('GET', '/users/many/access-keys', as('many'))).text()
    for (const { id, secret, token } of keys) {
      assert.equal(token, `s.${id}${secret}`)
      assert.equal(token.length, 65)
      assert.ok(shown.includes(id) && !shown.includes(secret))
    }
    const { token, id } = keys[0]
    const { status, body } = await say(rig, 'POST', 'auth/token/create', { token, body: { period: '24h' } })
    assert.deepEqual([status, body.errors[1]], [403, 'An access key makes no other access key'])
    const child = (await say(rig, 'POST', 'auth/token/create', { token })).body.auth.client_token
    assert.ok(await lives(child))
    await expect(204, rig.call('DELETE', `/users/many/access-keys/${id}`, as('admin')))
    assert.ok(!(await lives(token)) && !(await lives(child)))
    assert.equal(await rig.status('DELETE', `/users/many/access-keys/${id}`, as('admin')), 404)
    assert.equal((await say(rig, 'POST', 'auth/token/revoke-self', { token: keys[1].token })).status, 204)
    assert.ok(!(await lives(keys[1].token)))
  })

  test('a token that would have fewer rights or uses than its user is refused, one of the same rights is made', async () => {
    const create = (user: 'admin' | 'web', body: object) =>
      logIn(rig, user).then((token) => say(rig, 'POST', 'auth/token/create', { token, body }))
    for (const [error, user, restriction] of [
      [/^num_uses is not offered/, 'web', { num_uses: 1 }],
      [/^num_uses is not offered/, 'web', { num_uses: '3', period: '24h' }],
      [/^number of uses cannot be negative$/, 'web', { num_uses: -1 }],
      [/^no_default_policy is not offered$/, 'web', { no_default_policy: true }],
      [/^child policies must be subset of parent$/, 'web', { policies: ['operator', 'administrator'] }],
      [/^child policies must be subset of parent$/, 'admin', { policies: ['operator'] }],
      [/^child policies must be subset of parent$/, 'web', { policies: ['autounseal'], period: '24h' }],
      [/^policies must include operator/, 'web', { policies: ['default'] }],
      [/^policies must include administrator/, 'admin', { policies: 'default' }],
      // Lists of nothing but empty names: OpenBao makes tokens with the default policy alone.
      [/^policies must include operator/, 'web', { policies: [''] }],
      [/^policies must include operator/, 'web', { policies: [' ', ''], period: '24h' }],
      [/^policies must include administrator/, 'admin', { policies: ' ' }],
      [/expected type 'slice'$/, 'web', { policies: [1] }],
      [/^explicit_max_ttl is not offered with a period/, 'web', { explicit_max_ttl: '1h', period: '24h' }],
    ] as const) {
      const { status, body } = await create(user, restriction)
      assert.deepEqual([status, body.errors?.length], [400, 1], JSON.stringify(restriction))
      assert.match(body.errors[0], error)
    }
    const { json } = await rig.call('GET', '/users/web/access-keys', as('web'))
    assert.deepEqual(
      json().filter(({ name }: { name: string }) => name === 'token'),
      [],
    )
    for (const policies of [
      undefined,
      null,
      [],
      '',
      ['operator'],
      ['', 'operator'],
      'Operator',
      ['default', ' operator'],
    ]) {
      const { status, body } = await create('web', { policies, num_uses: 0, no_default_policy: false })
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(body.auth.policies, ['default', 'operator'])
    }
    const { body } = await create('web', { ttl: '2h', explicit_max_ttl: '10m' })
    assert.ok(body.auth.lease_duration <= 600)
  })

  test('a token of a period is an access key, which does not expire', async () => {
    await newUser('seal')
    const token = await tokenOf('seal')
    const { body } = await say(rig, 'PUT', 'auth/token/create', { token, body: { period: '24h', display_name: 'bao' } })
    const key = body.auth.client_token
    const { data } = (await say(rig, 'GET', 'auth/token/lookup-self', { token: key })).body
    assert.deepEqual([data.ttl, data.expire_time], [0, null])
    const { json } = await rig.call('GET', '/users/seal/access-keys', as('seal'))
    assert.deepEqual(
      json().map(({ name }: { name: string }) => name),
      ['bao'],
    )
  })

  test('tokens survive lock and unlock, and so do their revocations', async () => {
    const [kept, revoked] = [await logIn(rig, 'web'), await logIn(rig, 'web')]
    const { token: key } = await accessKey('web', 'kept')
    assert.equal((await say(rig, 'POST', 'auth/token/revoke-self', { token: revoked })).status, 204)
    const { status, body } = await say(rig, 'GET', 'nothing')
    assert.deepEqual([status, body], [403, { errors: ['permission denied'] }])
    await expect(204, rig.call('POST', '/lock', as('admin')))
    for (const [method, path] of [
      ['GET', 'transit/keys/app'],
      ['POST', 'auth/userpass/login/web'],
      ['GET', 'nothing'],
    ] as const) {
      const answer = await say(rig, method, path, { token: kept })
      assert.deepEqual([answer.status, answer.body], [503, { errors: ['Vault is sealed'] }])
    }
    await expect(204, rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
    assert.ok((await lives(kept)) && (await lives(key)))
    assert.ok(!(await lives(revoked)))
  })

  test('a thousand revocations of one user, and then no more', async () => {
    await newUser('busy')
    const token = await tokenOf('busy')
    const { tokens, users } = rig.appliance.open()
    const revoke = () => tokens.revoke(tokens.issue(users.caller('busy')!, 'userpass', 3600))
    await Promise.all(Array.from({ length: 1000 }, revoke))
    const last = (await say(rig, 'POST', 'auth/token/create', { token })).body.auth.client_token
    assert.equal((await say(rig, 'POST', 'auth/token/revoke-self', { token: last })).status, 429)
    assert.ok((await lives(token)) && (await lives(last)))
  })

  test('one guess for a second, whichever way it comes in; a wrong one is a refusal in the audit log', async () => {
    rig.nowMs += 10_000
    const approle = { role_id: 'web', secret_id: 'wrong' }
    const ways = [
      () => say(rig, 'POST', 'auth/userpass/login/web', { body: { password: 'wrong' } }).then(({ status }) => status),
      () => say(rig, 'POST', 'auth/approle/login', { body: approle }).then(({ status }) => status),
      () => rig.status('GET', '/account', { as: 'web:wrong' }),
    ]
    const statuses = [400, 400, 401]
    for (const [first, guess] of ways.entries()) {
      rig.nowMs += 2000
      assert.equal(await guess(), statuses[first])
      for (const other of ways) assert.equal(await other(), 429)
    }
    const audit = (await rig.call('GET', '/audit', as('admin'))).text()
    assert.match(audit, /POST \/v1\/auth\/userpass\/login\/\{user\}/)
    rig.nowMs += 2000
  })

  test('a namespace by header or in the name; a token is refused in another one', async () => {
    await expect(204, rig.call('PUT', '/namespaces/team1', as('admin')))
    const json = { realName: 'x', role: 'Operator', passphrase: OPERATOR }
    const made = await rig.status('PUT', '/users/team1~web', { ...as('admin'), json })
    assert.equal(made, 403, 'only from inside')
    const login = (user: string, headers: Record<string, string>) =>
      say(rig, 'POST', `auth/userpass/login/${user}`, { headers, body: { password: OPERATOR } })
    assert.equal((await login('web', { 'x-vault-namespace': 'team1/' })).status, 400)
    rig.nowMs += 2000
    const token = (await login('web', { 'x-vault-namespace': 'root' })).body.auth.client_token
    const looked = (namespace: string) =>
      say(rig, 'GET', 'auth/token/lookup-self', { token, headers: { 'x-vault-namespace': namespace } })
    for (const [namespace, status] of [
      ['', 200],
      ['/', 200],
      ['root', 200],
      ['team1', 403],
      ['team9', 404],
    ] as const)
      assert.equal((await looked(namespace)).status, status, namespace)
  })

  test('wrapping is refused, before the token is looked at', async () => {
    const { status, body } = await say(rig, 'GET', 'transit/keys/app', { headers: { 'x-vault-wrap-ttl': '60' } })
    assert.deepEqual([status, body], [400, { errors: ['response wrapping is not offered'] }])
  })

  test('ten thousand logins leave the store as large as it is', async () => {
    const size = () => statSync(join(rig.dataDirectory, 'store.db')).size
    await logIn(rig, 'web')
    const before = size()
    const caller = rig.appliance.open().users.caller('web')!
    for (let i = 0; i < 10_000; i++) rig.appliance.open().tokens.issue(caller, 'userpass', 3600)
    assert.equal(size(), before)
  })

  test('with the wire off again, a token is worth nothing', async () => {
    const token = await logIn(rig, 'admin', ADMIN)
    await switchWire(rig, 'off')
    assert.equal((await say(rig, 'GET', 'auth/token/lookup-self', { token })).status, 404)
    await switchWire(rig, 'on')
    assert.ok(await lives(token))
  })
})
