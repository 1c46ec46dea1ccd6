// @test long 120
/** Backups across the border: a NetHSM's restored here, ours read by what is published for NetHSM's. Contract sections 8.1 to 8.3. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createDecipheriv, createPublicKey, hash, randomBytes, verify } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { expect, stateOf } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { needsPython, PYTHON } from '../support/tools.ts'
import { BACKUP, credentialsOf, fillStore, UNLOCK } from './fill-store.ts'

const run = promisify(execFile)
const NITROPY = join(dirname(PYTHON), 'nitropy')
const ADMIN = credentialsOf('admin')
const SIGNER = credentialsOf('signer')

let program: string
before(async () => {
  program = await buildForTests()
})

const start = (t: TestContext, data = makeDataDirectory(t)): Coffer => startCoffer(t, { program, data })

async function callPython<T>(...parameters: string[]): Promise<T> {
  const { stdout } = await run(PYTHON, [join(import.meta.dirname, 'nethsm-form.py'), ...parameters], {
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
    maxBuffer: 64 * 1024 * 1024,
  })
  return JSON.parse(stdout) as T
}

interface Written {
  keys: Record<string, { type: string; public: string | null; operations: number }>
  tls: string
  generic: string
}

const restore = async (coffer: Coffer, path: string, passphrase: string, as?: string): Promise<void> => {
  const query = new URLSearchParams({ backupPassphrase: passphrase })
  const call = { body: readFileSync(path), ...(as !== undefined && { as }) }
  await expect(204, coffer.call('POST', `/system/restore?${query}`, call))
}

const json = async (coffer: Coffer, path: string, as = ADMIN) =>
  (await expect(200, coffer.call('GET', path, { as }))).json() as never

const idsOf = async (coffer: Coffer, as = ADMIN): Promise<string[]> =>
  ((await json(coffer, '/keys', as)) as { id: string }[]).map(({ id }) => id)

const DIGEST = 'SHA256'
const CURVE_HASHES: Record<string, string> = {
  EC_P384: 'sha384',
  EC_P521: 'sha512',
  BrainpoolP384: 'sha384',
  BrainpoolP512: 'sha512',
}

for (const version of ['0', '1']) {
  test(`a backup of a NetHSM, version ${version}, is moved in with one request`, {
    ...needsPython(),
    timeout: 180_000,
  }, async (t) => {
    const path = join(makeDataDirectory(t), 'backup')
    const written = await callPython<Written>('write', version, path, BACKUP, UNLOCK)
    const coffer = start(t)
    await restore(coffer, path, BACKUP)
    assert.equal(await stateOf(coffer), 'Locked')
    await expect(403, coffer.call('POST', '/unlock', { json: { passphrase: 'not the passphrase' } }))
    await new Promise((resolve) => setTimeout(resolve, 1100)) // the limit on attempts
    await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))

    assert.deepEqual(
      await json(coffer, '/users'),
      ['admin', 'saver', 'signer', 'team~chief'].map((user) => ({ user })),
    )
    assert.deepEqual(await json(coffer, '/users/signer'), { realName: 'Sigrún \\ "the signer"', role: 'Operator' })
    assert.deepEqual(await json(coffer, '/users/signer/tags'), ['berlin'])
    assert.deepEqual(await json(coffer, '/namespaces'), [{ id: 'team' }])
    assert.deepEqual(await idsOf(coffer), Object.keys(written.keys).sort())
    assert.deepEqual(await idsOf(coffer, credentialsOf('team~chief')), ['special'])
    const special: { label: string; restrictions: { tags: string[] } } = await json(coffer, '/keys/special')
    assert.equal(special.label, 'ein Schlüssel')
    assert.deepEqual(special.restrictions, { tags: ['berlin'] })
    const cert = await expect(200, coffer.call('GET', '/keys/special/cert', { as: ADMIN }))
    assert.deepEqual(
      [...cert.bytes],
      Array.from({ length: 256 }, (_, byte) => byte),
    )
    const network = { ipAddress: '10.1.2.3', netmask: '255.255.240.0', gateway: '10.1.0.1' }
    assert.deepEqual(await json(coffer, '/config/network'), network)
    const logging = { ipAddress: '10.1.0.9', port: 514, logLevel: 'warning' }
    assert.deepEqual(await json(coffer, '/config/logging'), logging)
    const tls = await expect(200, coffer.call('GET', '/config/tls/cert.pem', { as: ADMIN }))
    assert.equal(tls.text(), written.tls)

    for (const [id, key] of Object.entries(written.keys)) await use(coffer, id, key, written)
    // Each has logged in by now, and with that has a digest of ours.
    await expect(200, coffer.call('GET', '/keys', { as: SIGNER }))
    await expect(401, coffer.call('GET', '/keys', { as: 'signer:passphrase of saver' }))

    // The backup passphrase moved in, too: what is made now is restored without it.
    const again = await expect(200, coffer.call('POST', '/system/backup', { as: credentialsOf('saver') }))
    const next = join(makeDataDirectory(t), 'next')
    writeFileSync(next, again.bytes)
    const { users } = await callPython<{ users: object }>('read', next, BACKUP, UNLOCK)
    assert.deepEqual(Object.keys(users).sort(), ['admin', 'saver', 'signer', 'team~chief'])
    const other = start(t)
    await restore(other, next, BACKUP)
    await expect(204, other.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
    await expect(200, other.call('GET', '/keys', { as: SIGNER }))
  })
}

/** Signs or decrypts with a key, and checks that with what its maker says of it. */
async function use(
  coffer: Coffer,
  id: string,
  { type, public: pem, operations }: Written['keys'][string],
  { generic }: Written,
) {
  const shown: { operations: number; type: string } = await json(coffer, `/keys/${id}`)
  assert.equal(shown.operations, operations)
  assert.equal(shown.type, type)
  const call = async (what: string, body: object) =>
    (await expect(200, coffer.call('POST', `/keys/${id}/${what}`, { as: SIGNER, json: body }))).json() as never
  if (pem === null) {
    const message = randomBytes(32)
    const { encrypted, iv }: { encrypted: string; iv: string } = await call('encrypt', {
      mode: 'AES_CBC',
      message: message.toString('base64'),
    })
    const decipher = createDecipheriv(
      'aes-256-cbc',
      Buffer.from(generic, 'hex'),
      Buffer.from(iv, 'base64'),
    ).setAutoPadding(false)
    assert.deepEqual(Buffer.concat([decipher.update(encrypted, 'base64'), decipher.final()]), message)
    return
  }
  const data = randomBytes(100)
  const algorithm = type === 'Curve25519' ? null : (CURVE_HASHES[type] ?? 'sha256')
  const message = algorithm === null ? data : Buffer.from(hash(algorithm, data, 'hex'), 'hex')
  const mode = type === 'RSA' ? `PSS_${DIGEST}` : type === 'Curve25519' ? 'EdDSA' : 'ECDSA'
  const { signature }: { signature: string } = await call('sign', { mode, message: message.toString('base64') })
  const key = { key: createPublicKey(pem), ...(type === 'RSA' && { padding: 6, saltLength: 32 }) }
  assert.ok(verify(algorithm, data, key, Buffer.from(signature, 'base64')), id)
}

interface Read {
  users: Record<string, { name: string; role: string; tags: string[] }>
  namespaces: string[]
  keys: Record<
    string,
    {
      public: string | null
      raw: number | null
      mechanisms: string[]
      operations: number
      tags: string[]
      label: string
      cert: [string, string] | null
    }
  >
  versions: string[]
  settings: { tls: string; 'ip-config': unknown; 'log-config': unknown }
}

test('the published reader reads our backups, and who has both passphrases all that is in them', {
  ...needsPython(),
  timeout: 180_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  await fillStore(data, 60)
  const coffer = start(t, data)
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  const network = { ipAddress: '10.1.2.3', netmask: '255.255.240.0', gateway: '10.1.0.1' }
  await expect(204, coffer.call('PUT', '/config/network', { as: ADMIN, json: network }))
  const rsa = { id: 'rsa', type: 'RSA', length: 2048, mechanisms: ['RSA_Signature_PSS_SHA256'] }
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: rsa }))
  const { bytes } = await expect(200, coffer.call('POST', '/system/backup', { as: credentialsOf('saver') }))
  const path = join(makeDataDirectory(t), 'backup')
  writeFileSync(path, bytes)
  const { users, namespaces, keys, versions, settings } = await callPython<Read>('read', path, BACKUP, UNLOCK)
  assert.deepEqual(namespaces, ['team'])
  assert.deepEqual(versions, ['0', '0', '0'])
  assert.deepEqual(users.signer, { name: 'name of signer', role: 'Operator', tags: ['berlin'] })
  assert.deepEqual(Object.keys(users).sort(), ['admin', 'saver', 'signer', 'team~chief'])
  assert.deepEqual(settings['ip-config'], { ipv4: { cidr: '10.1.2.3/20', gateway: '10.1.0.1' } })
  assert.equal(settings.tls, (await expect(200, coffer.call('GET', '/config/tls/cert.pem', { as: ADMIN }))).text())
  assert.equal(Object.keys(keys).length, 61)
  for (const [path, key] of Object.entries(keys)) {
    const [id, as] = path.startsWith('.team/') ? [path.slice(6), credentialsOf('team~chief')] : [path, ADMIN]
    const shown: { mechanisms: string[]; operations: number; label?: string; restrictions: { tags?: string[] } } =
      await json(coffer, `/keys/${id}`, as)
    assert.deepEqual(key.mechanisms, shown.mechanisms)
    assert.equal(key.operations, shown.operations)
    assert.equal(key.label, shown.label ?? '')
    assert.deepEqual(key.tags, shown.restrictions.tags ?? [])
    if (key.public === null) assert.equal(key.raw, 1024)
    else assert.equal(key.public, (await expect(200, coffer.call('GET', `/keys/${id}/public.pem`, { as }))).text())
    if (key.cert === null) await expect(404, coffer.call('GET', `/keys/${id}/cert`, { as }))
    else {
      const cert = await expect(200, coffer.call('GET', `/keys/${id}/cert`, { as }))
      assert.deepEqual(key.cert, [cert.headers['content-type'], cert.bytes.toString('hex')])
    }
  }
})

test('the published command line validates and restores a backup of rotated keys, which has version 1 of each', {
  ...needsPython(),
  timeout: 180_000,
}, async (t) => {
  const data = makeDataDirectory(t)
  await fillStore(data, 20)
  const coffer = start(t, data)
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  for (const id of ['rotated', 'trimmed']) {
    const key = { id, type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
    await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: key }))
    for (let n = 0; n < 2; n++) await expect(201, coffer.call('POST', `/keys/${id}/versions`, { as: ADMIN }))
  }
  const limits = { minDecryption: 2, minEncryption: 2, minAvailable: 2 }
  await expect(204, coffer.call('PUT', '/keys/trimmed/versions', { as: ADMIN, json: limits }))
  const publicOf = async (at: Coffer) =>
    (await expect(200, at.call('GET', '/keys/rotated/public.pem', { as: ADMIN }))).text()
  const pem = await publicOf(coffer)
  const saver = credentialsOf('saver')
  const { bytes, headers } = await expect(200, coffer.call('POST', '/system/backup?format=nethsm', { as: saver }))
  assert.equal(headers['coffer-backup-omits'], 'key-versions')
  const path = join(makeDataDirectory(t), 'backup')
  writeFileSync(path, bytes)

  const nethsm = async (...parameters: string[]) =>
    (await run(NITROPY, ['nethsm', ...parameters], { env: { PATH: process.env.PATH, HOME: makeDataDirectory(t) } }))
      .stdout
  assert.match(await nethsm('validate-backup', '--backup-passphrase', BACKUP, path), /metadata and content are valid/)
  const { keys } = await callPython<Read>('read', path, BACKUP, UNLOCK)
  assert.equal(keys.rotated?.public, pem)
  assert.equal(keys.trimmed, undefined)
  assert.equal(Object.keys(keys).length, 21)

  const other = start(t)
  const { host, port } = await other.target()
  const target = ['--host', `${host}:${port}`, '--no-verify-tls']
  assert.match(await nethsm(...target, 'restore', '--backup-passphrase', BACKUP, path), /Backup restored/)
  await expect(204, other.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  assert.equal(await publicOf(other), pem)
  const versions: { latest: number } = await json(other, '/keys/rotated/versions')
  assert.equal(versions.latest, 1)
  await expect(404, other.call('GET', '/keys/trimmed/versions', { as: ADMIN }))
  const message = randomBytes(32)
  const call = { as: SIGNER, json: { mode: 'EdDSA', message: message.toString('base64') } }
  const signed = await expect(200, other.call('POST', '/keys/rotated/sign', call))
  const signature = Buffer.from(signed.json<{ signature: string }>().signature, 'base64')
  assert.ok(verify(null, message, pem, signature))
})
