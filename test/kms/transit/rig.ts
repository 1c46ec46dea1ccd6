/** An appliance in the test's process with the users of the recorded questions: administrator `admin`, operator `web`. */

import assert from 'node:assert/strict'
import { expect } from '../../support/appliance.ts'
import { makeOperationalRig, type Rig } from '../../support/in-process.ts'

export const ADMIN = 'staple of an administrator'
export const OPERATOR = 'operator of the web'

export async function wiredRig(): Promise<Rig> {
  const rig = await makeOperationalRig()
  await expect(204, rig.call('POST', '/users/admin/passphrase', { as: 'admin', json: { passphrase: ADMIN } }))
  rig.use('admin', ADMIN)
  const json = { realName: 'Web', role: 'Operator', passphrase: OPERATOR }
  await expect(201, rig.call('PUT', '/users/web', { as: 'admin', json }))
  rig.use('web', OPERATOR)
  return rig
}

/** With the API switched on, and a token of each user. */
export async function openTransit(): Promise<{ rig: Rig; admin: string; web: string }> {
  const rig = await wiredRig()
  await switchWire(rig, 'on')
  return { rig, admin: await logIn(rig, 'admin'), web: await logIn(rig, 'web') }
}

export const switchWire = (rig: Rig, transit: 'on' | 'off') =>
  expect(204, rig.call('PUT', '/config/interfaces', { as: 'admin', json: { transit, tokenHours: 24 } }))

interface Said {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into member by member
  body: any
}

/** Asks the wire; `token` is sent as `x-vault-token`. */
export async function say(
  rig: Rig,
  method: string,
  path: string,
  { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Said> {
  const { status, bytes } = await rig.call(method, `//v1/${path}`, {
    headers: { ...(token !== undefined && { 'x-vault-token': token }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status, body: bytes.length === 0 ? null : JSON.parse(String(bytes)) }
}

/** Data of an answer to a request below `transit/` that must succeed. */
export async function ask(rig: Rig, token: string, path: string, body?: object, method = 'POST') {
  const said = await say(rig, method, `transit/${path}`, { token, ...(body && { body }) })
  assert.equal(said.status, 200, `${path}: ${JSON.stringify(said.body)}`)
  return said.body.data
}

export async function logIn(rig: Rig, user: 'admin' | 'web', password = user === 'admin' ? ADMIN : OPERATOR) {
  const { status, body } = await say(rig, 'POST', `auth/userpass/login/${user}`, { body: { password } })
  assert.equal(status, 200, JSON.stringify(body))
  return body.auth.client_token as string
}
