/**
 * Signatures, decryptions and new keys against node:crypto, on one core: both in turn, and all operations in each round, so
 * that a change of the machine's speed meets all of them, and the median ratio of the rounds. Once as the processor is,
 * once with OpenSSL's IFMA masked, as on the many processors without it (RSA signatures and decryptions only: OpenSSL uses
 * it for nothing else here). Signatures of curves also against themselves without the check they undergo before they leave:
 * what it takes of their time. ML-DSA on both kinds of multiply-add, and opening a key against our own signature with it. Beside
 * Node's OpenSSL, the slow reference, stand the other libraries that are installed (see anchors.ts): in five of the rounds each takes
 * its turn, too, and its ratio is the median of those.
 *
 * node tools/bench/primitives.ts [--only=RSA-2048] [--rounds=45] [--generate=40] [--json=dist/bench/primitives.json]
 */

import { spawnSync } from 'node:child_process'
import {
  constants,
  createHash,
  generateKeyPairSync,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
  sign,
} from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { generateCurveKey, openCurveKey } from '../../firmware/crypto/ec/private-key.ts'
import { engineChoice, products } from '../../firmware/crypto/engine/choice.ts'
import type { BasePoint } from '../../firmware/crypto/engine/float/base-point.ts'
import { openBip340 } from '../../firmware/crypto/engine/float/bip340.ts'
import { newBasePoint } from '../../firmware/crypto/engine/float/curves.ts'
import { signEcdsa } from '../../firmware/crypto/engine/float/ecdsa.ts'
import { openEd25519 } from '../../firmware/crypto/engine/float/eddsa.ts'
import type { Products } from '../../firmware/crypto/engine/float/emitter.ts'
import { expandSeed } from '../../firmware/crypto/engine/ml-dsa/key.ts'
import { ML_DSA_SETS, type MlDsaSet, SEED_BYTES } from '../../firmware/crypto/engine/ml-dsa/parameters.ts'
import { latticeOf } from '../../firmware/crypto/engine/ml-dsa/sets.ts'
import { sign as signOnce } from '../../firmware/crypto/engine/ml-dsa/signature.ts'
import { openMlDsa } from '../../firmware/crypto/ml-dsa/private-key.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { generateRsa, openRsa, type RsaPrivateKey } from '../../firmware/crypto/rsa/private-key.ts'
import { type AnchorTime, findAnchors, measureAnchors } from './anchors.ts'

const RSA_SIZES = [2048, 3072, 4096] as const
const FLOORS: Readonly<Record<string, readonly [asIs: number, masked: number]>> = {
  'RSA-2048 sign': [0.45, 0.95],
  'RSA-3072 sign': [0.43, 0.95],
  'RSA-4096 sign': [0.4, 0.95],
  'RSA-2048 generate': [1, 1],
  'RSA-3072 generate': [1, 1],
  'RSA-4096 generate': [1, 1],
  'Ed25519 sign': [0.85, 0.85],
  'P-256 sign': [0.38, 0.38],
  'P-384 sign': [5, 5],
  'P-521 sign': [5, 5],
  'secp256k1 sign': [3, 3],
  'BIP-340 sign': [3, 3],
  'brainpoolP256r1 sign': [3, 3],
  'brainpoolP384r1 sign': [3, 3],
  'brainpoolP512r1 sign': [3, 3],
  'ML-DSA-44 sign': [3, 3],
  'ML-DSA-65 sign': [3.2, 3.2],
  'ML-DSA-87 sign': [3.6, 3.6],
  'ML-DSA-44 not fused': [2.7, 2.7],
  'ML-DSA-65 not fused': [3, 3],
  'ML-DSA-87 not fused': [3.2, 3.2],
  'ML-DSA-44 open': [0.5, 0.5],
  'ML-DSA-65 open': [0.5, 0.5],
  'ML-DSA-87 open': [0.5, 0.5],
}

/** Shares of the rates of other libraries. */
const GOALS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'Ed25519 sign': { ring: 1, 'AWS-LC': 0.37 },
  'P-256 sign': { 'AWS-LC': 0.5 },
  'P-384 sign': { 'AWS-LC': 1.3 },
  'P-521 sign': { 'AWS-LC': 1.3 },
  'ML-DSA-65 sign': { 'AWS-LC': 0.7 },
}
const ANCHOR_ROUNDS = 5

/** OpenSSL's name of the processor's feature word 2, bit 21: AVX512-IFMA. */
const MASKED = { OPENSSL_ia32cap: ':~0x200000' }

const ROUND_MS = 20 // of each side of each operation
const WARM_UP_MS = 400 // until the optimizing compiler has done its part

interface Subject {
  name: string
  ours: () => unknown
  openssl: () => unknown
  /** The same signature, checked and not. */
  check?: readonly [checked: () => unknown, unchecked: () => unknown]
}

interface Result {
  name: string
  masked: boolean
  /** Share of the check of a signature in the time of the signature; curves only. */
  checkShare: number | null
  oursPerSecond: number
  opensslPerSecond: number
  ratio: number
  floor: number | null
  /** Ratios to other libraries by their names. */
  others: Readonly<Record<string, number>>
}

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '45' },
    generate: { type: 'string', default: '40' },
    json: { type: 'string', default: 'dist/bench/primitives.json' },
    measure: { type: 'boolean', default: false },
  },
})

if (options.measure) {
  const masked = process.env.OPENSSL_ia32cap === MASKED.OPENSSL_ia32cap
  const anchors = masked ? [] : findAnchors()
  const chosen = subjects(masked).filter(({ name }) => name.includes(options.only))
  for (const measured of measure(chosen, masked, anchors)) console.log(JSON.stringify(measured))
  for (const bits of masked ? [] : RSA_SIZES) {
    const name = `RSA-${bits} generate`
    if (Number(options.generate) > 0 && name.includes(options.only)) {
      console.log(JSON.stringify(measureGeneration(name, bits)))
    }
  }
} else {
  const results = [false, true].flatMap(runApart)
  print(results)
  const report = { processor: cpus()[0]?.model, node: process.version, engine: engineChoice, results }
  mkdirSync(dirname(options.json), { recursive: true })
  writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`)
}

/** In a process of its own: OpenSSL reads its environment once. */
function runApart(masked: boolean): Result[] {
  const { stdout, status } = spawnSync(
    process.execPath,
    [fileURLToPath(import.meta.url), ...process.argv.slice(2), '--measure'],
    { env: { ...process.env, ...(masked ? MASKED : {}) }, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' },
  )
  if (status !== 0) throw new Error('The measuring process failed')
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Result)
}

function measure(subjects: readonly Subject[], masked: boolean, anchors: ReturnType<typeof findAnchors>): Result[] {
  const repeats = (work: () => unknown): number => Math.ceil(ROUND_MS / warmUp(work))
  const runQueued = (first: () => unknown, second: () => unknown) => {
    const [firstRepeats, secondRepeats] = [repeats(first), repeats(second)]
    const times: [number, number][] = []
    return { times, run: () => times.push([timeOf(first, firstRepeats), timeOf(second, secondRepeats)]) }
  }
  const running = subjects.map(({ name, ours, openssl, check }) => {
    const [sides, checks] = [runQueued(ours, openssl), check && runQueued(...check)]
    return { name, sides, checks }
  })
  const others: { round: number; times: AnchorTime[] }[] = []
  const every = Math.max(1, Math.floor(Number(options.rounds) / ANCHOR_ROUNDS))
  for (let round = 0; round < Number(options.rounds); round++) {
    if (anchors.length > 0 && round % every === 0) others.push({ round, times: measureAnchors(anchors, ROUND_MS) })
    for (const { sides, checks } of running) {
      sides.run()
      checks?.run()
    }
  }
  return running.map(({ name, sides, checks }) => {
    const shares = checks?.times.map(([checked, unchecked]) => 1 - unchecked / checked)
    return {
      ...result(name, masked, sides.times),
      checkShare: shares === undefined ? null : median(shares),
      others: ratiosToOthers(name, sides.times, others),
    }
  })
}

/** Each of the rounds in which they had a turn, against our time in that round. */
function ratiosToOthers(
  name: string,
  times: readonly (readonly [ours: number, openssl: number])[],
  others: readonly { round: number; times: readonly AnchorTime[] }[],
): Record<string, number> {
  const ratios = new Map<string, number[]>()
  for (const { round, times: theirs } of others)
    for (const { library, ns } of theirs.filter((one) => one.name === name)) {
      const all = ratios.get(library) ?? []
      ratios.set(library, [...all, ns / 1e6 / times[round]![0]])
    }
  return Object.fromEntries([...ratios].map(([library, all]) => [library, median(all)]))
}

/** A key's time varies widely with luck: the mean counts. */
function measureGeneration(name: string, modulusLength: number): Result {
  generateRsa(1024)
  const sum: [number, number] = [0, 0]
  for (let i = 0; i < Number(options.generate); i++) {
    sum[0] += timeOf(() => generateRsa(modulusLength), 1)
    sum[1] += timeOf(() => generateKeyPairSync('rsa', { modulusLength }), 1)
  }
  return result(name, false, [[sum[0] / Number(options.generate), sum[1] / Number(options.generate)]])
}

function result(name: string, masked: boolean, times: readonly (readonly [ours: number, openssl: number])[]): Result {
  return {
    name,
    masked,
    oursPerSecond: 1000 / median(times.map(([ours]) => ours)),
    opensslPerSecond: 1000 / median(times.map(([, openssl]) => openssl)),
    ratio: median(times.map(([ours, openssl]) => openssl / ours)),
    floor: FLOORS[name]?.[masked ? 1 : 0] ?? null,
    checkShare: null,
    others: {},
  }
}

/** Milliseconds of one call, after enough of them. */
function warmUp(work: () => unknown): number {
  const start = performance.now()
  let last = start
  let fastest = Number.POSITIVE_INFINITY
  while (last - start < WARM_UP_MS) {
    work()
    const now = performance.now()
    fastest = Math.min(fastest, now - last)
    last = now
  }
  return fastest
}

/** Milliseconds of this process: what else runs does not count. A thread's own time may be counted in ticks only. */
function timeOf(work: () => unknown, repeats: number): number {
  const start = process.cpuUsage()
  for (let i = 0; i < repeats; i++) work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000 / repeats
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!
}

function subjects(masked: boolean): Subject[] {
  const rsa = RSA_SIZES.flatMap(rsaSubjects)
  return masked ? rsa : [...rsa, ...curveSubjects(), ...ML_DSA_SETS.flatMap(mlDsaSubjects)]
}

function rsaSubjects(bits: number): Subject[] {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits })
  const key = openRsa(numbersOf(privateKey))
  const message = randomBytes(100)
  const digest = createHash('sha256').update(message).digest()
  const pss = { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
  const oaep = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
  const encrypted = publicEncrypt({ key: publicKey, ...oaep }, randomBytes(32))
  return [
    {
      name: `RSA-${bits} sign`,
      ours: () => key.sign('PKCS1_SHA256', digest),
      openssl: () => sign('sha256', message, privateKey),
    },
    {
      name: `RSA-${bits} sign PSS`,
      ours: () => key.sign('PSS_SHA256', digest),
      openssl: () => sign('sha256', message, pss),
    },
    {
      name: `RSA-${bits} decrypt OAEP`,
      ours: () => key.decrypt('OAEP_SHA256', encrypted),
      openssl: () => privateDecrypt({ key: privateKey, ...oaep }, encrypted),
    },
  ]
}

function numbersOf(privateKey: KeyObject): RsaPrivateKey {
  const jwk = privateKey.export({ format: 'jwk' })
  const number = (text: string | undefined) => new Uint8Array(Buffer.from(text!, 'base64url'))
  return {
    n: number(jwk.n),
    e: number(jwk.e),
    p: number(jwk.p),
    q: number(jwk.q),
    dp: number(jwk.dp),
    dq: number(jwk.dq),
    qinv: number(jwk.qi),
  }
}

function curveSubjects(): Subject[] {
  const curves = [
    ['Curve25519', 'Ed25519', null],
    ['EC_P256', 'P-256', 'sha256'],
    ['EC_P384', 'P-384', 'sha384'],
    ['EC_P521', 'P-521', 'sha512'],
    ['EC_P256K1', 'secp256k1', 'sha256'],
    ['BrainpoolP256', 'brainpoolP256r1', 'sha256'],
    ['BrainpoolP384', 'brainpoolP384r1', 'sha384'],
    ['BrainpoolP512', 'brainpoolP512r1', 'sha512'],
  ] as const
  return curves.flatMap(([type, name, hash]) => {
    const secret = generateCurveKey(type, systemRandom).private
    const key = openCurveKey(type, secret, systemRandom)
    const bases = [newBasePoint(type, products), newBasePoint(type, products, false)] as const
    const { privateKey } =
      hash === null ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: name })
    const message = randomBytes(100)
    const signed = hash === null ? message : createHash(hash).update(message).digest()
    const mode = hash === null ? 'EdDSA' : 'ECDSA'
    const openssl = () => sign(hash, message, privateKey)
    const pair = (signWith: (base: BasePoint) => () => unknown) => [signWith(bases[0]), signWith(bases[1])] as const
    const check = pair((base) => {
      if (mode === 'ECDSA') return () => signEcdsa(base, signed, secret, systemRandom)
      const opened = openEd25519(base, secret)
      return () => opened.sign(message)
    })
    const subject = { name: `${name} sign`, ours: () => key.sign(mode, signed), openssl, check }
    if (name !== 'secp256k1') return [subject]
    const checkBip340 = pair((base) => {
      const opened = openBip340(base, secret)
      return () => opened.sign(message, systemRandom(32))
    })
    // OpenSSL has no BIP-340: its ECDSA on the same curve is the nearest thing
    return [subject, { name: 'BIP-340 sign', ours: () => key.sign('BIP340', message), openssl, check: checkBip340 }]
  })
}

function mlDsaSubjects(set: MlDsaSet): Subject[] {
  const name = set.replaceAll('_', '-')
  const { privateKey } = generateKeyPairSync(name.toLowerCase() as never) as unknown as { privateKey: KeyObject }
  const seed = systemRandom(SEED_BYTES)
  const openssl = () => sign(null, randomBytes(32), privateKey)
  const signs = (products: Products): (() => unknown) => {
    const key = openMlDsa(set, seed, systemRandom, products)
    return () => key.sign('ML_DSA', randomBytes(32))
  }
  const lattice = latticeOf(set, products)
  const expanded = expandSeed(lattice, seed)
  const unchecked = () => lattice.use(() => signOnce(lattice, expanded, randomBytes(64), systemRandom(SEED_BYTES)))
  const [ours, unfused] = [signs(products), signs('exact')]
  return [
    { name: `${name} sign`, ours, openssl, check: [ours, unchecked] },
    { name: `${name} not fused`, ours: unfused, openssl },
    // not OpenSSL, but our own signature: that it takes at most twice as long is what matters to who comes first
    { name: `${name} open`, ours: () => expandSeed(lattice, seed), openssl: ours },
  ]
}

function print(results: readonly Result[]): void {
  const libraries = [...new Set(results.flatMap(({ others }) => Object.keys(others)))]
  console.log(
    `Engine ${engineChoice}; Node ${process.version}, ${cpus()[0]?.model}; ratios to OpenSSL ${process.versions.openssl} of Node`,
  )
  console.log(
    `${'operation'.padEnd(24)}${'OpenSSL'.padEnd(13)}${'ours/s'.padStart(9)}${'its/s'.padStart(9)}${'ratio'.padStart(8)}  ${'floor'.padEnd(14)}${'check takes'.padEnd(13)}${libraries.map((name) => `to ${name}`.padStart(18)).join('')}`.trimEnd(),
  )
  for (const { name, masked, oursPerSecond, opensslPerSecond, ratio, floor, checkShare, others } of results) {
    const rates = [oursPerSecond, opensslPerSecond].map((rate) => rate.toFixed(rate < 100 ? 1 : 0).padStart(9)).join('')
    const verdict = floor === null ? '' : `${floor}${ratio < floor ? '  missed' : ''}`
    const check = checkShare === null ? '' : `${(100 * checkShare).toFixed(1)} %`
    const line = `${name.padEnd(24)}${(masked ? 'without IFMA' : 'as it is').padEnd(13)}${rates}${ratio.toFixed(3).padStart(8)}`
    const beside = libraries.map((library) => (others[library]?.toFixed(2) ?? '').padStart(18)).join('')
    console.log(`${line}  ${verdict.padEnd(14)}${check.padEnd(13)}${beside}`.trimEnd())
  }
  for (const { name, others } of results)
    for (const [library, goal] of Object.entries(GOALS[name] ?? {}))
      if (others[library] !== undefined && others[library] < goal)
        console.log(`${name}: ${others[library].toFixed(2)} of ${library}, where ${goal} is the goal`)
}
