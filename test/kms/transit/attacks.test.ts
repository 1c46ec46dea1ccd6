/** Attacks of an operator on the wire: what must not be given out, hidden from the audit log, or made large. */

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { CryptoPool } from '../../../firmware/crypto/types.ts'
import type { Caller } from '../../../firmware/kms/domain/roles.ts'
import { expect } from '../../support/appliance.ts'
import type { Rig } from '../../support/in-process.ts'
import { ADMIN, logIn, openTransit, say } from './rig.ts'

const SECRET = Buffer.from('plaintext that somebody keeps').toString('base64')

describe('attacks', () => {
  let rig: Rig
  let [admin, web, ciphertext] = ['', '', '']
  before(async () => {
    ;({ rig, admin, web } = await openTransit())
    for (const [name, type] of [
      ['app', 'aes256-gcm96'],
      ['signer', 'ecdsa-p256'],
      ['rsa', 'rsa-2048'],
    ] as const)
      assert.equal((await say(rig, 'POST', `transit/keys/${name}`, { token: admin, body: { type } })).status, 200)
    const { body } = await say(rig, 'POST', 'transit/encrypt/app', { token: web, body: { plaintext: SECRET } })
    ciphertext = body.data.ciphertext
  })
  after(() => rig.close())

  const oneWrong = () => ({ batch_input: [{ ciphertext }, { ciphertext: 'vault:v1:AAAA' }] })

  /** Holds decryptions in the pool until the result is called. */
  function hold(pool: CryptoPool): { reached: Promise<void>; release: () => void } {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { decrypt } = pool
    pool.decrypt = async (key, mode, encrypted, iv, associatedData) => {
      const [message, nonce] = [encrypted.slice(), iv?.slice()]
      pool.decrypt = decrypt
      reached.resolve()
      await released.promise
      return decrypt(key, mode, message, nonce, associatedData)
    }
    return { reached: reached.promise, release: released.resolve }
  }

  async function expectStatus(status: number, ...[method, path, asked]: [string, string, object]): Promise<void> {
    assert.equal((await say(rig, method, path, asked)).status, status, path)
  }

  /** As a node of a cluster, on which changes of other nodes arrive with the barrier. */
  async function lagging(act: (hasArrived: () => boolean) => Promise<void>): Promise<void> {
    let n = 1
    const barrier = async () => {
      n = 2
    }
    const value = Object.defineProperty({ barrier }, 'n', { get: () => n })
    Object.defineProperty(rig.appliance, 'replica', { configurable: true, value })
    try {
      await act(() => n === 2)
    } finally {
      Reflect.deleteProperty(rig.appliance, 'replica')
    }
  }

  test('a batch with a wrong item gives nothing out once its token was revoked', async () => {
    for (const more of [{}, { partial_failure_response_code: 207 }]) {
      const token = await logIn(rig, 'web')
      const { reached, release } = hold(rig.pool)
      const answer = say(rig, 'POST', 'transit/decrypt/app', { token, body: { ...oneWrong(), ...more } })
      await reached
      assert.equal((await say(rig, 'POST', 'auth/token/revoke-self', { token })).status, 204)
      release()
      assert.deepEqual(await answer, { status: 403, body: { errors: ['permission denied'] } })
    }
  })

  test('no status that a client asks for makes a use of a key a refusal', async () => {
    for (const code of [401, 403, 429, '403']) {
      const asked = { ...oneWrong(), partial_failure_response_code: code }
      const { status, body } = await say(rig, 'POST', 'transit/decrypt/app', { token: web, body: asked })
      assert.deepEqual([status, body.data], [400, undefined], String(code))
      assert.match(body.errors[0], /^partial_failure_response_code: /)
    }
    const asked = { ...oneWrong(), partial_failure_response_code: 207 }
    const { status, body } = await say(rig, 'POST', 'transit/decrypt/app', { token: web, body: asked })
    assert.deepEqual([status, body.data.batch_results[0].plaintext], [207, SECRET])
  })

  test('a text of a request is not repeated in whole in the errors of its items', async () => {
    const long = 'x'.repeat(30_000)
    const batch_input = Array.from({ length: 100 }, () => ({ input: '' }))
    for (const [path, member] of [
      ['sign/signer', 'hash_algorithm'],
      ['sign/signer', 'algorithm'],
      ['sign/signer', 'marshaling_algorithm'],
      ['sign/rsa', 'signature_algorithm'],
      ['sign/rsa', 'salt_length'],
    ] as const) {
      const { status, body } = await say(rig, 'POST', `transit/${path}`, {
        token: web,
        body: { [member]: long, batch_input },
      })
      assert.equal(status, 200)
      assert.equal(body.data.batch_results.length, batch_input.length)
      const { error } = body.data.batch_results[0]
      assert.ok(error.includes('xxx') && error.length <= 256, `${path} ${member}: ${error.length}`)
    }
  })

  test('a member that nests as deep as a body may does no harm', async () => {
    for (const open of ['[', '{"a":']) {
      const close = open === '[' ? ']' : '}'
      const nested = `${open.repeat(16_000)}1${close.repeat(16_000)}`
      const body = `{"plaintext":"${SECRET}","other":${nested}}`
      const { status, body: answer } = await say(rig, 'POST', 'transit/encrypt/app', { token: web, body })
      assert.deepEqual([status, answer.errors], [200, undefined], open)
    }
  })

  test('a plaintext that cannot be encrypted anew is wiped', async (t) => {
    let message: Uint8Array | undefined
    const { decrypt } = rig.pool
    t.mock.method(rig.pool, 'decrypt', async (...given: Parameters<CryptoPool['decrypt']>) => {
      message = await decrypt(...given)
      return message
    })
    const { status } = await say(rig, 'POST', 'transit/rewrap/app', {
      token: web,
      body: { ciphertext, key_version: 7 },
    })
    assert.equal(status, 400)
    assert.ok(message !== undefined && message.length > 0 && message.every((byte) => byte === 0))
  })

  test('a token is refused only when the changes of other nodes have arrived', async (t) => {
    const json = { name: 'ci' }
    const { token } = (await expect(201, rig.call('POST', '/users/web/access-keys', { as: 'web', json }))).json()
    const { tokens } = rig.appliance.open()
    await lagging((hasArrived) => {
      const read = tokens.read.bind(tokens)
      t.mock.method(tokens, 'read', (text: string) => (hasArrived() ? read(text) : null))
      return expectStatus(200, 'GET', 'auth/token/lookup-self', { token })
    })
  })

  test('a key and a tag are missed only when the changes of other nodes have arrived', async (t) => {
    const { keys, users } = rig.appliance.open()
    const [peek, tagsOf] = [keys.peek.bind(keys), users.tagsOfCaller.bind(users)]
    const given = { token: web, body: { plaintext: SECRET, input: SECRET } }
    const asked = ['encrypt/app', 'datakey/plaintext/app', 'hmac/app', 'sign/signer'].map(
      (path) => ['POST', path] as const,
    )
    for (const [method, path] of [...asked, ['GET', 'keys/app'], ['GET', 'export/public-key/signer']] as const)
      await lagging((hasArrived) => {
        t.mock.method(keys, 'peek', (...of: Parameters<typeof peek>) => (hasArrived() ? peek(...of) : undefined))
        return expectStatus(200, method, `transit/${path}`, method === 'GET' ? { token: web } : given)
      })
    const as = { as: 'admin' }
    await expect(204, rig.call('PUT', '/keys/app/restrictions/tags/berlin', as))
    await expect(204, rig.call('PUT', '/users/web/tags/berlin', as))
    await lagging((hasArrived) => {
      t.mock.method(users, 'tagsOfCaller', (caller: Caller) => (hasArrived() ? tagsOf(caller) : []))
      return expectStatus(200, 'POST', 'transit/encrypt/app', given)
    })
    assert.equal((await say(rig, 'POST', 'transit/encrypt/none', given)).status, 400)
    await expect(204, rig.call('DELETE', '/keys/app/restrictions/tags/berlin', as))
  })

  test('a login that waited over a new passphrase gets no token under the new one', async () => {
    const { users, tokens } = rig.appliance.open()
    const caller = users.caller('admin')
    assert.ok(caller)
    assert.ok(tokens.issue(caller, 'userpass', 60).text)
    const passphrase = `${ADMIN} anew`
    await expect(204, rig.call('POST', '/users/admin/passphrase', { as: 'admin', json: { passphrase } }))
    rig.use('admin', passphrase)
    assert.throws(() => tokens.issue(caller, 'userpass', 60), { code: 'unauthenticated' })
  })

  test('after a lock no token and no secret is made of the key that was wiped', async () => {
    const { users, tokens } = rig.appliance.open()
    const caller = users.caller('web')
    assert.ok(caller)
    const { text } = tokens.issue(caller, 'userpass', 60)
    await expect(204, rig.call('POST', '/lock', { as: 'admin' }))
    assert.throws(() => tokens.accessKey('COFRAAAAAAAAAAAAAAAA').secret, { code: 'unavailable' })
    assert.throws(() => tokens.issue(caller, 'userpass', 60), { code: 'unavailable' })
    assert.throws(() => tokens.read(text), { code: 'unavailable' })
  })
})
