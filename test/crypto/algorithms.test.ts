import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import {
  checkBits,
  DECRYPT_MODES,
  ENCRYPT_MODES,
  MECHANISM_NAMES,
  MECHANISMS,
  type MechanismName,
  mechanismFits,
  permits,
  resolveGenerate,
  resolveImport,
  SIGN_MODE_NAMES,
  signMode,
  sortMechanisms,
} from '../../firmware/crypto/algorithms.ts'
import { KEY_TYPES } from '../../firmware/crypto/types.ts'

// Transcribed from contract 4.5, row by row: mechanism | key types | permitted modes.
const EC = 'EC_P256 EC_P384 EC_P521 EC_P256K1 BrainpoolP256 BrainpoolP384 BrainpoolP512'
const TABLE = `
RSA_Decryption_RAW | RSA | decrypt RAW
RSA_Decryption_PKCS1 | RSA | decrypt PKCS1
RSA_Decryption_OAEP_MD5 | RSA | decrypt OAEP_MD5
RSA_Decryption_OAEP_SHA1 | RSA | decrypt OAEP_SHA1
RSA_Decryption_OAEP_SHA224 | RSA | decrypt OAEP_SHA224
RSA_Decryption_OAEP_SHA256 | RSA | decrypt OAEP_SHA256
RSA_Decryption_OAEP_SHA384 | RSA | decrypt OAEP_SHA384
RSA_Decryption_OAEP_SHA512 | RSA | decrypt OAEP_SHA512
RSA_Signature_PKCS1 | RSA | sign PKCS1 PKCS1_MD5 PKCS1_SHA1 PKCS1_SHA224 PKCS1_SHA256 PKCS1_SHA384 PKCS1_SHA512
RSA_Signature_PKCS1_MD5 | RSA | sign PKCS1_MD5
RSA_Signature_PKCS1_SHA1 | RSA | sign PKCS1_SHA1
RSA_Signature_PKCS1_SHA224 | RSA | sign PKCS1_SHA224
RSA_Signature_PKCS1_SHA256 | RSA | sign PKCS1_SHA256
RSA_Signature_PKCS1_SHA384 | RSA | sign PKCS1_SHA384
RSA_Signature_PKCS1_SHA512 | RSA | sign PKCS1_SHA512
RSA_Signature_PSS_MD5 | RSA | sign PSS_MD5
RSA_Signature_PSS_SHA1 | RSA | sign PSS_SHA1
RSA_Signature_PSS_SHA224 | RSA | sign PSS_SHA224
RSA_Signature_PSS_SHA256 | RSA | sign PSS_SHA256
RSA_Signature_PSS_SHA384 | RSA | sign PSS_SHA384
RSA_Signature_PSS_SHA512 | RSA | sign PSS_SHA512
EdDSA_Signature | Curve25519 | sign EdDSA
ECDSA_Signature | ${EC} | sign ECDSA
BIP340_Signature | EC_P256K1 | sign BIP340
AES_Encryption_CBC | Generic | encrypt AES_CBC
AES_Decryption_CBC | Generic | decrypt AES_CBC
ML_DSA_Signature | ML_DSA_44 ML_DSA_65 ML_DSA_87 | sign ML_DSA
ML_DSA_Signature_EXTERNAL_MU | ML_DSA_44 ML_DSA_65 ML_DSA_87 | sign ML_DSA_EXTERNAL_MU
XAES_Encryption_GCM | Generic | encrypt XAES_GCM
XAES_Decryption_GCM | Generic | decrypt XAES_GCM
HMAC | Generic | sign HMAC_SHA224 HMAC_SHA256 HMAC_SHA384 HMAC_SHA512 HMAC_SHA3_224 HMAC_SHA3_256 HMAC_SHA3_384 HMAC_SHA3_512`
  .trim()
  .split('\n')
  .map((row) => row.split(' | ').map((cell) => cell.trim().split(' ')))
  .map(([name, types, use]) => ({
    name: name![0] as MechanismName,
    types: types!,
    use: use![0]!,
    modes: use!.slice(1),
  }))

const USES = { sign: SIGN_MODE_NAMES.map(signMode), decrypt: DECRYPT_MODES, encrypt: ENCRYPT_MODES } as const

test('the mechanisms are those of the contract, in its order', () => {
  assert.deepEqual(
    MECHANISMS,
    TABLE.map((row) => row.name),
  )
})

test('a mechanism fits exactly the key types of its row', () => {
  for (const { name, types } of TABLE) {
    for (const type of KEY_TYPES) assert.equal(mechanismFits(name, type), types.includes(type), `${name} ${type}`)
  }
})

test('a mechanism permits exactly the modes of its row', () => {
  for (const { name, use, modes } of TABLE) {
    for (const each of ['sign', 'decrypt', 'encrypt'] as const) {
      for (const mode of USES[each]) {
        assert.equal(permits([name], each, mode), each === use && modes.includes(mode), `${name} ${each} ${mode}`)
      }
    }
  }
})

test('several mechanisms permit what each permits, none permit nothing', () => {
  assert.ok(permits(['RSA_Signature_PSS_SHA256', 'RSA_Decryption_RAW'], 'decrypt', 'RAW'))
  assert.ok(!permits(['RSA_Signature_PSS_SHA256', 'RSA_Decryption_RAW'], 'decrypt', 'PKCS1'))
  assert.ok(!permits([], 'sign', 'EdDSA'))
})

test('the second name of EdDSA permits, fits and sorts like the first and is kept', () => {
  assert.ok(MECHANISM_NAMES.includes('ED25519_Signature'))
  assert.ok(mechanismFits('ED25519_Signature', 'Curve25519'))
  assert.ok(!mechanismFits('ED25519_Signature', 'RSA'))
  assert.ok(permits(['ED25519_Signature'], 'sign', signMode('ED25519')))
  assert.deepEqual(sortMechanisms(['ECDSA_Signature', 'ED25519_Signature', 'EdDSA_Signature']), [
    'ED25519_Signature',
    'ECDSA_Signature',
  ])
})

test('mechanisms come out in canonical order without duplicates', () => {
  const shuffled: MechanismName[] = [...MECHANISMS].reverse()
  assert.deepEqual(sortMechanisms([...shuffled, ...shuffled]), MECHANISMS)
  assert.deepEqual(sortMechanisms([]), [])
})

test('both vocabularies of key types are resolved for generation', () => {
  assert.deepEqual(resolveGenerate('ED25519'), { type: 'Curve25519' })
  assert.deepEqual(resolveGenerate('ECDSA'), { type: 'EC_P256' })
  assert.deepEqual(resolveGenerate('ECDSA', 0), { type: 'EC_P256' })
  assert.deepEqual(resolveGenerate('ECDSA', 256), { type: 'EC_P256' })
  assert.deepEqual(resolveGenerate('ECDSA', 384), { type: 'EC_P384' })
  assert.deepEqual(resolveGenerate('ECDSA', 521), { type: 'EC_P521' })
  assert.deepEqual(resolveGenerate('EC_P384', 17), { type: 'EC_P384' }, 'length is ignored where it is not used')
  assert.deepEqual(resolveGenerate('RSA', 2050), { type: 'RSA', bits: 2050 })
  assert.deepEqual(resolveGenerate('Generic', 512), { type: 'Generic', bits: 512 })
})

const invalid = (field: string) => (error: unknown) =>
  error instanceof CofferError && error.code === 'invalid' && error.message.startsWith(field)

test('lengths outside the bounds are refused', () => {
  for (const length of [1, 255, 512, 0.5, Number.NaN]) {
    assert.throws(() => resolveGenerate('ECDSA', length), invalid('length'))
  }
  for (const bits of [undefined, 0, 1023, 8193, 2048.5]) assert.throws(() => checkBits('RSA', bits), invalid('length'))
  for (const bits of [undefined, 127, 8193]) assert.throws(() => checkBits('Generic', bits), invalid('length'))
  for (const bits of [1024, 8192]) assert.equal(checkBits('RSA', bits), bits)
  for (const bits of [128, 8192]) assert.equal(checkBits('Generic', bits), bits)
})

test('an imported ECDSA key is told apart by the length of its data', () => {
  assert.equal(resolveImport('ECDSA', 32), 'EC_P256')
  assert.equal(resolveImport('ECDSA', 48), 'EC_P384')
  assert.equal(resolveImport('ECDSA', 66), 'EC_P521')
  assert.throws(() => resolveImport('ECDSA', 64), invalid('data'))
  assert.equal(resolveImport('ED25519', 32), 'Curve25519')
  assert.equal(resolveImport('BrainpoolP256', 32), 'BrainpoolP256')
})
