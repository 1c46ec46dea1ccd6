// @test long 15
/** The published JavaScript client node-vault. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { expect } from '../../support/appliance.ts'
import { ADMIN, addUser, passphraseOf, startProvisioned } from '../../support/suite.ts'
import { NODE_VAULT, needsNodeVault } from '../../support/tools.ts'
import { environment, run } from './bao.ts'

const PROGRAM = `
const assert = require('node:assert/strict')
const { ADMIN_PASSPHRASE, PASSPHRASE, BAO_ADDR } = process.env
const open = (token) => require('node-vault')({ endpoint: BAO_ADDR, requestOptions: { strictSSL: false }, token })
const input = Buffer.from('hello').toString('base64')
async function main() {
  const anonymous = open()
  assert.equal((await anonymous.initialized()).initialized, true)
  assert.equal((await anonymous.status()).sealed, false)
  const admin = open()
  await admin.userpassLogin({ username: 'admin', password: ADMIN_PASSPHRASE })
  await admin.write('transit/keys/app', {})
  await admin.write('transit/keys/signer', { type: 'ed25519' })
  const web = open()
  await web.approleLogin({ role_id: 'web', secret_id: PASSPHRASE })
  assert.deepEqual((await web.list('transit/keys')).data.keys, ['app', 'signer'])
  assert.equal((await web.read('transit/keys/signer')).data.type, 'ed25519')
  const { ciphertext } = (await web.encryptData({ name: 'app', plaintext: input })).data
  assert.equal((await web.decryptData({ name: 'app', ciphertext })).data.plaintext, input)
  const batch_input = Array.from({ length: 3 }, () => ({ plaintext: input }))
  assert.equal((await web.write('transit/encrypt/app', { batch_input })).data.batch_results.length, 3)
  const { signature } = (await web.write('transit/sign/signer', { input })).data
  assert.equal((await web.write('transit/verify/signer', { input, signature })).data.valid, true)
  assert.equal((await web.tokenLookupSelf()).data.display_name, 'approle')
  await web.tokenRenewSelf()
  const { client_token } = (await web.tokenCreate({ ttl: '10m' })).auth
  assert.equal((await open(client_token).tokenLookupSelf()).data.display_name, 'token')
  await assert.rejects(web.write('transit/keys/other', {}), /permission denied/)
  await web.tokenRevokeSelf()
  await assert.rejects(web.read('transit/keys/app'), /permission denied/)
  await assert.rejects(open(client_token).read('transit/keys/app'), /permission denied/)
  console.log('done')
}
main()
`

test('node-vault makes, lists and uses keys, and ends its tokens', needsNodeVault(), async (t) => {
  const appliance = await startProvisioned()
  t.after(() => appliance.dispose())
  await addUser(appliance, 'web', 'Operator')
  await expect(204, appliance.call('PUT', '/config/interfaces', { as: ADMIN, json: { transit: 'on', tokenHours: 1 } }))
  const env = {
    ...environment('/nonexistent', `https://${appliance.host}:${appliance.port}`),
    NODE_PATH: join(NODE_VAULT, 'node_modules'),
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    ADMIN_PASSPHRASE: ADMIN.slice(ADMIN.indexOf(':') + 1),
    PASSPHRASE: passphraseOf('web'),
  }
  assert.match(await run(process.execPath, ['--no-warnings', '-e', PROGRAM], env), /done$/)
})
