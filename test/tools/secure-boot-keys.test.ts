/** Keys for Secure Boot, and what the recipe signs with them; verified by sbverify(1). */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSecureBoot } from '../../image/secure-boot-signing.ts'
import { makeSecureBootKeys } from '../../tools/secure-boot-keys.ts'
import { kernelImage, onStub } from '../boot/device/kernel-images.ts'
import { needs } from '../support/tools.ts'

const withTools = needs('sbsign', 'openssl')

function makeDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-secure-boot-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

const TIME_BASED_BYTES = 16 // EFI_TIME, which an authenticated variable begins with
const isVariable = (bytes: Buffer) => bytes.readUInt16LE(TIME_BASED_BYTES + 6) === 0x0ef1 // WIN_CERT_TYPE_EFI_GUID

test('three keys, their certificates and what enrols them, readable by the owner', withTools, (t) => {
  const keys = join(makeDirectory(t), 'keys')
  makeSecureBootKeys(keys)
  const names = ['PK', 'KEK', 'db'].flatMap((name) => [`${name}.auth`, `${name}.crt`, `${name}.key`])
  assert.deepEqual(readdirSync(keys).sort(), names.sort())
  assert.equal(statSync(keys).mode & 0o777, 0o700)
  const publicKeys = new Set<string>()
  for (const name of ['PK', 'KEK', 'db']) {
    assert.equal(statSync(join(keys, `${name}.key`)).mode & 0o777, 0o600)
    const certificate = new X509Certificate(readFileSync(join(keys, `${name}.crt`)))
    const variable = readFileSync(join(keys, `${name}.auth`))
    assert.ok(isVariable(variable), name)
    assert.ok(variable.includes(certificate.raw), `${name} enrols its certificate`)
    assert.ok(certificate.verify(certificate.publicKey))
    publicKeys.add(certificate.fingerprint256)
  }
  assert.equal(publicKeys.size, 3)
  assert.throws(() => makeSecureBootKeys(keys), /exists; keys are never overwritten/)
})

test('what is signed verifies with its own certificate and with no other', onStub, (t) => {
  const directory = makeDirectory(t)
  const [own, foreign] = ['own', 'foreign'].map((name) => join(directory, name)) as [string, string]
  makeSecureBootKeys(own)
  makeSecureBootKeys(foreign)
  const verify = (program: Uint8Array, keys: string) => {
    writeFileSync(join(directory, 'program.efi'), program)
    return spawnSync('sbverify', ['--cert', join(keys, 'db.crt'), join(directory, 'program.efi')]).status === 0
  }
  const program = kernelImage('1.0')
  const signed = openSecureBoot(own, directory).sign(program)
  assert.equal(verify(signed, own), true)
  assert.equal(verify(signed, foreign), false)
  assert.equal(verify(program, own), false)
  signed[signed.indexOf('console=ttyS0')]! ^= 1
  assert.equal(verify(signed, own), false)
  assert.deepEqual(readdirSync(directory).sort(), ['foreign', 'own', 'program.efi'], 'nothing else is left')
})

test('a directory of anything else is refused by the name of what is missing', withTools, (t) => {
  const keys = join(makeDirectory(t), 'keys')
  makeSecureBootKeys(keys)
  rmSync(join(keys, 'KEK.auth'))
  assert.throws(() => openSecureBoot(keys, makeDirectory(t)), /KEK\.auth is missing/)
})

test('without keys nothing is signed and nothing enrolled', (t) => {
  const { sign, files, settings } = openSecureBoot(null, makeDirectory(t))
  assert.deepEqual(sign(Uint8Array.of(1, 2)), Buffer.from([1, 2]))
  assert.deepEqual(files, [])
  assert.equal(settings, '')
})
