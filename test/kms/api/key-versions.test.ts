// @test short 15
/** Versions of keys on NetHSM's API, where a key is its version 1. Contract sections 3.2 and 7.11. */

import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { after, before, test } from 'node:test'
import { expect } from '../../support/appliance.ts'
import type { Reply } from '../../support/client.ts'
import { makeOperationalRig, type Rig, UNLOCK } from '../../support/in-process.ts'

const MESSAGE = Buffer.from('message')
const SUBJECT = { commonName: 'versions.example' }

let rig: Rig
before(async () => {
  rig = await makeOperationalRig()
})
after(() => rig.close())

const admin = (method: string, path: string, json?: unknown): Promise<Reply> =>
  rig.call(method, path, { as: 'admin', ...(json !== undefined && { json }) })
const web = (method: string, path: string, json?: unknown): Promise<Reply> =>
  rig.call(method, path, { as: 'operator', ...(json !== undefined && { json }) })

async function make(id: string, type = 'Curve25519', mechanisms = ['EdDSA_Signature'], length?: number) {
  await expect(201, admin('POST', '/keys/generate', { id, type, mechanisms, ...(length && { length }) }))
}

const rotate = async (id: string) =>
  (await expect(201, admin('POST', `/keys/${id}/versions`))).json<{ version: number }>()
const limit = (id: string, limits: object) => admin('PUT', `/keys/${id}/versions`, limits)
const textOf = async (path: string) => (await expect(200, web('GET', path))).text()
const sign = (id: string) => web('POST', `/keys/${id}/sign`, { mode: 'EdDSA', message: MESSAGE.toString('base64') })
const etagOf = async (path: string) => (await expect(200, admin('GET', path))).headers.etag

test('public key, signatures, CSR and certificate are those of version 1 before and after 50 rotations', async () => {
  await make('site')
  await expect(
    201,
    rig.call('PUT', '/keys/site/cert', { as: 'admin', body: 'certificate', type: 'application/octet-stream' }),
  )
  const pem = await textOf('/keys/site/public.pem')
  const { operations: _, ...shown } = (await expect(200, web('GET', '/keys/site'))).json<Record<string, unknown>>()
  for (let n = 2; n <= 51; n++) assert.deepEqual(await rotate('site'), { version: n })
  assert.equal(await textOf('/keys/site/public.pem'), pem)
  const { operations: __, ...after } = (await expect(200, web('GET', '/keys/site'))).json<Record<string, unknown>>()
  assert.deepEqual(after, shown)
  const { signature } = (await expect(200, sign('site'))).json<{ signature: string }>()
  const publicKey = createPublicKey(pem)
  assert.ok(verify(null, MESSAGE, publicKey, Buffer.from(signature, 'base64')))
  const csr = (await expect(200, web('POST', '/keys/site/csr.pem', SUBJECT))).text()
  const raw = publicKey.export({ type: 'spki', format: 'der' })
  assert.ok(Buffer.from(csr.replace(/-----[A-Z ]+-----|\n/g, ''), 'base64').includes(raw), 'the request has the key')
  assert.equal(await textOf('/keys/site/cert'), 'certificate')
  const versions = (await expect(200, web('GET', '/keys/site/versions'))).json<{
    latest: number
    versions: { version: number; created: string; public: { data: string } }[]
  }>()
  assert.equal(versions.latest, 51)
  assert.deepEqual(
    versions.versions.map(({ version }) => version),
    Array.from({ length: 51 }, (_, at) => at + 1),
  )
  assert.equal(new Set(versions.versions.map(({ public: { data } }) => data)).size, 51)
  assert.deepEqual(versions.versions[0]!.public, shown.public)
  await expect(204, admin('POST', '/lock'))
  await expect(204, rig.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  assert.equal(await textOf('/keys/site/public.pem'), pem)
})

test('uses are 400 once version 1 is retired, and reading the key is not', async () => {
  await make('retired')
  await rotate('retired')
  await expect(204, limit('retired', { minEncryption: 2 }))
  for (const reply of [await sign('retired'), await web('POST', '/keys/retired/csr.pem', SUBJECT)]) {
    assert.equal(reply.status, 400)
    assert.deepEqual(reply.json(), { message: 'Version 1 of this key is retired' })
  }
  await expect(204, limit('retired', { minDecryption: 2 }))
  for (const path of ['', '/public.pem']) await expect(200, web('GET', `/keys/retired${path}`))
  await expect(204, limit('retired', { minDecryption: 1, minEncryption: 0 }))
  await expect(200, sign('retired'))
})

test('a key is 404 and in no list once version 1 is deleted, and can be deleted', async () => {
  await make('trimmed')
  await rotate('trimmed')
  const listTag = await etagOf('/keys')
  assert.equal((await limit('trimmed', { minAvailable: 2 })).status, 400)
  await expect(204, limit('trimmed', { minDecryption: 2, minEncryption: 2, minAvailable: 2 }))
  for (const path of ['', '/public.pem', '/cert'])
    assert.equal((await web('GET', `/keys/trimmed${path}`)).status, 404, path)
  assert.equal((await sign('trimmed')).status, 404)
  assert.equal((await web('POST', '/keys/trimmed/csr.pem', SUBJECT)).status, 404)
  assert.equal((await admin('POST', '/keys/trimmed/move', { newId: 'other' })).status, 404)
  assert.equal((await admin('PUT', '/keys/trimmed/label', { label: 'x' })).status, 404)
  assert.equal((await admin('PUT', '/keys/trimmed/restrictions/tags/x')).status, 404)
  for (const query of ['', '?types=all', '?details=true', '?filter=', '?label='])
    assert.ok(!(await textOf(`/keys${query}`)).includes('trimmed'), query)
  assert.notEqual(await etagOf('/keys'), listTag)
  assert.equal(
    (await admin('POST', '/keys/generate', { id: 'trimmed', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] })).status,
    409,
  )
  const { latest, versions } = (await expect(200, web('GET', '/keys/trimmed/versions'))).json<{
    latest: number
    versions: []
  }>()
  assert.deepEqual([latest, versions.length], [2, 1])
  const condition = (etag: string) =>
    rig.call('DELETE', '/keys/trimmed', { as: 'admin', headers: { 'if-match': etag } })
  assert.equal((await condition('"other"')).status, 412)
  await expect(204, condition((await etagOf('/keys/trimmed/versions'))!))
  assert.equal((await web('GET', '/keys/trimmed/versions')).status, 404)
})

test('each change of the versions is one of the key: its etags change, and conditions hold', async () => {
  await make('tagged')
  const paths = ['/keys', '/keys/tagged', '/keys/tagged/public.pem', '/keys/tagged/versions']
  const tags = async () => Promise.all(paths.map(etagOf))
  const before = await tags()
  await rotate('tagged')
  const rotated = await tags()
  for (const [at, path] of paths.entries()) assert.notEqual(rotated[at], before[at], path)
  const stale = await rig.call('POST', '/keys/tagged/versions', { as: 'admin', headers: { 'if-match': before[3]! } })
  assert.equal(stale.status, 412)
  const fresh = await rig.call('POST', '/keys/tagged/versions', { as: 'admin', headers: { 'if-match': rotated[3]! } })
  assert.equal(fresh.status, 201)
  assert.equal(fresh.headers.location, '/api/v1/keys/tagged/versions')
  await expect(204, limit('tagged', { minDecryption: 1 }))
  const unchanged = await tags()
  assert.deepEqual(unchanged, await tags())
})

test('the metrics count the versions of all keys', async () => {
  const counts = async () => {
    const { text } = await expect(
      200,
      rig.call('GET', '/metrics', { as: 'metrics', headers: { accept: 'text/plain' } }),
    )
    return ['keys', 'key_versions'].map((name) => Number(new RegExp(`^coffer_${name} (\\d+)$`, 'm').exec(text())?.[1]))
  }
  const [keys, versions] = await counts()
  await make('counted')
  await rotate('counted')
  assert.deepEqual(await counts(), [keys! + 1, versions! + 2])
  await expect(204, admin('DELETE', '/keys/counted'))
  assert.deepEqual(await counts(), [keys, versions])
})

test('keys that the transit API cannot use have one version, and odd requests are 400', async () => {
  await make('k1', 'EC_P256K1', ['ECDSA_Signature'])
  await make('plain', 'Generic', ['AES_Encryption_CBC'], 256)
  for (const id of ['k1', 'plain']) assert.equal((await admin('POST', `/keys/${id}/versions`)).status, 400, id)
  await make('odd')
  for (const body of [
    {},
    { minDecryption: 0 },
    { minDecryption: 2 },
    { minEncryption: -1 },
    { latest: 1 },
    { deletable: 1 },
    [],
    null,
  ])
    assert.equal((await limit('odd', body as object)).status, 400, JSON.stringify(body))
  assert.equal((await admin('POST', '/keys/missing/versions')).status, 404)
  assert.equal((await limit('missing', { minDecryption: 1 })).status, 404)
  for (const [method, body] of [['POST'], ['PUT', { minDecryption: 1 }]] as const)
    assert.equal((await web(method, '/keys/odd/versions', body)).status, 403)
  await expect(204, limit('odd', { deletable: true }))
  const { deletable } = (await expect(200, web('GET', '/keys/odd/versions'))).json<{ deletable: boolean }>()
  assert.equal(deletable, true)
})
