// @test long 15
/** The command bao, unmodified. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passphraseOf } from '../../support/suite.ts'
import { needsBao, startCofferForBao } from './bao.ts'

test('the command bao logs in, lists and reads keys, encrypts, signs, and ends its token', needsBao(), async (t) => {
  const { ask: bao } = await startCofferForBao(t, { app: [], signer: ['type=ecdsa-p256'] })
  const credentials = ['username=web', `password=${passphraseOf('web')}`]
  const token = await bao(undefined, 'login', '-method=userpass', '-no-store', '-token-only', ...credentials)
  assert.deepEqual(JSON.parse(await bao(token, 'list', '-format=json', 'transit/keys')), ['app', 'signer'])
  assert.equal(await bao(token, 'read', '-field=type', 'transit/keys/app'), 'aes256-gcm96')
  const ciphertext = await bao(token, 'write', '-field=ciphertext', 'transit/encrypt/app', 'plaintext=aGVsbG8=')
  const plaintext = await bao(token, 'write', '-field=plaintext', 'transit/decrypt/app', `ciphertext=${ciphertext}`)
  assert.equal(plaintext, 'aGVsbG8=')
  const signature = await bao(token, 'write', '-field=signature', 'transit/sign/signer', 'input=aGVsbG8=')
  const check = ['transit/verify/signer', 'input=aGVsbG8=', `signature=${signature}`]
  assert.equal(await bao(token, 'write', '-field=valid', ...check), 'true')
  assert.match(await bao(token, 'status'), /Sealed +false/)
  const looked = JSON.parse(await bao(token, 'token', 'lookup', '-format=json'))
  assert.equal(looked.data.display_name, 'userpass-web')
  await bao(token, 'token', 'renew')
  assert.equal(await bao(token, 'token', 'capabilities', 'transit/encrypt/app'), 'update')
  await bao(token, 'token', 'revoke', '-self')
  await assert.rejects(bao(token, 'read', 'transit/keys/app'), /permission denied/)
})
