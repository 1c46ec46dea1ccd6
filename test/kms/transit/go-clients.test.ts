// @test long 30
/** sops and cosign, which use Vault's transit engine. */

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { sopsAccess } from '../../../firmware/console/pages/access-key-commands.ts'
import { expect } from '../../support/appliance.ts'
import { makeDataDirectory } from '../../support/process.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, passphraseOf, startProvisioned } from '../../support/suite.ts'
import { GO_CLIENTS, needsGoClient } from '../../support/tools.ts'
import { environment, run } from './bao.ts'

const isSkipped = needsGoClient('sops').skip !== false && needsGoClient('cosign').skip !== false

describe('programs in Go', () => {
  let appliance: Appliance
  let [admin, web] = ['', '']
  const home = mkdtempSync(join(tmpdir(), 'coffer-go-'))
  before(async () => {
    if (isSkipped) return
    appliance = await startProvisioned()
    await addUser(appliance, 'web', 'Operator')
    const json = { transit: 'on', tokenHours: 1 }
    await expect(204, appliance.call('PUT', '/config/interfaces', { as: ADMIN, json }))
    admin = await logIn('admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
    web = await logIn('web', passphraseOf('web'))
  })
  after(async () => {
    await appliance?.dispose()
    rmSync(home, { recursive: true, force: true })
  })

  const address = () => `https://${appliance.host}:${appliance.port}`

  async function ask(token: string, method: string, path: string, json?: object) {
    const headers = { 'x-vault-token': token }
    const { status, json: body } = await appliance.call(method, `//v1/${path}`, { headers, ...(json && { json }) })
    assert.equal(status, 200, path)
    return body()
  }

  async function logIn(user: string, password: string): Promise<string> {
    const { auth } = await ask('', 'POST', `auth/userpass/login/${user}`, { password })
    return auth.client_token
  }

  test('sops encrypts and decrypts a file with a key here', needsGoClient('sops'), async () => {
    await ask(admin, 'POST', 'transit/keys/sops', {})
    writeFileSync(join(home, 'plain.yaml'), 'password: a secret\n')
    const sops = (...args: string[]) => run(join(GO_CLIENTS, 'sops'), args, environment(home, address(), web), home)
    const encrypted = await sops('encrypt', '--hc-vault-transit', `${address()}/v1/transit/keys/sops`, 'plain.yaml')
    assert.match(encrypted, /enc: vault:v1:/)
    assert.ok(!encrypted.includes('a secret'))
    writeFileSync(join(home, 'encrypted.yaml'), encrypted)
    assert.equal(await sops('decrypt', 'encrypted.yaml'), 'password: a secret')
  })

  test(
    'the commands for sops that the page shows with a new access key verify the certificate',
    needsGoClient('sops'),
    async (t) => {
      const there = makeDataDirectory(t)
      writeFileSync(join(there, 'plain.yaml'), 'password: a secret\n')
      const asWeb = { as: credentialsOf('web'), json: { name: 'sops' } }
      const { token } = (await expect(201, appliance.call('POST', '/users/web/access-keys', asWeb))).json()
      const commands = sopsAccess(address(), token)
      const inShell = (lines: string) =>
        run('sh', ['-e', '-c', lines], { PATH: `${GO_CLIENTS}:${process.env.PATH}`, HOME: there }, there)
      await assert.rejects(inShell(commands), /certificate signed by unknown authority/)
      const certificate = await expect(200, appliance.call('GET', '/config/tls/cert.pem', { as: ADMIN }))
      writeFileSync(join(there, 'coffer.pem'), certificate.text())
      assert.equal(await inShell(commands.replace('# export', 'export')), 'password: a secret')
      assert.match(readFileSync(join(there, 'encrypted.yaml'), 'utf8'), /enc: vault:v1:/)
    },
  )

  describe('cosign', needsGoClient('cosign'), () => {
    const cosign = (token: string, ...args: string[]) =>
      run(join(GO_CLIENTS, 'cosign'), args, environment(home, address(), token), home)
    const OFFLINE = ['--use-signing-config=false', '--tlog-upload=false', '--yes']
    const NO_LOG = '--insecure-ignore-tlog=true'
    before(() => {
      writeFileSync(join(home, 'blob'), 'signed')
      writeFileSync(join(home, 'other'), 'not signed')
    })

    /** Signs with the key here; returns the options that name the signature. */
    async function sign(name: string): Promise<string[]> {
      const bundle = ['--bundle', join(home, `${name}.bundle`)]
      await cosign(web, 'sign-blob', '--key', `hashivault://${name}`, ...bundle, ...OFFLINE, 'blob')
      return bundle
    }

    test('an administrator generates a P-256 key, an operator signs and verifies with it', async () => {
      await assert.rejects(cosign(web, 'generate-key-pair', '--kms', 'hashivault://cosign'), /permission denied/)
      await cosign(admin, 'generate-key-pair', '--kms', 'hashivault://cosign')
      assert.equal((await ask(web, 'GET', 'transit/keys/cosign')).data.type, 'ecdsa-p256')
      const bundle = await sign('cosign')
      const verify = (file: string) =>
        cosign(web, 'verify-blob', '--key', 'hashivault://cosign', ...bundle, NO_LOG, file)
      await verify('blob')
      await assert.rejects(verify('other'))
      await assert.rejects(cosign(admin, 'sign-blob', '--key', 'hashivault://cosign', ...bundle, ...OFFLINE, 'blob'))
    })

    /** cosign signs with PKCS #1 v1.5 and asks for PSS when it verifies on the server: OpenBao answers invalid, too. */
    test('an RSA signature is verified with the public key that cosign reads, and not on the server', async () => {
      await ask(admin, 'POST', 'transit/keys/rsa', { type: 'rsa-2048' })
      const bundle = await sign('rsa')
      writeFileSync(join(home, 'rsa.pem'), await cosign(web, 'public-key', '--key', 'hashivault://rsa'))
      const verify = (key: string, file: string) => cosign(web, 'verify-blob', '--key', key, ...bundle, NO_LOG, file)
      await verify('rsa.pem', 'blob')
      await assert.rejects(verify('rsa.pem', 'other'))
      await assert.rejects(verify('hashivault://rsa', 'blob'), /failed vault verification/)
    })

    /** cosign verifies Ed25519 keys of a server in its older form only. */
    test('signs and verifies with an Ed25519 key', async () => {
      await ask(admin, 'POST', 'transit/keys/ed25519', { type: 'ed25519' })
      const key = ['--key', 'hashivault://ed25519', '--new-bundle-format=false']
      await cosign(web, 'sign-blob', ...key, '--output-signature', 'ed25519.sig', ...OFFLINE, 'blob')
      const verify = (file: string) => cosign(web, 'verify-blob', ...key, '--signature', 'ed25519.sig', NO_LOG, file)
      await verify('blob')
      await assert.rejects(verify('other'), /failed vault verification/)
    })
  })
})
