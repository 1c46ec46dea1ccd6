/** Lines of the log and of the audit log for the use of keys on the wire. firmware/kms/transit/CONTRACT.md, "Audit". */

import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { expect } from '../../support/appliance.ts'
import type { Rig } from '../../support/in-process.ts'
import { openTransit, say } from './rig.ts'

const PLAINTEXT = Buffer.from('never logged').toString('base64')

describe('use of keys', () => {
  let rig: Rig
  let [admin, web] = ['', '']
  before(async () => {
    ;({ rig, admin, web } = await openTransit())
    await say(rig, 'POST', 'transit/keys/app', { token: admin })
    await say(rig, 'POST', 'transit/keys/signer', { token: admin, body: { type: 'ed25519' } })
  })
  after(() => rig.close())

  let before_ = 0
  beforeEach(() => {
    before_ = rig.entries.length
  })
  const lines = () =>
    rig.entries
      .slice(before_)
      .filter(({ source }) => source === 'keys')
      .map(({ message }) => message.replace(/^.*Z web from \S+: /, ''))
  const use = (path: string, body: object, token = web) => say(rig, 'POST', `transit/${path}`, { token, body })
  const audited = async () => {
    const { lines } = (await expect(200, rig.call('GET', '/audit?limit=1', { as: 'admin' }))).json()
    return lines[0]
  }

  test('a batch of a thousand items is one line of the log, with the number of each result', async () => {
    const items = Array.from({ length: 1000 }, (_, n) => ({ plaintext: n % 100 === 0 ? '?' : PLAINTEXT }))
    const { status, body } = await use('encrypt/app', { batch_input: items, partial_failure_response_code: 200 })
    assert.equal(status, 200)
    assert.deepEqual(lines(), ['encrypt app: ok 990 times'])
    const ciphertexts = body.data.batch_results.filter(({ ciphertext }: { ciphertext?: string }) => ciphertext)
    before_ = rig.entries.length
    const damaged = { ciphertext: `${ciphertexts[0].ciphertext.slice(0, -4)}AAAA` }
    await use('rewrap/app', { batch_input: [...ciphertexts.slice(0, 3), damaged] })
    assert.deepEqual(lines(), ['decrypt app: ok 3 times, decrypt app: invalid, encrypt app: ok 3 times'])
    before_ = rig.entries.length
    await use('sign/signer', { batch_input: Array.from({ length: 70 }, () => ({ input: PLAINTEXT })) })
    assert.deepEqual(lines(), ['sign signer: ok 70 times'])
    assert.doesNotMatch(JSON.stringify(rig.entries), new RegExp(`never logged|${PLAINTEXT}|${web}`))
  })

  test('a single use is one line, and requests at the same time have one each', async () => {
    const body = { plaintext: PLAINTEXT }
    await Promise.all([use('encrypt/app', body), use('encrypt/app', body), use('hmac/app', { input: PLAINTEXT })])
    assert.deepEqual(lines().sort(), ['encrypt app: ok', 'encrypt app: ok', 'sign app: ok'])
  })

  test('the audit log has one line for a batch, with items, version and access key', async () => {
    const json = { name: 'ci' }
    const { id, token } = (await expect(201, rig.call('POST', '/users/web/access-keys', { as: 'web', json }))).json()
    const batch_input = Array.from({ length: 7 }, () => ({ plaintext: PLAINTEXT }))
    const { last } = (await expect(200, rig.call('GET', '/audit?limit=1', { as: 'admin' }))).json()
    assert.equal((await use('encrypt/app', { batch_input }, token)).status, 200)
    const line = await audited()
    const { action, key, kind, user, facts } = line
    assert.deepEqual(
      [action, key, kind, user, facts],
      ['POST /v1/transit/encrypt/{name}', 'app', 'use', 'web', { items: '7', version: '1', accessKey: id }],
      JSON.stringify([line, last]),
    )
  })

  test('the use of a key that does not exist is a refusal, not a use', async () => {
    for (const [path, body] of [
      ['encrypt/missing', { plaintext: PLAINTEXT }],
      ['decrypt/missing', { ciphertext: 'vault:v1:AAAA' }],
      ['rewrap/missing', { ciphertext: 'vault:v1:AAAA' }],
      ['datakey/plaintext/missing', {}],
      ['hmac/missing', { input: PLAINTEXT }],
      ['sign/missing', { input: PLAINTEXT }],
      ['verify/missing', { input: PLAINTEXT, signature: 'vault:v1:AAAA' }],
      ['verify/missing', { input: PLAINTEXT, hmac: 'vault:v1:AAAA' }],
    ] as const) {
      const { status, body: answer } = await use(path, body)
      assert.equal(status, 400)
      assert.match(answer.errors[0], / key not found$/)
      const { key, kind, result, user } = await audited()
      assert.deepEqual([key, kind, result, user], ['missing', 'refusal', 400, 'web'], path)
    }
    await use('encrypt/app', { plaintext: PLAINTEXT })
    assert.equal((await audited()).kind, 'use')
  })

  test('the answer has one form, whatever the client accepts', async () => {
    for (const accept of ['text/html', 'application/x-pem-file', 'application/json;q=0'])
      for (const [method, path, status] of [
        ['GET', 'sys/health', 200],
        ['GET', 'transit/keys/app', 200],
        ['POST', 'transit/encrypt/app', 200],
        ['GET', 'transit/encrypt/app', 405],
      ] as const) {
        const body = method === 'POST' ? { plaintext: PLAINTEXT } : undefined
        const answer = await say(rig, method, path, { token: web, body, headers: { accept } })
        assert.equal(answer.status, status, `${method} ${path} ${accept}`)
      }
  })

  test('while the audit log cannot be written, a batch gives nothing out', async (t) => {
    const { audit } = rig.appliance
    assert.ok(audit)
    const batch_input = Array.from({ length: 100 }, () => ({ plaintext: PLAINTEXT }))
    t.mock.method(audit, 'record', () => Promise.reject(new Error('ENOSPC')))
    const { status, body } = await use('encrypt/app', { batch_input })
    assert.ok(status >= 500, String(status))
    assert.equal(body.data, undefined)
    assert.doesNotMatch(JSON.stringify(body), /vault:v1/)
    t.mock.restoreAll()
    assert.equal((await use('encrypt/app', { batch_input })).status, 200)
  })
})
