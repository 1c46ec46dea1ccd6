/**
 * A check of the contract: requests, and what they are answered, however the appliance is reached. All of them are one table
 * (table.ts), which goes through each way to reach one.
 */

import assert from 'node:assert/strict'
import { type Client, expect, provision } from '../support/appliance.ts'
import type { Call, Reply } from '../support/client.ts'
import { AES, ED25519, SYSTEM_TIME } from './samples.ts'

/** Facilities that a way of running may lack: the TLS port, source addresses of one's own, processors that derive keys from passphrases in no time. */
export type Need = 'port' | 'addresses' | 'processors'

export interface Check {
  section: string
  name: string
  needs?: readonly Need[]
  run(appliance: Client, look: Look): Promise<void>
}

export type Look = (reply: Pick<Reply, 'status' | 'reason' | 'headers' | 'bytes'>, what: string) => void

export const UNLOCK = 'words that unlock it'
export const ADMIN = 'admin:words of the administrator'
export const OPERATOR = 'operator:words of operator'
export const METRICS = 'metrics:words of metrics'
export const BACKUP = 'backup:words of backup'

export const as = (credentials: string, call: Call = {}): Call => ({ as: credentials, ...call })

export async function furnish(appliance: Client): Promise<void> {
  const adminPassphrase = ADMIN.slice('admin:'.length)
  await provision(appliance, { unlockPassphrase: UNLOCK, adminPassphrase, systemTime: SYSTEM_TIME })
  for (const [id, role] of [
    ['operator', 'Operator'],
    ['operator2', 'Operator'],
    ['metrics', 'Metrics'],
    ['backup', 'Backup'],
    ['inside~admin', 'Administrator'],
  ] as const) {
    const json = { realName: `name of ${id}`, role, passphrase: `words of ${id}` }
    await expect(201, appliance.call('PUT', `/users/${id}`, as(ADMIN, { json })))
  }
  await expect(204, appliance.call('PUT', '/namespaces/inside', as(ADMIN)))
  const put = (id: string, json: unknown) => expect(204, appliance.call('PUT', `/keys/${id}`, as(ADMIN, { json })))
  await put('ed', ED25519)
  await put('shared', ED25519)
  await put('restricted', { ...ED25519, restrictions: { tags: ['t'] } })
  await put('aes', AES)
  const certificate = { body: 'certificate', type: 'application/octet-stream' }
  await expect(201, appliance.call('PUT', '/keys/ed/cert', as(ADMIN, certificate)))
}

export const lookAtAnswer: Look = ({ status, headers, bytes }, what) => {
  if (status === 204 || status === 304) assert.equal(bytes.length, 0, what)
  if (status < 400) return
  assert.equal(headers['content-type'], 'application/json', what)
  assert.equal(typeof JSON.parse(bytes.toString()).message, 'string', what)
  assert.equal(/^Basic realm="[^"]*"/.test(headers['www-authenticate'] ?? ''), status === 401, what)
  assert.equal(headers.allow !== undefined, status === 405, what)
  assert.equal(headers['retry-after'], status === 429 ? '1' : undefined, what)
  assert.equal(headers.etag, undefined, what)
}

export const lookAtPort: Look = (reply, what) => {
  const { status, reason, headers } = reply
  lookAtAnswer(reply, what)
  assert.equal(reason, REASONS[status], what)
  assert.match(String(headers['strict-transport-security']), /max-age=\d+/, what)
  assert.equal(headers['x-frame-options'], 'DENY', what)
  assert.equal(headers['x-content-type-options'], 'nosniff', what)
  assert.equal(headers['x-xss-protection'], '1; mode=block', what)
  assert.equal(headers['x-permitted-cross-domain-policies'], 'none', what)
  assert.match(String(headers.date), /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/, what)
  assert.equal(headers.vary, 'Accept, Accept-Encoding, Accept-Charset, Accept-Language', what)
  assert.equal(headers['transfer-encoding'], undefined, what)
  assert.equal(headers['content-length'] === undefined, status === 304, what)
}

/** RFC 9110 section 15, and what Node calls 413. */
const REASONS: Record<number, string> = {
  200: 'OK',
  201: 'Created',
  204: 'No Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  501: 'Not Implemented',
}
