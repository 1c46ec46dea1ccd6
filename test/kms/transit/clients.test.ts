// @test long 60
/** Programs that nobody here wrote, unmodified: the command bao, `bao server` unsealed by Coffer, and hvac. */

import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { expect } from '../../support/appliance.ts'
import { ADMIN, type Appliance, addUser, passphraseOf, startProvisioned } from '../../support/suite.ts'
import { PYTHON } from '../../support/tools.ts'

const BAO = join(dirname(PYTHON), 'bao')
const skip =
  process.env.CI !== 'true' && !existsSync(BAO) && 'to run this: .venv/bin/pip install -r test/accept/requirements.txt'
const STARTED_MS_MAX = 60_000

describe('programs for OpenBao', { skip }, () => {
  let appliance: Appliance
  const home = mkdtempSync(join(tmpdir(), 'coffer-bao-'))
  before(async () => {
    appliance = await startProvisioned()
    await addUser(appliance, 'web', 'Operator')
    const json = { transit: 'on', tokenHours: 1 }
    await expect(204, appliance.call('PUT', '/config/interfaces', { as: ADMIN, json }))
  })
  after(async () => {
    await appliance.dispose()
    rmSync(home, { recursive: true, force: true })
  })

  const address = () => `https://${appliance.host}:${appliance.port}`
  const environment = (token?: string, at = address()) => ({
    PATH: process.env.PATH,
    HOME: home,
    BAO_ADDR: at,
    BAO_SKIP_VERIFY: 'true',
    ...(token !== undefined && { BAO_TOKEN: token }),
  })
  const bao = async (token: string | undefined, ...args: string[]): Promise<string> =>
    (await promisify(execFile)(BAO, args, { env: environment(token) })).stdout.trim()
  const logIn = (user: string, passphrase: string) =>
    bao(undefined, 'write', '-field=token', `auth/userpass/login/${user}`, `password=${passphrase}`)
  const admin = () => logIn('admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  const web = () => logIn('web', passphraseOf('web'))
  const createKey = async (name: string, type: string) =>
    bao(await admin(), 'write', '-f', `transit/keys/${name}`, `type=${type}`)

  test('the command bao logs in, makes, lists and reads keys, encrypts, signs, and ends its token', async () => {
    await createKey('app', 'aes256-gcm96')
    await createKey('signer', 'ecdsa-p256')
    const token = await web()
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

  test('bao server seals itself with a key here, and unseals by itself when it starts again', async (t) => {
    await createKey('autounseal', 'aes256-gcm96')
    const token = await bao(await web(), 'token', 'create', '-period=24h', '-field=token')
    const port = await freePort()
    const config = join(home, 'server.hcl')
    const directory = join(home, 'server')
    mkdirSync(directory)
    writeFileSync(
      config,
      `api_addr = "http://127.0.0.1:${port}"
cluster_addr = "http://127.0.0.1:${await freePort()}"
storage "raft" {
  path    = "${directory}"
  node_id = "one"
}
listener "tcp" {
  address     = "127.0.0.1:${port}"
  tls_disable = true
}
seal "transit" {
  address         = "${address()}"
  token           = "${token}"
  key_name        = "autounseal"
  mount_path      = "transit/"
  tls_skip_verify = "true"
}
`,
    )
    const own = `http://127.0.0.1:${port}`
    const ask = async (...args: string[]) =>
      (await promisify(execFile)(BAO, args, { env: environment(undefined, own) })).stdout
    const start = async () => {
      const server = spawn(BAO, ['server', `-config=${config}`], { env: environment(), stdio: 'pipe' })
      const end = async () => {
        if (server.exitCode !== null) return
        server.kill()
        await once(server, 'exit')
      }
      t.after(end)
      await answering(own)
      return end
    }
    const end = await start()
    const init = ['operator', 'init', '-recovery-shares=1', '-recovery-threshold=1', '-format=json']
    assert.ok(JSON.parse(await ask(...init)).root_token)
    assert.match(await ask('status'), /Sealed +false/)
    await end()
    await start()
    const limit = Date.now() + STARTED_MS_MAX
    while (!/Sealed +false/.test(await ask('status').catch(({ stdout }) => stdout ?? ''))) {
      assert.ok(Date.now() < limit, 'still sealed')
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })

  test('hvac encrypts, signs, works in batches and looks up its token', async () => {
    await createKey('hvac', 'aes256-gcm96')
    await createKey('hvac-signer', 'ed25519')
    const program = `
import base64, hvac, os
client = hvac.Client(url=os.environ["BAO_ADDR"], verify=False)
client.auth.userpass.login(username="web", password=os.environ["PASSPHRASE"])
transit = client.secrets.transit
plain = base64.b64encode(b"hello").decode()
sealed = transit.encrypt_data(name="hvac", plaintext=plain)["data"]["ciphertext"]
assert transit.decrypt_data(name="hvac", ciphertext=sealed)["data"]["plaintext"] == plain
many = transit.encrypt_data(name="hvac", batch_input=[{"plaintext": plain}] * 3)["data"]["batch_results"]
assert len(many) == 3
assert transit.generate_data_key(name="hvac", key_type="plaintext")["data"]["plaintext"]
assert transit.rewrap_data(name="hvac", ciphertext=sealed)["data"]["ciphertext"] != sealed
signature = transit.sign_data(name="hvac-signer", hash_input=plain)["data"]["signature"]
assert transit.verify_signed_data(name="hvac-signer", hash_input=plain, signature=signature)["data"]["valid"]
assert transit.read_key(name="hvac-signer")["data"]["type"] == "ed25519"
mac = transit.generate_hmac(name="hvac", hash_input=plain)["data"]["hmac"]
assert transit.verify_signed_data(name="hvac", hash_input=plain, hmac=mac)["data"]["valid"]
print(transit.hash_data(hash_input=plain)["data"]["sum"])
assert client.lookup_token()["data"]["display_name"] == "userpass-web"
client.auth.token.renew_self()
client.auth.token.revoke_self()
`
    const env = { ...environment(), PASSPHRASE: passphraseOf('web'), PYTHONWARNINGS: 'ignore' }
    const { stdout } = await promisify(execFile)(PYTHON, ['-c', program], { env })
    assert.equal(stdout.trim(), createHash('sha256').update('hello').digest('hex'))
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

async function answering(url: string): Promise<void> {
  const limit = Date.now() + STARTED_MS_MAX
  for (;;) {
    const answer = await fetch(`${url}/v1/sys/seal-status`).catch(() => null)
    if (answer?.ok) return
    assert.ok(Date.now() < limit, 'bao server does not answer')
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
