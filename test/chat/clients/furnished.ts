/** A whole Coffer with a chat whose certificate published clients verify. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { ADMIN, expect, provision } from '../../support/appliance.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { type Account, ask, keyOf, makeOrganization, statusOf } from '../support/process.ts'

export interface Scene {
  coffer: Coffer
  port: number
  owner: Account
  directory: string
  configure(account: Account): string
}

/** Its certificate is issued by an authority of the test, whose own is `ca.pem` there, for the address that clients connect to. */
export async function furnished(t: TestContext, program: string): Promise<Scene> {
  const coffer = startCoffer(t, { program, data: makeDataDirectory(t), settings: { COFFER_CHAT_PORT: '0' } })
  await provision(coffer)
  await makeOrganization(coffer)
  const directory = makeDataDirectory(t)
  await certify(coffer, directory)
  const { port } = await statusOf(coffer)
  const configure = ({ email, key }: Account) => {
    const path = join(directory, `zuliprc-${email}`)
    const lines = [`email=${email}`, `key=${key}`, `site=https://127.0.0.1:${port}`, `cert_bundle=${directory}/ca.pem`]
    writeFileSync(path, `[api]\n${lines.join('\n')}\n`, { mode: 0o600 })
    return path
  }
  return { coffer, port: port!, owner: await keyOf(port!), directory, configure }
}

export async function makeBot(port: number, owner: Account): Promise<Account> {
  const form = { full_name: 'A bot', short_name: 'robot', bot_type: '1' }
  const { status, body } = await ask(port, 'POST', '/bots', { as: owner, form })
  assert.equal(status, 200, JSON.stringify(body))
  const profile = await ask(port, 'GET', `/users/${body.user_id}`, { as: owner })
  return { email: profile.body.user.email, key: body.api_key }
}

async function certify(coffer: Coffer, directory: string): Promise<void> {
  const at = (name: string) => join(directory, name)
  const openssl = (...parameters: string[]) => execFileSync('openssl', parameters, { stdio: 'pipe' })
  const json = { commonName: 'chat' }
  const csr = await expect(200, coffer.call('POST', '/chat/tls/csr.pem', { as: ADMIN, json }))
  writeFileSync(at('request.pem'), csr.text())
  writeFileSync(at('names'), 'subjectAltName=IP:127.0.0.1')
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  openssl('req', '-x509', ...ec, '-keyout', at('ca.key'), '-out', at('ca.pem'), '-subj', '/CN=Test CA')
  const issuer = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial']
  openssl('x509', '-req', '-in', at('request.pem'), ...issuer, '-extfile', at('names'), '-out', at('chat.pem'))
  const chain = execFileSync('cat', [at('chat.pem'), at('ca.pem')])
  const put = { as: ADMIN, body: chain, type: 'application/x-pem-file' }
  await expect(201, coffer.call('PUT', '/chat/tls/cert.pem', put))
}
