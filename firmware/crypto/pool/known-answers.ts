/**
 * Known answers: a deterministic signature of each algorithm, with fixed keys, messages and random bytes, and one encryption with
 * XAES. Each signature is checked before it leaves, but by the same arithmetic; this test is independent. FIPS 140-3, 10.3.2
 * (IG 10.3.A).
 */

import { hash } from 'node:crypto'
import { hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { defined } from '../../base/defined.ts'
import { CURVES } from '../algorithms.ts'
import { openCurveKey } from '../ec/private-key.ts'
import { products as chosen } from '../engine/choice.ts'
import type { Engine } from '../engine/engine.ts'
import type { Products } from '../engine/float/emitter.ts'
import { openGenericKey } from '../generic-key.ts'
import type { Random } from '../random.ts'
import { computeRsaKey, type RsaPrivateKey } from '../rsa/encoding.ts'
import { openRsa } from '../rsa/private-key.ts'
import type { CurveKeyType, EcKeyType, SignMode } from '../types.ts'
import { XAES_KEY_BYTES } from '../xaes.ts'

interface KnownAnswer {
  /** Name such as "ECDSA with EC_P256". */
  algorithm: string
  /** Takes some milliseconds. May throw if the algorithm is broken. */
  isRight(): boolean
}

/** One test for each algorithm, on the code that the worker uses. */
export function knownAnswers(engine: Engine, products: Products = chosen): KnownAnswer[] {
  return QUESTIONS.map(({ algorithm, sha256, compute }) => ({
    algorithm,
    isRight: () => hash('sha256', compute(engine, products), 'hex') === sha256,
  }))
}

interface Question {
  algorithm: string
  /** Hash of the correct signature or ciphertext. */
  sha256: string
  compute(engine: Engine, products: Products): Uint8Array
}

/** Replaces random bytes: the salt of PSS, the random part of ECDSA nonces, aux_rand of BIP-340. */
const ones: Random = (bytes) => new Uint8Array(bytes).fill(0xff)

/** 0, 1, 2, ...: a valid test key on every curve. */
const counting = (bytes: number): Uint8Array => Uint8Array.from({ length: bytes }, (_, i) => i)

/** Test key of two published 1024-bit primes: RFC 2409 section 6.2 and RFC 5054 appendix A. */
export function rsaKey(): RsaPrivateKey {
  const [p, q] = [hexToBytes(RFC_2409.join('')), hexToBytes(RFC_5054.join(''))]
  return defined(computeRsaKey(p, q, Uint8Array.of(1, 0, 1)))
}

const RFC_2409 = [
  'ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74',
  '020bbea63b139b22514a08798e3404ddef9519b3cd3a431b302b0a6df25f1437',
  '4fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed',
  'ee386bfb5a899fa5ae9f24117c4b1fe649286651ece65381ffffffffffffffff',
]
const RFC_5054 = [
  'eeaf0ab9adb38dd69c33f80afa8fc5e86072618775ff3c0b9ea2314c9c256576',
  'd674df7496ea81d3383b4813d692c6e0e0d5d8e250b98be48e495c1d6089dad1',
  '5dc7d7b46154d6b6ce8ef4ad69b15d4982559b297bcf1885c529f566660e57ec',
  '68edbc3c05726cc02fd4cbf4976eaa9afd5138fe8376435b9fc61d2fc0eb06e3',
]

const rsa = (mode: SignMode, sha256: string): Question => ({
  algorithm: `RSA, ${mode}`,
  sha256,
  compute: (engine) => {
    const key = openRsa(rsaKey(), ones, engine)
    const signature = key.sign(mode, counting(32))
    key.wipe()
    return signature
  },
})

const curve = (type: CurveKeyType, mode: SignMode, key: Uint8Array, message: Uint8Array, sha256: string): Question => ({
  algorithm: `${mode} with ${type}`,
  sha256,
  compute: (_engine, products) => {
    const opened = openCurveKey(type, key, ones, products)
    const signature = opened.sign(mode, message)
    opened.wipe()
    return signature
  },
})

const ecdsa = (type: EcKeyType, sha256: string): Question => {
  const { fieldBytes, digestBytes } = CURVES[type]
  return curve(type, 'ECDSA', counting(fieldBytes), counting(digestBytes).reverse(), sha256)
}

export const QUESTIONS: readonly Question[] = [
  ecdsa('EC_P256', '4a1eedff42a844de4ee75222fd1e87fae7c6b88aafdf8a5b94ed886cedef635d'),
  // RFC 8032 section 7.1, test 3
  curve(
    'Curve25519',
    'EdDSA',
    hexToBytes('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7'),
    hexToBytes('af82'),
    'd9a913bf1632c8c001705e3f13a0f695e8c9f44a00e3a8685ea56a812e35979f',
  ),
  rsa('PKCS1_SHA256', '148dbe5f42c82ddda3a3621962b3b9c7bb505bb761a71ed52e0e3fb1bc2be30e'),
  rsa('PSS_SHA256', '6e86c5c2a2ae77c1494198b152ef3ead097123efa3b59f7fe55ece5df7fe126e'),
  ecdsa('EC_P384', '2f0eb557d23e94fe39037d75c811d90feb0950c498abdc7c293e1f65adcca78f'),
  ecdsa('EC_P521', '701c0d0169bd0388ba333dfa8b7e4fa6f7127739899eebdff53dd5cc653e9993'),
  ecdsa('EC_P256K1', 'eaab004d79fab31d5ae18b4dd55aec8d0b2045c694a27c54ef504ca3e781cefb'),
  // BIP-340, test vector 3
  curve(
    'EC_P256K1',
    'BIP340',
    hexToBytes('0b432b2677937381aef05bb02a66ecd012773062cf3fa2549e44f58ed2401710'),
    ones(32),
    '5e4524446dec0a7405c5d34d2e84cc91d540ea7a71486c6a2886bb20e26395d0',
  ),
  // The second vector of C2SP's page.
  {
    algorithm: 'XAES-256-GCM',
    sha256: 'e6df6111d7e3c53c37b172c12d5bf748735eb9cbba8293d4fa84ac3527eb4521',
    compute: () => {
      const key = openGenericKey(new Uint8Array(XAES_KEY_BYTES).fill(3))
      const nonce = utf8ToBytes('ABCDEFGHIJKLMNOPQRSTUVWX')
      const encrypted = key.encrypt(
        'XAES_GCM',
        utf8ToBytes('XAES-256-GCM'),
        nonce,
        utf8ToBytes('c2sp.org/XAES-256-GCM'),
      )
      key.wipe()
      return encrypted
    },
  },
  ecdsa('BrainpoolP256', '5c61340926b3ccc3851ec1e85f1ddae9c0075e7e425e9395d6768bd55a082d22'),
  ecdsa('BrainpoolP384', 'e5fd03d48f99b28bf00f17f7f053d6efa6f8e4ae88c71762736b4743c196035c'),
  ecdsa('BrainpoolP512', '44baa2e49aa4e3774748c871ad4e472e6e2775773e27a18bd5f10bdc17b8803b'),
]
