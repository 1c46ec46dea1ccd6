/** The shared Wycheproof vectors: every case of each file, nothing left out but labels, which we do not offer. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { type OpenedRsa, openRsa } from '../../firmware/crypto/rsa/private-key.ts'
import type { HashName } from '../../firmware/crypto/types.ts'
import { numbersOfPkcs8 } from './rsa-keys.ts'
import { hex, toHex, wycheproof } from './support.ts'

interface File<Case> {
  numberOfTests: number
  testGroups: { privateKeyPkcs8: string; sha: string; mgfSha: string; keySize: number; tests: Case[] }[]
}
interface Signing {
  tcId: number
  msg: string
  sig: string
  result: 'valid' | 'acceptable'
}
interface Decryption {
  tcId: number
  msg: string
  ct: string
  label?: string
  flags: string[]
  result: 'valid' | 'invalid'
}

const hashName = (sha: string): HashName | undefined =>
  ({ 'SHA-1': 'SHA1', 'SHA-224': 'SHA224', 'SHA-256': 'SHA256', 'SHA-384': 'SHA384', 'SHA-512': 'SHA512' })[sha] as
    | HashName
    | undefined

function eachCase<Case>(name: string, check: (rsa: OpenedRsa, sha: string, vector: Case) => void): void {
  const file = wycheproof<File<Case>>(name)
  test(name, { skip: file === null && 'the shared vectors are not installed' }, () => {
    let cases = 0
    for (const group of file!.testGroups) {
      const rsa = openRsa(numbersOfPkcs8(group.privateKeyPkcs8))
      assert.equal(rsa.bits, group.keySize)
      for (const vector of group.tests) {
        check(rsa, group.sha, vector)
        cases++
      }
    }
    assert.equal(cases, file!.numberOfTests)
  })
}

const SIGNING_BITS = [1024, 1536, 2048, 3072, 4096]
for (const bits of SIGNING_BITS) {
  eachCase<Signing>(`rsa_pkcs1_${bits}_sig_gen_test.json`, (rsa, sha, { tcId, msg, sig }) => {
    const digest = createHash(sha).update(hex(msg)).digest()
    const name = hashName(sha)
    // A hash without a mode of its own is signed as the caller's DigestInfo.
    const signature = name ? rsa.sign(`PKCS1_${name}`, digest) : rsa.sign('PKCS1', foreignDigestInfo(sha, digest))
    assert.equal(toHex(signature), sig, `case ${tcId}`)
  })
}

for (const bits of [2048, 3072]) {
  eachCase<Decryption>(`rsa_pkcs1_${bits}_test.json`, (rsa, _sha, vector) => {
    checkDecryption(vector, () => rsa.decrypt('PKCS1', hex(vector.ct)))
  })
}

const OAEP = ['2048_sha1', '2048_sha224', '2048_sha256', '2048_sha384', '2048_sha512', '3072_sha256', '4096_sha512']
for (const variant of OAEP) {
  const sha = variant.split('_')[1]!
  eachCase<Decryption>(`rsa_oaep_${variant}_mgf1${sha}_test.json`, (rsa, sha, vector) => {
    checkDecryption(vector, () => rsa.decrypt(`OAEP_${hashName(sha)!}`, hex(vector.ct)))
  })
}

function checkDecryption({ tcId, msg, label, result }: Decryption, decrypt: () => Uint8Array): void {
  if (result === 'valid' && (label ?? '') === '') {
    assert.equal(toHex(decrypt()), msg, `case ${tcId}`)
    return
  }
  assert.throws(
    decrypt,
    (error) => error instanceof CofferError && error.code === 'invalid' && error.message === 'Decryption failure',
    `case ${tcId}`,
  )
}

function foreignDigestInfo(sha: string, digest: Uint8Array): Uint8Array {
  const last = { 'SHA-512/224': 5, 'SHA-512/256': 6, 'SHA3-224': 7, 'SHA3-256': 8, 'SHA3-384': 9, 'SHA3-512': 10 }[sha]
  assert.ok(last !== undefined, `unknown hash ${sha}`)
  const oid = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, last]
  const head = [0x30, 17 + digest.length, 0x30, 13, 0x06, oid.length, ...oid, 0x05, 0x00, 0x04, digest.length]
  return Uint8Array.from([...head, ...digest])
}
