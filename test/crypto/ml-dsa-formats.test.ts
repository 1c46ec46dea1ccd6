/** Files with ML-DSA keys and requests: node:crypto, whose OpenSSL knows them, and pyca/cryptography read ours, and we read theirs. RFC 9881. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import { createCsr } from '../../firmware/crypto/encoding/csr.ts'
import { checkClaimed, parsePrivateKeyPem } from '../../firmware/crypto/encoding/import-pem.ts'
import { encodePem } from '../../firmware/crypto/encoding/pem.ts'
import { encodePkcs8 } from '../../firmware/crypto/encoding/pkcs8.ts'
import { publicKeyPem } from '../../firmware/crypto/encoding/public-key.ts'
import { ML_DSA_SETS, type MlDsaSet, PARAMETERS } from '../../firmware/crypto/engine/ml-dsa/parameters.ts'
import { expandedMlDsa, openMlDsa } from '../../firmware/crypto/ml-dsa/private-key.ts'
import { generateKey, importKey } from '../../firmware/crypto/pool/operations.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import type { KeyPair } from '../../firmware/crypto/types.ts'
import { needsOpenssl35, needsPython, OPENSSL_35, PYTHON } from '../support/tools.ts'
import { bothForm, der, expandedForm, mlDsaAlgorithm, mlDsaForms, pkcs8, seedForm } from './ml-dsa-forms.ts'
import { hex, toHex, utf8 } from './support.ts'

const nameOf = (set: MlDsaSet): string => set.toLowerCase().replaceAll('_', '-')
const isInvalid = (error: unknown): boolean => error instanceof CofferError && error.code === 'invalid'
const asPem = (content: Uint8Array): string => encodePem('PRIVATE KEY', content)

function importPem(pem: string): KeyPair {
  const file = parsePrivateKeyPem(utf8(pem))
  assert.ok(file.type !== 'RSA')
  const pair = importKey(file.type, file.data, 'expanded' in file ? file.expanded : undefined)
  checkClaimed(file.claimed, pair.public)
  return pair
}

function requestOf({ type, private: secret, public: publicKey }: KeyPair): Promise<string> {
  return createCsr(type, publicKey, { commonName: 'host.example' }, async (mode, message) => {
    assert.equal(mode, 'ML_DSA')
    const key = openMlDsa(type as MlDsaSet, secret, systemRandom)
    const signature = key.sign('ML_DSA', message)
    key.wipe()
    return signature
  })
}

const publicPem = (pair: KeyPair): string => publicKeyPem(pair.type, pair.public)
const rawPublic = (pair: KeyPair): Uint8Array => (pair.public as { data: Uint8Array }).data

for (const set of ML_DSA_SETS) {
  test(`${set}: OpenSSL reads our public key and our private key, and we read its`, () => {
    const pair = generateKey(set, undefined, systemRandom)
    const theirs = createPublicKey(publicPem(pair))
    assert.equal(theirs.asymmetricKeyType as string, nameOf(set))
    assert.equal(theirs.export({ format: 'pem', type: 'spki' }).toString().trim(), publicPem(pair).trim())
    const fromSeed = createPrivateKey({ key: Buffer.from(encodePkcs8(pair)), format: 'der', type: 'pkcs8' })
    assert.equal(publicOf(fromSeed), publicPem(pair).trim())
    const expanded = { ...pair, private: expandedMlDsa(set, pair.private) }
    const fromExpanded = createPrivateKey({ key: Buffer.from(encodePkcs8(expanded)), format: 'der', type: 'pkcs8' })
    assert.equal(publicOf(fromExpanded), publicPem(pair).trim())

    const { privateKey } = generateKeyPairSync(nameOf(set) as never) as unknown as { privateKey: KeyObject }
    const read = importPem(privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
    assert.equal(read.type, set)
    assert.equal(publicPem(read).trim(), publicOf(privateKey))
    assert.equal(read.private.length, 32)
  })

  test(`${set}: all three forms are the same key, also for OpenSSL; the seed is kept where there is one`, () => {
    const [seed, expanded, both] = mlDsaForms(set)
    const pairs = [seed, expanded, both].map((form) => importPem(asPem(form)))
    for (const pair of pairs) assert.deepEqual(pair.public, pairs[0]!.public)
    assert.deepEqual(
      pairs.map((pair) => pair.private.length),
      [32, PARAMETERS[set].expandedBytes, 32],
    )
    for (const form of [seed, expanded, both]) {
      const key = createPrivateKey({ key: Buffer.from(form), format: 'der', type: 'pkcs8' })
      assert.equal(publicOf(key), publicPem(pairs[0]!).trim())
    }
  })

  test(`${set}: a file of which a part is wrong is refused`, () => {
    const seed = new Uint8Array(randomBytes(32))
    const expanded = expandedMlDsa(set, seed)
    const change = (place: number) => expanded.with(place, expanded[place]! ^ 1)
    const wrong: Record<string, Uint8Array> = {
      'a short seed': pkcs8(set, seedForm(seed.subarray(1))),
      'a seed in an octet string': pkcs8(set, expandedForm(seed)),
      'a short expanded key': pkcs8(set, expandedForm(expanded.subarray(1))),
      'an expanded key as a seed': pkcs8(set, seedForm(expanded)),
      'both, of two keys': pkcs8(set, bothForm(new Uint8Array(randomBytes(32)), expanded)),
      'both, the other way round': pkcs8(set, der(0x30, der(0x04, expanded), der(0x04, seed))),
      'both, and one more': pkcs8(set, der(0x30, der(0x04, seed), der(0x04, expanded), der(0x04, seed))),
      'a sequence of a seed': pkcs8(set, der(0x30, der(0x04, seed))),
      'both, K of another': pkcs8(set, bothForm(seed, change(33))),
      'a wrong tr': pkcs8(set, expandedForm(change(65))),
      's1 out of range': pkcs8(set, expandedForm(expanded.with(128, 0xff))),
      'a wrong t0': pkcs8(set, expandedForm(change(expanded.length - 1))),
      'something behind the seed': pkcs8(set, Buffer.concat([seedForm(seed), Uint8Array.of(5, 0)])),
      nothing: pkcs8(set, new Uint8Array()),
      'something behind the key': Buffer.concat([pkcs8(set, seedForm(seed)), Uint8Array.of(0)]),
      parameters: der(0x30, hex('020100'), der(0x30, mlDsaAlgorithm(set), hex('0500')), der(0x04, seedForm(seed))),
      'another public key': der(
        0x30,
        hex('020101'),
        der(0x30, mlDsaAlgorithm(set)),
        der(0x04, seedForm(seed)),
        der(0x81, new Uint8Array(1 + PARAMETERS[set].publicBytes)),
      ),
    }
    for (const [what, content] of Object.entries(wrong)) assert.throws(() => importPem(asPem(content)), isInvalid, what)
    const publicKey = rawPublic(importPem(asPem(pkcs8(set, seedForm(seed)))))
    const right = der(
      0x30,
      hex('020101'),
      der(0x30, mlDsaAlgorithm(set)),
      der(0x04, seedForm(seed)),
      der(0x81, Buffer.concat([Uint8Array.of(0), publicKey])),
    )
    assert.deepEqual(rawPublic(importPem(asPem(right))), publicKey)
  })

  test(
    `${set}: the openssl program verifies our request, and takes our public key out of it`,
    needsOpenssl35(),
    async () => {
      const pair = generateKey(set, undefined, systemRandom)
      const program = join(OPENSSL_35!, 'openssl')
      const input = await requestOf(pair)
      const { status, stdout, stderr } = spawnSync(program, ['req', '-verify', '-noout', '-pubkey'], {
        input,
        encoding: 'utf8',
      })
      assert.equal(status, 0, stderr)
      assert.match(stdout + stderr, /verify OK/)
      assert.ok(stdout.includes(publicPem(pair).trim()))
    },
  )

  test(`${set}: pyca reads our keys and verifies our request, and we read its keys`, needsPython(), async () => {
    const pair = generateKey(set, undefined, systemRandom)
    const key = openMlDsa(set, pair.private, systemRandom)
    const request = await requestOf(pair)
    const signature = key.sign('ML_DSA', utf8('a message'), utf8('a context'))
    key.wipe()
    const [seedPem, publicText] = [asPem(encodePkcs8(pair)), publicPem(pair)]
    const given = { request, seedPem, publicText, signature: toHex(signature), set: set.slice(-2) }
    const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', PYCA], {
      input: JSON.stringify(given),
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
    const { theirs, theirsPublic } = JSON.parse(stdout) as { theirs: string; theirsPublic: string }
    assert.equal(publicPem(importPem(theirs)).trim(), theirsPublic.trim())
  })
}

const publicOf = (key: KeyObject): string =>
  createPublicKey(key).export({ format: 'pem', type: 'spki' }).toString().trim()

const PYCA = `
import json, sys
from cryptography import x509
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import mldsa
given = json.load(sys.stdin)
def spki(key): return key.public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo).decode()
public = s.load_pem_public_key(given['publicText'].encode())
assert spki(public).strip() == given['publicText'].strip()
public.verify(bytes.fromhex(given['signature']), b'a message', b'a context')
request = x509.load_pem_x509_csr(given['request'].encode())
assert request.is_signature_valid and spki(request.public_key()) == spki(public)
key = s.load_pem_private_key(given['seedPem'].encode(), None) # it reads no other form than this one
assert spki(key.public_key()) == spki(public)
key = getattr(mldsa, 'MLDSA' + given['set'] + 'PrivateKey').generate()
pem = key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()).decode()
print(json.dumps({'theirs': pem, 'theirsPublic': spki(key.public_key())}))
`
