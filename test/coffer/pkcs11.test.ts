/**
 * NetHSM's PKCS #11 module, with the configuration that the command writes. The module is published as a library of its own and in no
 * registry of packages: NETHSM_PKCS11_MODULE names it, and without it what it signs is not tried.
 */

import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { parse } from 'yaml'
import { ADMIN, type Appliance, addUser, startProvisioned } from '../support/suite.ts'
import { needs } from '../support/tools.ts'
import { createRig, type Rig } from './rig.ts'

const KEYS = {
  'p11-ec': ['--for', 'sign'],
  'p11-rsa': [
    ...['--type', 'RSA', '--length', '2048', '--mechanism', 'RSA_Signature_PKCS1'],
    ...['--mechanism', 'RSA_Signature_PSS_SHA256', '--mechanism', 'RSA_Decryption_PKCS1'],
  ],
}

const UNKNOWN = 10

let appliance: Appliance
let rig: Rig
before(async () => {
  appliance = await startProvisioned()
  rig = await createRig()
  await rig.connect(appliance)
  await addUser(appliance, 'web', 'Operator')
  await rig.coffer('profile', 'user', 'Operator', 'web')
  for (const [id, how] of Object.entries(KEYS)) await shell(`coffer key generate ${id} ${how.join(' ')}`)
  // The module stops at a type that it does not know: it must not meet one.
  for (let n = 0; n < UNKNOWN; n++) await shell(`coffer key generate new-${n} --for release`)
  writeFileSync(file('message'), 'a message\n')
})
after(async () => {
  rig.dispose()
  await appliance.dispose()
})

const file = (name: string) => join(rig.directory, name)

async function shell(line: string, more: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await rig.shell(line, more)
  assert.equal(code, 0, stderr + stdout)
  return stdout
}

test('the configuration names appliance, certificate and users, and no passphrase', async () => {
  const [written] = (await shell('coffer pkcs11 --pin-variable WEB_PIN')).split('\n')
  assert.equal(written, file('.config/nitrokey/p11nethsm.conf'))
  assert.equal(statSync(written!).mode & 0o777, 0o600)
  const text = readFileSync(written!, 'utf8')
  const certificate = new X509Certificate((await appliance.call('GET', '/config/tls/cert.pem', { as: ADMIN })).text())
  assert.deepEqual(parse(text), {
    slots: [
      {
        label: 'default',
        description: 'Coffer',
        operator: { username: 'web', password: 'env:WEB_PIN' },
        instances: [
          {
            url: `https://${appliance.host}:${appliance.port}/api/v1`,
            sha256_fingerprints: [certificate.fingerprint256],
          },
        ],
        retries: { count: 5, delay_seconds: 1 },
        timeout_seconds: 30,
      },
    ],
  })
  assert.doesNotMatch(text, /words of/)
})

test('a configuration that somebody else wrote is not overwritten', async () => {
  writeFileSync(file('other.conf'), 'slots: []\n')
  const { code, stderr } = await rig.coffer('pkcs11', '--output', 'other.conf')
  assert.deepEqual([code, /written by somebody else/.test(stderr)], [1, true], stderr)
  assert.equal(readFileSync(file('other.conf'), 'utf8'), 'slots: []\n')
  await shell('coffer pkcs11 && coffer pkcs11')
})

const module = process.env.NETHSM_PKCS11_MODULE
const skip =
  module === undefined
    ? 'to run this: NETHSM_PKCS11_MODULE=/path/to/libnethsm_pkcs11.so, which Nitrokey publishes, and sudo apt install opensc'
    : needs('pkcs11-tool', 'openssl').skip

const DIGEST_INFO_SHA256 = '3031300d060960864801650304020105000420' // RFC 8017 section 9.2 note 1
const hex = (id: string) => Buffer.from(id).toString('hex')
const PIN = { P11NETHSM_CONFIG_FILE: 'p11.conf' }
const tool = (line: string) => shell(`pkcs11-tool --module ${module} --login --pin "words of web" ${line} 2>&1`, PIN)

test('the command lists the keys through the module', { skip }, async () => {
  const { code, stderr } = await rig.shell(
    `coffer pkcs11 --output p11.conf --pin-variable WEB_PIN --module ${module}`,
    {
      WEB_PIN: 'words of web',
    },
  )
  assert.equal(code, 0, stderr)
  for (const id of Object.keys(KEYS)) assert.ok(stderr.includes(id), stderr)
  assert.doesNotMatch(stderr, /new-/)
})

test('pkcs11-tool signs and decrypts with it, and OpenSSL verifies', { skip }, async () => {
  await shell('coffer pkcs11 --output p11.conf')
  for (const id of Object.keys(KEYS)) await shell(`coffer key public ${id} > ${id}.pem`)
  const digest = createHash('sha256')
    .update(readFileSync(file('message')))
    .digest()
  writeFileSync(file('digest'), digest)
  writeFileSync(file('info'), Buffer.concat([Buffer.from(DIGEST_INFO_SHA256, 'hex'), digest]))
  await tool(
    `--sign --mechanism ECDSA --signature-format openssl --id ${hex('p11-ec')} --input-file digest --output-file ec.sig`,
  )
  await shell('openssl dgst -sha256 -verify p11-ec.pem -signature ec.sig message')
  await tool(`--sign --mechanism RSA-PKCS --id ${hex('p11-rsa')} --input-file info --output-file rsa.sig`)
  await shell('openssl dgst -sha256 -verify p11-rsa.pem -signature rsa.sig message')
  await tool(
    `--sign --mechanism RSA-PKCS-PSS --hash-algorithm SHA256 --id ${hex('p11-rsa')} --input-file digest --output-file pss.sig`,
  )
  await shell('openssl dgst -sha256 -verify p11-rsa.pem -sigopt rsa_padding_mode:pss -signature pss.sig message')
  await shell('openssl pkeyutl -encrypt -pubin -inkey p11-rsa.pem -in message -out message.box')
  await tool(`--decrypt --mechanism RSA-PKCS --id ${hex('p11-rsa')} --input-file message.box --output-file opened`)
  assert.equal(readFileSync(file('opened'), 'utf8'), 'a message\n')
})

test('the module refuses an appliance with another certificate', { skip }, async () => {
  await shell('coffer pkcs11 --output p11.conf')
  const text = readFileSync(file('p11.conf'), 'utf8')
  writeFileSync(file('p11.conf'), text.replace(/[0-9A-F]{2}:[0-9A-F]{2}:/, '00:00:'))
  const { stdout, code } = await rig.shell(
    `pkcs11-tool --module ${module} --login --pin "words of web" --sign --mechanism ECDSA --id ${hex('p11-ec')} --input-file digest 2>&1`,
    PIN,
  )
  assert.notEqual(code, 0, stdout)
})
