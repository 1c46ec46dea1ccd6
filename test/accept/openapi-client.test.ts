// @test long 120
/** A client that openapi-generator makes of the API description: it compiles, and signs. For Go, whose constants share one scope. */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { verify } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { hasGo } from '../../image/etcd-program.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, addUser, provision, startAppliance } from '../support/suite.ts'
import { needs, PYTHON } from '../support/tools.ts'

const GENERATOR = join(dirname(PYTHON), 'openapi-generator-cli')
const MESSAGE = Buffer.from('a message')

function needsGenerator(): { skip: string | false } {
  const options = needs('java')
  if (options.skip !== false || process.env.CI === 'true') return options
  if (!hasGo()) return { skip: 'to run this: install Go, see image/etcd/README.md' }
  const skip = !existsSync(GENERATOR) && 'to run this: .venv/bin/pip install -r test/accept/requirements.txt'
  return { skip }
}

test('the Go client of openapi-generator compiles and signs', needsGenerator(), async (t) => {
  const appliance = await startAppliance()
  t.after(() => appliance.dispose())
  const { call } = appliance
  await provision(appliance)
  const operator = await addUser(appliance, 'operator', 'Operator')
  const key = { id: 'web', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  await expect(201, call('POST', '/keys/generate', { as: ADMIN, json: key }))

  const place = mkdtempSync(join(tmpdir(), 'coffer-client-'))
  t.after(() => rmSync(place, { recursive: true, force: true }))
  writeFileSync(join(place, 'openapi.json'), (await expect(200, call('GET', '/openapi.json'))).bytes)
  const run = (program: string, ...parameters: string[]) => promisify(execFile)(program, parameters, { cwd: place })
  const names = ['--git-user-id', 'coffer', '--git-repo-id', 'client']
  await run(GENERATOR, 'generate', '--generator-name', 'go', '--input-spec', 'openapi.json', '--output', '.', ...names)
  mkdirSync(join(place, 'sign'))
  copyFileSync(join(import.meta.dirname, 'openapi-client.go'), join(place, 'sign/main.go'))
  await run('go', 'build', '-o', 'signer', './sign')
  const base = `https://${appliance.host}:${appliance.port}/api/v1`
  const passphrases = [ADMIN, operator].map((credentials) => credentials.slice(credentials.indexOf(':') + 1))
  const { stdout } = await run(join(place, 'signer'), base, ...passphrases, MESSAGE.toString('base64'))
  const publicKey = (await expect(200, call('GET', '/keys/web/public.pem', { as: ADMIN }))).text()
  assert.ok(verify(null, MESSAGE, publicKey, Buffer.from(stdout, 'base64')))
})
