/** Published clients beside ML-DSA keys, of which they know nothing. Contract sections 4.4 and 4.6. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, passphraseOf, startProvisioned } from '../support/suite.ts'
import { needsPython, PYTHON } from '../support/tools.ts'

const program = join(import.meta.dirname, 'unknown-types.py')
const TIME_MS_MAX = 300_000
const KEYS = 10

const run = (address: string) =>
  promisify(execFile)(PYTHON, [program, address, ADMIN.slice('admin:'.length), passphraseOf('operator')], {
    timeout: TIME_MS_MAX,
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' },
  })

test(
  'the SDK and the command line of NetHSM list and use what they know, and would stop at the rest',
  needsPython(),
  async (t) => {
    const appliance = await startProvisioned()
    t.after(() => appliance.dispose())
    await addUser(appliance, 'operator', 'Operator')
    const generate = (key: object) => expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json: key }))
    await generate({ id: 'rsa', type: 'RSA', length: 2048, mechanisms: ['RSA_Signature_PSS_SHA256'] })
    await generate({ id: 'ec', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] })
    for (let n = 0; n < KEYS; n++)
      await generate({ id: `new-${n}`, type: 'ML_DSA_65', mechanisms: ['ML_DSA_Signature'] })

    const { types, listed } = JSON.parse((await run(`${appliance.host}:${appliance.port}`)).stdout)
    assert.deepEqual(types, { ec: 'EC_P256', rsa: 'RSA' })
    assert.match(listed, /rsa/)
    assert.doesNotMatch(listed, /new-/)
    await assert.rejects(run(await withoutSwitch(t, appliance)), /ML_DSA/)
  },
)

async function withoutSwitch(t: TestContext, { host, port }: Appliance): Promise<string> {
  const { key, cert } = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))
  const server = createServer({ key: Buffer.from(key), cert }, ({ method, url = '/', headers }, response) => {
    const path = /^\/api\/v1\/keys(?:\?|$)/.test(url) ? `${url}${url.includes('?') ? '&' : '?'}types=all` : url
    const ahead = request({ host, port, method, path, headers, rejectUnauthorized: false }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    ahead.on('error', () => response.destroy())
    ahead.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}
