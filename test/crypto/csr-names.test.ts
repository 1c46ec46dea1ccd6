/** Alternative names of certificate requests for which none are given. Contract section 6.5. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import test from 'node:test'
import { operationalRig } from '../support/in-process.ts'
import { fileNeeds } from '../support/tools.ts'

await fileNeeds('openssl')

const namesIn = (pem: string): string | null => {
  const text = execFileSync('openssl', ['req', '-noout', '-text', '-nameopt', 'utf8'], { input: pem, encoding: 'utf8' })
  return /Subject Alternative Name:\s*\n\s*(.*)/.exec(text)?.[1] ?? null
}

test('a common name that is a DNS name is the alternative name, another one gives none', async (t) => {
  const rig = await operationalRig(t)
  await rig.key('key')
  const csr = async (json: object) => {
    const answer = await rig.call('POST', '/keys/key/csr.pem', { as: 'admin', json })
    assert.equal(answer.status, 200, answer.text())
    return namesIn(answer.text())
  }
  for (const commonName of ['example.org', 'localhost', '*.example.org', 'a_b.example', 'a-1.example.'])
    assert.equal(await csr({ commonName }), `DNS:${commonName}`)
  assert.equal(await csr({ commonName: 'müller.example' }), 'DNS:xn--mller-kva.example')
  for (const commonName of [
    'Müller GmbH',
    'My Server',
    'IP:192.0.2.1',
    'IP:nonsense',
    '山田 太郎',
    'a@b.example',
    '-',
    'a..b',
  ])
    assert.equal(await csr({ commonName }), null, commonName)
  assert.equal(await csr({ commonName: 'Müller GmbH', subjectAltNames: ['example.org'] }), 'DNS:example.org')
  const { status, json } = await rig.call('POST', '/keys/key/csr.pem', {
    as: 'admin',
    json: { commonName: 'x', subjectAltNames: ['Müller GmbH'] },
  })
  assert.equal(status, 400)
  assert.match(json().message, /^subjectAltNames: /)
})
