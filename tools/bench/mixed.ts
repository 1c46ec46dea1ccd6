/**
 * Who waits for whom: signatures with P-256 while as many clients sign with ML-DSA-65, whose signatures take several times as
 * long and differ in how long, beside the same while they sign with Ed25519, in rounds that take turns. Needs wrk.
 *
 * node tools/bench/mixed.ts [--rounds=5] [--seconds=5] [--connections=32]
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  ADMIN,
  bundleFor,
  createClient,
  expectSuccess,
  fillStore,
  isInstalled,
  KEYS,
  makeKeys,
  median,
  othersShare,
  type Server,
  type SigningKey,
  startCoffer,
  writeResults,
} from './harness.ts'
import { load, warmUp } from './wrk.ts'

/** p99 beside ML-DSA-65, divided by p99 beside Ed25519. */
const RATIO_MAX = 3

const [ED25519, P256] = KEYS
const ML_DSA: SigningKey = {
  id: 'mldsa65',
  name: 'ML-DSA-65',
  type: 'ML_DSA_65',
  mechanisms: ['ML_DSA_Signature'],
  mode: 'ML_DSA',
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '32' },
  },
})
const [rounds, seconds, connections] = [values.rounds, values.seconds, values.connections].map(Number) as [
  number,
  number,
  number,
]

if (isInstalled('wrk')) await measure()
else console.log('Left out, since wrk makes the load: apt install wrk')

async function measure(): Promise<void> {
  const busyBefore = await othersShare()
  const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
  let server: Server | undefined
  try {
    await bundleFor(join(directory, 'coffer'))
    server = await startCoffer(join(directory, 'coffer'), join(directory, 'data'))
    const { call, close } = createClient(server)
    await fillStore(call)
    await makeKeys(call)
    const { name: _, mode, ...key } = ML_DSA
    await expectSuccess(call('POST', '/keys/generate', ADMIN, key))
    close()
    for (const key of [ED25519, P256, ML_DSA]) await warmUp(server, key, directory)

    const p99Ms: Record<'ed25519' | 'mlDsa', number[]> = { ed25519: [], mlDsa: [] }
    for (let round = 0; round < rounds; round++) {
      p99Ms.ed25519.push(await p99Beside(ED25519, server, directory))
      p99Ms.mlDsa.push(await p99Beside(ML_DSA, server, directory))
    }
    const ratio = median(p99Ms.mlDsa.map((own, round) => own / p99Ms.ed25519[round]!))
    console.log(`\nP-256 at ${connections} connections, p99 while as many others sign, none refused:`)
    console.log(`  with Ed25519    ${median(p99Ms.ed25519).toFixed(1)} ms`)
    console.log(
      `  with ML-DSA-65  ${median(p99Ms.mlDsa).toFixed(1)} ms, ${ratio.toFixed(2)} of that (at most ${RATIO_MAX})`,
    )
    writeResults('mixed', { busyBefore, rounds, seconds, connections, ratioMax: RATIO_MAX, p99Ms, ratio })
    if (ratio > RATIO_MAX) process.exitCode = 1
  } finally {
    await server?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function p99Beside(other: SigningKey, server: Server, directory: string): Promise<number> {
  const loads = [P256, other].map((key) => load(server, key, connections, seconds, directory))
  const [own] = await Promise.all(loads)
  return own!.p99Ms
}
