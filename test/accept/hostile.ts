/** Shared by the suites of hostile clients: an appliance with two keys, raw requests, and a check of other clients. */

import { expect } from '../support/appliance.ts'
import { BASE, basic } from '../support/client.ts'
import { RawClient } from '../support/raw-client.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, startProvisioned } from '../support/suite.ts'

/** No client holds a connection longer than this without doing its part; contract 1.5 leaves the number open. */
export const CUT_MS_MAX = 90_000

export const operator = credentialsOf('operator')
export const authorization = `authorization: ${basic(operator)}\r\n`

export const head = (line: string, headers = '') => `${line} HTTP/1.1\r\nhost: coffer\r\n${headers}\r\n`
export const infoRequest = head(`GET ${BASE}/info`)

export async function startWithKeys(): Promise<Appliance> {
  const appliance = await startProvisioned()
  await addUser(appliance, 'operator', 'Operator')
  const secret = { data: Buffer.alloc(32, 7).toString('base64') }
  const ed = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], private: secret }
  await expect(204, appliance.call('PUT', '/keys/ed', { as: ADMIN, json: ed }))
  const aes = { type: 'Generic', mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'], private: secret }
  await expect(204, appliance.call('PUT', '/keys/aes', { as: ADMIN, json: aes }))
  return appliance
}

export async function statusOf(appliance: Appliance, text: string | Uint8Array): Promise<number> {
  const raw = await RawClient.connect(appliance)
  try {
    await raw.send(text)
    return (await raw.answers(1))[0]!.status
  } finally {
    raw.destroy()
  }
}

/** Others are served within the usual limits, by a firmware that never went down: it would come back Locked. */
export async function servesOthers(appliance: Appliance): Promise<void> {
  await expect(200, appliance.call('GET', '/keys/ed', { as: operator }))
  const json = { mode: 'EdDSA', message: 'AAAA' }
  await expect(200, appliance.call('POST', '/keys/ed/sign', { as: operator, json }))
}
