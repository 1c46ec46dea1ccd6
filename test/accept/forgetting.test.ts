// @test long 30
/** A locked Coffer holds no key: the memory of both its processes, read from outside after it was used as by its clients. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { isFast } from '../../firmware/crypto/engine/choice.ts'
import { decodeRsaPrivateKey } from '../../firmware/crypto/rsa/encoding.ts'
import { type ForeignKey, foreignKey, KINDS, type Kind, nameOf } from '../crypto/foreign-keys.ts'
import { NOTHING, type Piece, search, type Traces, tracesOf, tracesOfText } from '../crypto/memory-search.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, startProvisioned, UNLOCK } from '../support/suite.ts'

let appliance: Appliance
let operator: string
before(async () => {
  appliance = await startProvisioned()
  operator = await addUser(appliance, 'operator', 'Operator')
})
after(() => appliance.dispose())

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** Traces disappear some time after a lock: workers end, and garbage is collected. */
const LOOKS_MAX = 10 // each takes seconds
const BETWEEN_LOOKS_MS = 1000

const BOUNDARY = 'a-boundary'
const MESSAGE_BYTES: Partial<Record<Kind['type'], number>> = {
  EC_P384: 48,
  EC_P521: 64,
  BrainpoolP384: 48,
  BrainpoolP512: 64,
}

const GENERIC: Readonly<Record<string, string>> = { AES_CBC: 'AES_Decryption_CBC', XAES_GCM: 'XAES_Encryption_GCM' }

function mechanismOf({ type, mode }: Kind): string {
  if (type === 'RSA') return 'RSA_Signature_PSS_SHA256'
  if (type === 'Generic') return GENERIC[mode] ?? 'HMAC'
  return `${mode}_Signature`
}

function fieldsOf({ type }: Kind, stored: Uint8Array): Record<string, string> {
  if (type !== 'RSA') return { data: base64(stored) }
  const { p, q, e } = decodeRsaPrivateKey(stored)
  return { primeP: base64(p), primeQ: base64(q), publicExponent: base64(e) }
}

async function importPem(id: string, kind: Kind, pem: string): Promise<void> {
  const parts = [
    `content-disposition: form-data; name="arguments"\r\n\r\n{"mechanisms":["${mechanismOf(kind)}"]}`,
    `content-disposition: form-data; name="key_file"; filename="key.pem"\r\n\r\n${pem}`,
  ]
  const body = `${parts.map((part) => `--${BOUNDARY}\r\n${part}\r\n`).join('')}--${BOUNDARY}--\r\n`
  const type = `multipart/form-data; boundary=${BOUNDARY}`
  await expect(204, appliance.call('PUT', `/keys/${id}`, { as: ADMIN, type, body }))
}

async function importFields(id: string, kind: Kind, fields: Record<string, string>): Promise<void> {
  const json = { type: kind.type, mechanisms: [mechanismOf(kind)], private: fields }
  await expect(204, appliance.call('PUT', `/keys/${id}`, { as: ADMIN, json }))
}

async function use(id: string, { type, mode }: Kind): Promise<void> {
  const message = base64(new Uint8Array(MESSAGE_BYTES[type] ?? 32).fill(1))
  const json = mode === 'AES_CBC' ? { mode, encrypted: message, iv: base64(new Uint8Array(16)) } : { mode, message }
  const path = `/keys/${id}/${mode === 'AES_CBC' ? 'decrypt' : mode === 'XAES_GCM' ? 'encrypt' : 'sign'}`
  for (let i = 0; i < 3; i++) await expect(200, appliance.call('POST', path, { as: operator, json }))
}

let lastId = 0
/** Imports and uses a new key; gives what it may leave behind. */
async function useForeign(kind: Kind, form: 'PEM' | 'JSON'): Promise<Traces> {
  const id = `key${++lastId}`
  const { stored, pem }: ForeignKey = foreignKey(kind)
  const fields = fieldsOf(kind, stored)
  if (form === 'PEM') await importPem(id, kind, pem)
  else await importFields(id, kind, fields)
  await use(id, kind)
  const name = `${nameOf(kind)} from ${form}`
  if (form === 'PEM') return tracesOf(name, kind.type, stored, pem)
  return tracesOf(
    name,
    kind.type,
    stored,
    '',
    Object.entries(fields).flatMap(([name, text]) => (name === 'publicExponent' ? [] : [text])),
  )
}

const look = (all: readonly Traces[]): { pieces: Piece[]; factored: string[] } => {
  const found = appliance.processes().map((pid) => search(pid, all))
  return { pieces: found.flatMap(({ pieces }) => pieces), factored: found.flatMap(({ factored }) => factored) }
}

test('nothing is left of keys of every type, nor of the unlock passphrase, a moment after a lock', async () => {
  const all: Traces[] = [tracesOfText('unlock passphrase', UNLOCK)]
  for (const kind of KINDS) {
    if (kind.type !== 'Generic') all.push(await useForeign(kind, 'PEM'))
    all.push(await useForeign(kind, 'JSON'))
  }
  const open = look(all)
  for (const { name } of all.slice(1))
    assert.ok(
      open.pieces.some((piece) => piece.name === name),
      `${name}: not found while open`,
    )
  if (isFast) assert.equal(open.factored.length, 4)

  await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
  let locked = look(all)
  for (let looks = 1; !isDeepStrictEqual(locked, NOTHING) && looks < LOOKS_MAX; looks++) {
    await delay(BETWEEN_LOOKS_MS)
    locked = look(all)
  }
  assert.deepEqual(locked, NOTHING)
  assert.equal(await appliance.state(), 'Locked')
})
