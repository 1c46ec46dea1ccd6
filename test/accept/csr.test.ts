/** Certificate signing requests, read back by OpenSSL: contract 6.5. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, credentialsOf, startProvisioned } from '../support/suite.ts'
import { fileNeeds } from '../support/tools.ts'
import { CURVES } from './oracle.ts'

await fileNeeds('openssl')

let appliance: Appliance
const operator = credentialsOf('operator')

const openssl = (input: string, ...args: string[]) =>
  execFileSync('openssl', args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] })
const post = (id: string, json: unknown) => appliance.call('POST', `/keys/${id}/csr.pem`, { as: operator, json })

async function request(id: string, subject: unknown): Promise<string> {
  const pem = (await expect(200, post(id, subject))).text()
  assert.match(
    pem,
    /^-----BEGIN CERTIFICATE REQUEST-----\n([A-Za-z0-9+/=]{1,64}\n)+-----END CERTIFICATE REQUEST-----\n$/,
  )
  return pem
}

const text = (pem: string) => openssl(pem, 'req', '-noout', '-text', '-nameopt', 'utf8,sep_multiline,sname', '-verify')
const structure = (pem: string) => openssl(pem, 'asn1parse')

function alternativeNames(pem: string): string[] | undefined {
  const match = /X509v3 Subject Alternative Name:( critical)?\s*\n\s*(.*)\n/.exec(text(pem))
  if (!match) return undefined
  assert.equal(match[1], undefined, 'not critical')
  return match[2]!.split(', ')
}

describe('certificate signing requests', () => {
  before(async () => {
    appliance = await startProvisioned()
    await addUser(appliance, 'operator', 'Operator')
    const json = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'], id: 'k' }
    await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json }))
  })
  after(() => appliance?.dispose())

  const signatures: [string, object, string][] = [
    ['RSA', { type: 'RSA', length: 2048, mechanisms: ['RSA_Decryption_RAW'] }, 'sha256WithRSAEncryption'],
    ['Curve25519', { type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }, 'ED25519'],
    ...CURVES.map(({ type, digestBytes }): [string, object, string] => [
      type,
      { type, mechanisms: ['ECDSA_Signature'] },
      `ecdsa-with-SHA${8 * digestBytes}`,
    ]),
  ]
  for (const [id, json, algorithm] of signatures) {
    test(`a key of type ${id} signs its request with ${algorithm}, whatever its mechanisms and tags`, async () => {
      const generate = { ...json, id, restrictions: { tags: ['nobody-has-this'] } }
      await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json: generate }))
      const pem = await request(id, { commonName: 'example.org' })
      const shown = text(pem)
      assert.match(shown, new RegExp(`Signature Algorithm: ${algorithm}\\n`))
      const publicPem = await expect(200, appliance.call('GET', `/keys/${id}/public.pem`, { as: operator }))
      assert.equal(openssl(pem, 'req', '-noout', '-pubkey'), publicPem.text())
      const { operations } = (await appliance.call('GET', `/keys/${id}`, { as: ADMIN })).json<{ operations: number }>()
      assert.equal(operations, 0, 'a request is no operation')
    })
  }

  test('the subject is in its order, one attribute after the other, with the right string types', async () => {
    const pem = await request('k', {
      emailAddress: 'kmg@example.org',
      organizationalUnitName: 'Teltow Büro',
      organizationName: 'Company',
      localityName: 'Teltow',
      stateOrProvinceName: 'Brandenburg',
      countryName: 'DE',
      commonName: 'Zoë \u{1f511}',
      subjectAltNames: [], // by default the common name would be one, and a DNS name is ASCII
    })
    const subject = openssl(pem, 'req', '-noout', '-subject', '-nameopt', 'utf8,sep_multiline,sname')
    assert.deepEqual(
      subject
        .split('\n')
        .slice(1)
        .filter((line) => line !== '')
        .map((line) => line.trim()),
      [
        'CN=Zoë \u{1f511}',
        'C=DE',
        'ST=Brandenburg',
        'L=Teltow',
        'O=Company',
        'OU=Teltow Büro',
        'emailAddress=kmg@example.org',
      ],
    )
    const lines = structure(pem).split('\n')
    const typeAfter = (name: string) =>
      /prim: (\w+)/.exec(lines[lines.findIndex((line) => line.endsWith(`:${name}`)) + 1]!)![1]
    assert.equal(typeAfter('countryName'), 'PRINTABLESTRING')
    assert.equal(typeAfter('emailAddress'), 'IA5STRING')
    for (const name of [
      'commonName',
      'stateOrProvinceName',
      'localityName',
      'organizationName',
      'organizationalUnitName',
    ]) {
      assert.equal(typeAfter(name), 'UTF8STRING', name)
    }
  })

  test('empty members are absent and the common name is needed', async () => {
    const pem = await request('k', { commonName: 'x', countryName: '', organizationName: '', emailAddress: '' })
    assert.equal(openssl(pem, 'req', '-noout', '-subject').trim().replace(/\s/g, ''), 'subject=CN=x')
    await expect(400, post('k', { commonName: '' }))
    await expect(400, post('k', { countryName: 'DE' }))
    await expect(400, post('k', { commonName: 'x', serialNumber: '1' }))
    await expect(400, post('k', { commonName: 1 }))
  })

  test('alternative names are the common name, none, or those that are asked for', async () => {
    assert.deepEqual(alternativeNames(await request('k', { commonName: 'example.org' })), ['DNS:example.org'])
    const person = await request('k', { commonName: 'Jane User 2' })
    assert.equal(alternativeNames(person), undefined, 'a name with spaces is no DNS name')
    assert.doesNotMatch(structure(person), /Extension Request/)
    const withNull = { commonName: 'example.org', subjectAltNames: null }
    assert.deepEqual(alternativeNames(await request('k', withNull)), ['DNS:example.org'])
    const none = await request('k', { commonName: 'example.org', subjectAltNames: [] })
    assert.equal(alternativeNames(none), undefined)
    assert.doesNotMatch(structure(none), /Extension Request/)
    const subjectAltNames = ['example.org', '*.example.org', 'IP:192.0.2.7', 'IP:2001:db8::1', 'localhost']
    assert.deepEqual(alternativeNames(await request('k', { commonName: 'x', subjectAltNames })), [
      'DNS:example.org',
      'DNS:*.example.org',
      'IP Address:192.0.2.7',
      'IP Address:2001:DB8:0:0:0:0:0:1',
      'DNS:localhost',
    ])
    for (const bad of ['IP:', 'IP:example.org', 'IP:300.1.1.1', 'IP:1.2.3', 'IP:::g', 'IP:1.2.3.4/24']) {
      const { status } = await post('k', { commonName: 'x', subjectAltNames: [bad] })
      assert.equal(status, 400, bad)
    }
    for (const bad of ['x', {}, [1], [null], 1]) {
      await expect(400, post('k', { commonName: 'x', subjectAltNames: bad }))
    }
  })
})
