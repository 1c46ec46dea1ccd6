/** Every JSON body of the API with its members, transcribed from section 4 of the contract: what hostile input starts from. */

import assert from 'node:assert/strict'
import { type Client, expect, provision, stateOf } from '../support/appliance.ts'
import { ADMIN, credentialsOf, passphraseOf, UNLOCK } from '../support/suite.ts'

export type Kind = 'text' | 'passphrase' | 'label' | 'id' | 'base64' | 'integer' | 'time' | 'word' | 'list' | 'object'

export interface Member {
  kind: Kind
  required: boolean
  /** `null` means absent here. */
  nullable?: boolean
}

export interface BodyCase {
  method: 'POST' | 'PUT'
  path: string
  state: 'Unprovisioned' | 'Locked' | 'Operational'
  as?: string
  valid: Record<string, unknown>
  members: Record<string, Member>
}

export const OPERATOR = credentialsOf('operator')

const need = (kind: Kind): Member => ({ kind, required: true })
const may = (kind: Kind): Member => ({ kind, required: false })
const orNull = (kind: Kind): Member => ({ kind, required: false, nullable: true })

const seed = Buffer.alloc(32, 7).toString('base64')
const block = Buffer.alloc(16, 7).toString('base64')

const keyImport = {
  valid: {
    type: 'Curve25519',
    mechanisms: ['EdDSA_Signature'],
    private: { data: seed },
    label: 'label',
    restrictions: { tags: ['tag'] },
  },
  members: {
    type: need('word'),
    mechanisms: need('list'),
    private: need('object'),
    label: may('label'),
    restrictions: may('object'),
  },
}
const user = {
  valid: { realName: 'somebody', role: 'Operator', passphrase: 'passphrase of somebody' },
  members: { realName: need('text'), role: need('word'), passphrase: need('passphrase') },
}

const operational = (method: 'POST' | 'PUT', path: string, as = ADMIN) =>
  ({ method, path, as, state: 'Operational' }) as const

export const BODIES: readonly BodyCase[] = [
  {
    method: 'POST',
    path: '/provision',
    state: 'Unprovisioned',
    valid: {
      unlockPassphrase: UNLOCK,
      adminPassphrase: ADMIN.slice('admin:'.length),
      systemTime: '2026-11-21T12:00:00Z',
    },
    members: { unlockPassphrase: need('passphrase'), adminPassphrase: need('passphrase'), systemTime: need('time') },
  },
  {
    method: 'POST',
    path: '/unlock',
    state: 'Locked',
    valid: { passphrase: UNLOCK },
    members: { passphrase: need('passphrase') },
  },
  { ...operational('POST', '/random', OPERATOR), valid: { length: 8 }, members: { length: need('integer') } },
  { ...operational('POST', '/keys'), ...keyImport },
  { ...operational('PUT', '/keys/{new}'), ...keyImport },
  {
    ...operational('POST', '/keys/generate'),
    valid: {
      type: 'EC_P256',
      mechanisms: ['ECDSA_Signature'],
      length: 256,
      id: '{new}',
      restrictions: { tags: ['tag'] },
      label: 'label',
    },
    members: {
      type: need('word'),
      mechanisms: need('list'),
      length: may('integer'),
      id: may('id'),
      restrictions: may('object'),
      label: may('label'),
    },
  },
  {
    ...operational('PUT', '/keys/ed/label'),
    valid: { label: 'label' },
    members: { label: need('label') },
  },
  {
    ...operational('POST', '/keys/ed/csr.pem'),
    valid: {
      commonName: 'example.org',
      countryName: 'DE',
      stateOrProvinceName: 'Brandenburg',
      localityName: 'Teltow',
      organizationName: 'organization',
      organizationalUnitName: 'unit',
      emailAddress: 'somebody@example.org',
      subjectAltNames: ['example.org', 'IP:192.0.2.1'],
    },
    members: {
      commonName: need('text'),
      countryName: may('text'),
      stateOrProvinceName: may('text'),
      localityName: may('text'),
      organizationName: may('text'),
      organizationalUnitName: may('text'),
      emailAddress: may('text'),
      subjectAltNames: orNull('list'),
    },
  },
  {
    ...operational('POST', '/keys/ed/sign', OPERATOR),
    valid: { mode: 'EdDSA', message: block },
    members: { mode: need('word'), message: need('base64') },
  },
  {
    ...operational('POST', '/keys/aes/encrypt', OPERATOR),
    valid: { mode: 'AES_CBC', message: block, iv: block },
    members: { mode: need('word'), message: need('base64'), iv: orNull('base64') },
  },
  {
    ...operational('POST', '/keys/aes/decrypt', OPERATOR),
    valid: { mode: 'AES_CBC', encrypted: block, iv: block },
    members: { mode: need('word'), encrypted: need('base64'), iv: { kind: 'base64', required: true } },
  },
  {
    ...operational('POST', '/keys/{key}/move'),
    valid: { newId: '{new}' },
    members: { newId: need('id') },
  },
  { ...operational('POST', '/users'), ...user },
  { ...operational('POST', '/users/void~'), ...user },
  { ...operational('PUT', '/users/{new}'), ...user },
  {
    ...operational('POST', '/users/somebody/passphrase'),
    valid: { passphrase: 'passphrase of somebody' },
    members: { passphrase: need('passphrase') },
  },
  {
    ...operational('PUT', '/config/unlock-passphrase'),
    valid: { newPassphrase: UNLOCK, currentPassphrase: UNLOCK },
    members: { newPassphrase: need('passphrase'), currentPassphrase: need('text') },
  },
  {
    ...operational('PUT', '/config/unattended-boot'),
    valid: { status: 'off' },
    members: { status: need('word') },
  },
  {
    ...operational('PUT', '/config/time'),
    valid: { time: '2026-11-21T12:00:00Z' },
    members: { time: need('time') },
  },
]

export async function furnish(appliance: Client): Promise<void> {
  const systemTime = new Date().toISOString()
  await provision(appliance, { unlockPassphrase: UNLOCK, adminPassphrase: ADMIN.slice('admin:'.length), systemTime })
  for (const id of ['operator', 'somebody']) {
    const json = { realName: `name of ${id}`, role: 'Operator', passphrase: passphraseOf(id) }
    await expect(201, appliance.call('PUT', `/users/${id}`, { as: ADMIN, json }))
  }
  await restoreKeys(appliance)
}

export async function restoreKeys(appliance: Client): Promise<void> {
  const ed25519 = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], private: { data: seed } }
  const aes = {
    type: 'Generic',
    mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'],
    private: { data: block },
  }
  for (const [id, json] of Object.entries({ ed: ed25519, movable: ed25519, aes })) {
    const { status } = await appliance.call('PUT', `/keys/${id}`, { as: ADMIN, json })
    assert([204, 409].includes(status), `${id}: ${status}`)
  }
}

export const keyIds = async (appliance: Client): Promise<string[]> =>
  (await expect(200, appliance.call('GET', '/keys', { as: ADMIN }))).json<{ id: string }[]>().map(({ id }) => id)

/** Every key and user can still be read, and the firmware never went down: it would come back Locked. */
export async function expectWhole(appliance: Client, state: BodyCase['state']): Promise<void> {
  assert.equal(await stateOf(appliance), state)
  if (state !== 'Operational') return
  for (const id of await keyIds(appliance)) await expect(200, appliance.call('GET', `/keys/${id}`, { as: ADMIN }))
  const users = (await expect(200, appliance.call('GET', '/users', { as: ADMIN }))).json<{ user: string }[]>()
  for (const { user } of users) await expect(200, appliance.call('GET', `/users/${user}`, { as: ADMIN }))
  const json = { mode: 'EdDSA', message: 'AAAA' }
  await expect(200, appliance.call('POST', '/keys/ed/sign', { as: OPERATOR, json }))
}
