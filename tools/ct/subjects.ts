/** Subjects of the timing test: operations with two classes of secret inputs. */

import type { Engine } from '../../firmware/crypto/engine/engine.ts'
import { basePoint } from '../../firmware/crypto/engine/float/curves.ts'
import { randomScalar } from '../../firmware/crypto/engine/float/ecdsa.ts'
import { inverse, inverseOfOdd } from '../../firmware/crypto/engine/integer/arithmetic.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { decodeOaep, decodePkcs1, RSA_HASHES } from '../../firmware/crypto/rsa/padding.ts'
import {
  decodeRsaPrivateKey,
  encodeRsaPrivateKey,
  generateRsa,
  openRsa,
} from '../../firmware/crypto/rsa/private-key.ts'
import type { DecryptMode } from '../../firmware/crypto/types.ts'
import { curveSubjects } from './curve-subjects.ts'
import {
  copies,
  EXPONENT_BYTES,
  encrypt,
  MODULUS_BYTES,
  newPrime,
  OAEP_DEFECTS,
  PKCS1_DEFECTS,
  PRIME_BYTES,
  pool,
  randomMessage,
  randomNumber,
  smallNumber,
  sparseNumber,
} from './inputs.ts'
import { mlDsaSubjects } from './ml-dsa-subjects.ts'
import { preparedSubject, type Subject, subject } from './subject.ts'

/** Apart, because making the inputs of all takes a while. */
export const GROUPS: Readonly<Record<string, (engine: Engine) => Subject[]>> = {
  controls,
  private: privatePowers,
  paddings,
  curves: (engine) => curveSubjects(productsOf(engine)),
  'ml-dsa': (engine) => mlDsaSubjects(productsOf(engine)),
  powers,
  inverses,
}

const productsOf = ({ name }: Engine) => (name === 'fast' ? 'fused' : 'exact')

export const subjects = (engine: Engine): Subject[] => Object.values(GROUPS).flatMap((group) => group(engine))

export function controls(engine: Engine): Subject[] {
  const prime = newPrime(engine)
  const base = randomNumber()
  const arithmetic = engine.openRsa(generateRsa(8 * MODULUS_BYTES, undefined, engine))
  const residue = arithmetic.use(() => arithmetic.enter(base))
  const random = () => pool(() => randomNumber(EXPONENT_BYTES))
  const power = (exponent: Uint8Array) => engine.powers([prime, prime], [base, base], [exponent, exponent])
  const defective = () => pool(PKCS1_DEFECTS['block type']!)
  const leaky = [copies(sparseNumber(EXPONENT_BYTES)), random()] as const
  const point = basePoint('EC_P256', productsOf(engine))
  const scalar = randomScalar(point, systemRandom)
  return [
    subject('control: random exponents in both classes', [random(), random()], power),
    subject('control: the same defect in both classes', [defective(), defective()], decodePkcs1),
    {
      ...subject('control: square and multiply, leaks', leaky, (exponent) =>
        arithmetic.use(() => arithmetic.publicPower(residue, exponent)),
      ),
      leaks: true,
    },
    ...PLANTED_NS.map((ns) => planted('a multiple on P-256', ns, () => point.use(() => point.multiply(scalar)))),
    ...PLANTED_NS.map((ns) => ns * (engine.name === 'fast' ? 1 : SLOWER)).map((ns) =>
      planted('a private power', ns, () => arithmetic.use(() => arithmetic.privatePower(residue))),
    ),
  ]
}

/** Leaks as small as those that must be found. */
const PLANTED_NS = [30, 100]
/** The plain engine takes five times as long for a private power, and times of long loops scatter more: README.md. */
const SLOWER = 10

function planted(name: string, ns: number, operation: () => unknown): Subject {
  const number = (first: number) => smallNumber(1, EXPONENT_BYTES).with(0, first)
  const inputs = [copies(number(0)), copies(number(1))] as const
  const leaky = subject(`control: ${name}, and ${ns} ns more if a bit is set, leaks`, inputs, (input) => {
    delay(input[0]! & 1, ns)
    return operation()
  })
  return { ...leaky, leaks: true }
}

/**
 * Atomic additions as often as the nanoseconds say, if the bit is set. A processor runs other loops beside what comes behind
 * them: nothing, or half of it, would be left of 30 ns.
 */
function delay(bit: number, ns: number): void {
  for (let turn = bit * Math.round(ns * turnsOfNs()); turn > 0; turn--) Atomics.add(elsewhere, 0, turn)
}

const elsewhere = new Int32Array(1)
let turnsPerNs: number | undefined

/** Measured once: the fastest of some tries. */
function turnsOfNs(): number {
  if (turnsPerNs !== undefined) return turnsPerNs
  turnsPerNs = 1
  const turns = 100_000
  const tries = Array.from({ length: 50 }, () => {
    const start = performance.now()
    delay(1, turns)
    return (performance.now() - start) * 1e6
  })
  turnsPerNs = turns / Math.min(...tries)
  return turnsPerNs
}

function powers(engine: Engine): Subject[] {
  const prime = newPrime(engine)
  const base = randomNumber()
  const ofExponent = (value: Uint8Array) => engine.powers([prime, prime], [base, base], [value, value])
  const exponent = randomNumber(EXPONENT_BYTES)
  const ofBase = (value: Uint8Array) => engine.powers([prime, prime], [value, value], [exponent, exponent])
  const ofModulus = (value: Uint8Array) => engine.powers([value, value], [base, base], [exponent, exponent])
  const ofTwo = (value: Uint8Array) => engine.powers([prime, prime], 2, [value, value])
  const modulusOfTwo = (value: Uint8Array) => engine.powers([value, value], 2, [exponent, exponent])
  const ones = new Uint8Array(EXPONENT_BYTES).fill(0xff)
  const random = () => pool(() => randomNumber(EXPONENT_BYTES))
  return [
    subject('power: exponent of two bits / random', [copies(sparseNumber(EXPONENT_BYTES)), random()], ofExponent),
    subject('power: exponent of ones / random', [copies(ones), random()], ofExponent),
    subject('power of 2: exponent of two bits / random', [copies(sparseNumber(EXPONENT_BYTES)), random()], ofTwo),
    subject('power of 2: one prime / many', [copies(prime), pool(() => newPrime(engine))], modulusOfTwo),
    subject('power: base 0 / random', [copies(smallNumber(0)), pool(randomNumber)], ofBase),
    subject('power: base 1 / random', [copies(smallNumber(1)), pool(randomNumber)], ofBase),
    subject('power: one prime / many', [copies(prime), pool(() => newPrime(engine))], ofModulus),
  ]
}

function inverses(engine: Engine): Subject[] {
  const prime = newPrime(engine)
  const number = randomNumber()
  const e = Uint8Array.of(1, 0, 1)
  const lessOne = (p: Uint8Array) => p.with(p.length - 1, p.at(-1)! & 0xfe)
  const primes = [copies(prime), pool(() => newPrime(engine))] as const
  const even = [copies(lessOne(prime)), primes[1].map(lessOne)] as const
  const invert = (value: Uint8Array) => inverse(value, prime)
  return [
    subject('inverse: of 1 / random', [copies(smallNumber(1)), pool(randomNumber)], invert),
    subject('inverse: of two bits / random', [copies(sparseNumber()), pool(randomNumber)], invert),
    subject('inverse: modulo one prime / many', primes, (p) => inverse(number, p)),
    subject('inverse: of e modulo p - 1, one p / many', even, (m) => inverseOfOdd(e, m)),
  ]
}

function privatePowers(engine: Engine): Subject[] {
  const newKey = () => generateRsa(8 * MODULUS_BYTES, undefined, engine)
  const key = newKey()
  const keys = [copies(encodeRsaPrivateKey(key)), pool(() => encodeRsaPrivateKey(newKey()))] as const
  const number = randomMessage()
  const multipleOfP = Uint8Array.from([...new Uint8Array(PRIME_BYTES), ...key.p])
  // As long as the modulus: an encrypted number without its leading zeros is not secret.
  const encrypted = (number: () => Uint8Array): Uint8Array => {
    for (;;) {
      const block = encrypt(engine, key, number())
      if (block[0] !== 0) return block
    }
  }
  let small = 1
  const ofSmall = encrypted(() => smallNumber(++small, MODULUS_BYTES))
  const arithmetic = engine.openRsa(key)
  const opened = openRsa(key, undefined, engine)
  const enterWithKey = (encoded: Uint8Array) => {
    const opened = engine.openRsa(decodeRsaPrivateKey(encoded))
    return { opened, base: opened.use(() => opened.enter(number)) }
  }
  const bare = (value: Uint8Array) => arithmetic.use(() => arithmetic.privatePower(arithmetic.enter(value)))
  const whole = (value: Uint8Array) => opened.decrypt('RAW', value)
  return [
    preparedSubject('private power, not blinded: one key / many', keys, enterWithKey, ({ opened, base }) =>
      opened.use(() => opened.privatePower(base)),
    ),
    subject('private power, not blinded: one base / many', [copies(number), pool(randomMessage)], bare),
    subject('private power, not blinded: multiple of p / any', [copies(multipleOfP), pool(randomMessage)], bare),
    subject('whole operation: one message / many', [copies(number), pool(randomMessage)], whole),
    subject('whole operation: small result / random', [copies(ofSmall), pool(() => encrypted(randomMessage))], whole),
  ]
}

/** Failures must look alike. That a block does not fail, the answer says anyway. */
function paddings(engine: Engine): Subject[] {
  const key = generateRsa(8 * MODULUS_BYTES, undefined, engine)
  const opened = openRsa(key, undefined, engine)
  const oaep = (block: Uint8Array) => decodeOaep(block, RSA_HASHES.SHA256)
  const decrypt = (mode: DecryptMode) => (encrypted: Uint8Array) => {
    try {
      opened.decrypt(mode, encrypted)
    } catch {
      return
    }
    throw new Error('the block was made to fail')
  }
  const againstFirst = (
    name: string,
    defects: Readonly<Record<string, () => Uint8Array>>,
    prepare: (block: Uint8Array) => Uint8Array,
    operation: (input: Uint8Array) => unknown,
  ) => {
    const [first, ...others] = Object.keys(defects)
    const inputs = (defect: string) => pool(() => prepare(defects[defect]!()))
    return others.map((other) => subject(`${name}: ${first} / ${other}`, [inputs(first!), inputs(other)], operation))
  }
  const { 'first byte': _, ...belowModulus } = PKCS1_DEFECTS
  return [
    ...againstFirst('PKCS1 unpadding', PKCS1_DEFECTS, (block) => block, decodePkcs1),
    ...againstFirst('OAEP unpadding', OAEP_DEFECTS, (block) => block, oaep),
    ...againstFirst('PKCS1 decryption', belowModulus, (block) => encrypt(engine, key, block), decrypt('PKCS1')),
    ...againstFirst('OAEP decryption', OAEP_DEFECTS, (block) => encrypt(engine, key, block), decrypt('OAEP_SHA256')),
  ]
}
