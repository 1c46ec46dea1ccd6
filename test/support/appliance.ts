import assert from 'node:assert/strict'
import type { Call, Reply } from './client.ts'

export const UNLOCK_PASSPHRASE = 'unlock passphrase'
export const ADMIN_PASSPHRASE = 'administrator passphrase'
export const ADMIN = `admin:${ADMIN_PASSPHRASE}`

/** One interface, three ways: in process (in-process.ts), a process over TLS (process.ts, suite.ts), a machine (machine.ts). */
export interface Client {
  /** `path` is relative to `/api/v1`; a full target starts with `//`, e.g. `//docs`. */
  call(method: string, path: string, call?: Call): Promise<Reply>
}

export interface Provisioning {
  unlockPassphrase?: string
  adminPassphrase?: string
  systemTime?: string
}

export async function provision(appliance: Client, provisioning: Provisioning = {}): Promise<void> {
  const json = {
    unlockPassphrase: UNLOCK_PASSPHRASE,
    adminPassphrase: ADMIN_PASSPHRASE,
    systemTime: new Date().toISOString(),
    ...provisioning,
  }
  await expect(204, appliance.call('POST', '/provision', { json }))
}

export async function stateOf(appliance: Client): Promise<string> {
  return (await expect(200, appliance.call('GET', '/health/state'))).json<{ state: string }>().state
}

/** Awaits the reply and throws, with what the server said, unless it has the status. */
export async function expect(status: number, pending: Promise<Reply>): Promise<Reply> {
  const reply = await pending
  const said = reply.text().slice(0, 300)
  assert.equal(reply.status, status, `${reply.request}: expected ${status}, got ${reply.status} ${said}`)
  return reply
}
