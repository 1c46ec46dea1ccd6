/**
 * Cost of the transit API: ratios of rates of one server, in short rounds that take turns, as medians of the pairs. A ratio below its
 * goal is said and fails nothing. `--before` names a commit, such as the last one without the API, beside which signatures are measured, too.
 *
 * node tools/bench/transit.ts [--rounds=5] [--before=COMMIT]
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { bundleCommit } from '../build-commit.ts'
import {
  ADMIN,
  bundleFor,
  createClient,
  expectSuccess,
  fillStore,
  median,
  OPERATOR,
  othersShare,
  startCoffer,
  writeResults,
} from './harness.ts'

const CLIENTS = 16
const ROUND_MS = 3000
const BATCH = 100
const P256 = { id: 'p256', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
const DATA = Buffer.alloc(32, 1).toString('base64')

interface Question {
  path: string
  headers: Readonly<Record<string, string>>
  body: object
  /** Signatures or ciphertexts of one answer. */
  items?: number
}

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, before: { type: 'string' } },
})
const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS, rejectUnauthorized: false })
try {
  await measureAll(Number(values.rounds), values.before)
} finally {
  agent.destroy()
  rmSync(directory, { recursive: true })
}

async function measureAll(rounds: number, before?: string): Promise<void> {
  await othersShare()
  await bundleFor(join(directory, 'program'))
  const server = await startCoffer(join(directory, 'program'), join(directory, 'data'))
  const { call, close } = createClient(server)
  const { port } = server
  try {
    await fillStore(call)
    const generate = (id: string, type: string, mechanisms: string[], length?: number) =>
      expectSuccess(call('POST', '/keys/generate', ADMIN, { id, type, mechanisms, ...(length && { length }) }))
    await generate(P256.id, P256.type, P256.mechanisms)
    await generate('aes', 'Generic', ['AES_Encryption_CBC'], 256)
    await generate('xaes', 'Generic', ['XAES_Encryption_GCM', 'XAES_Decryption_GCM', 'HMAC'], 256)
    const setWire = (transit: 'on' | 'off') =>
      expectSuccess(call('PUT', '/config/interfaces', ADMIN, { transit, tokenHours: 24 }))
    await setWire('on')
    const [user, password] = OPERATOR.split(':')
    const path = `/v1/auth/userpass/login/${user}`
    const token = JSON.parse(await ask(port, { path, headers: {}, body: { password } })).auth.client_token
    const own = (path: string, body: object): Question => ({
      path: `/api/v1/keys/${path}`,
      headers: { authorization: `Basic ${Buffer.from(OPERATOR).toString('base64')}` },
      body,
    })
    const wire = (path: string, body: object, items = 1): Question => ({
      path: `/v1/transit/${path}`,
      headers: { 'x-vault-token': token },
      body,
      items,
    })
    const sign = own('p256/sign', { mode: 'ECDSA', message: DATA })
    const signOnWire = wire('sign/p256', { input: DATA, prehashed: true })
    const cbc = own('aes/encrypt', { mode: 'AES_CBC', message: DATA })
    const encrypt = wire('encrypt/xaes', { plaintext: DATA })
    const many = wire(
      'encrypt/xaes',
      { batch_input: Array.from({ length: BATCH }, () => ({ plaintext: DATA })) },
      BATCH,
    )

    const rows = [
      await compare('P-256 signatures, the API on : off', 0.98, rounds, [
        () => setWire('on').then(() => rate(port, sign)),
        () => setWire('off').then(() => rate(port, sign)),
      ]),
    ]
    await setWire('on')
    if (before !== undefined) rows.push(await compareWithBefore(before, rounds, () => rate(port, sign), sign))
    const pairs: [name: string, goal: number, Question, Question][] = [
      ['P-256 signatures, transit : own API', 0.8, signOnWire, sign],
      ['32 bytes, encrypt on transit : AES-CBC', 0.9, encrypt, cbc],
      [`items, batches of ${BATCH} : single requests`, 5, many, encrypt],
    ]
    for (const [name, goal, first, second] of pairs)
      rows.push(await compare(name, goal, rounds, [() => rate(port, first), () => rate(port, second)]))
    writeResults('transit', { rounds, rows })
  } finally {
    close()
    await server.stop()
  }
}

type Measure = () => Promise<number>

async function compareWithBefore(before: string, rounds: number, now: Measure, sign: Question) {
  const program = join(directory, 'before')
  const node = bundleCommit(before, join(directory, 'sources'), program)
  const server = await startCoffer(program, join(directory, 'data-before'), node)
  const { call, close } = createClient(server)
  try {
    await fillStore(call)
    await expectSuccess(call('POST', '/keys/generate', ADMIN, P256))
    const name = 'P-256 signatures, the API on : before'
    return await compare(name, 0.98, rounds, [now, () => rate(server.port, sign)])
  } finally {
    close()
    await server.stop()
  }
}

/** The first rounds warm up. */
async function compare(name: string, goal: number, rounds: number, [first, second]: [Measure, Measure]) {
  const [firsts, seconds, ratios]: [number[], number[], number[]] = [[], [], []]
  for (let round = -1; round < rounds; round++) {
    const backwards = round % 2 === 0
    const before = backwards ? await second() : 0
    const a = await first()
    const b = backwards ? before : await second()
    if (round < 0) continue
    firsts.push(a)
    seconds.push(b)
    ratios.push(a / b)
  }
  const ratio = median(ratios)
  const missed = ratio < goal ? ', missed' : ''
  const rates = `${median(firsts).toFixed(0)} : ${median(seconds).toFixed(0)} a second`
  console.log(`${name.padEnd(42)} ${rates.padStart(24)}  ${ratio.toFixed(2)} (goal ${goal}${missed})`)
  return { name, goal, ratio, first: median(firsts), second: median(seconds) }
}

/** Items a second of all clients together. */
async function rate(port: number, question: Question): Promise<number> {
  const startedMs = performance.now()
  let items = 0
  const client = async () => {
    while (performance.now() - startedMs < ROUND_MS) {
      await ask(port, question)
      items += question.items ?? 1
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return (items * 1000) / (performance.now() - startedMs)
}

function ask(port: number, { path, headers, body }: Question): Promise<string> {
  const text = JSON.stringify(body)
  const all = { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host: '127.0.0.1', port, path, method: 'POST', headers: all }, (answer) => {
      let given = ''
      answer.setEncoding('utf8').on('data', (piece: string) => {
        given += piece
      })
      answer.once('error', reject)
      answer.once('end', () => {
        if (answer.statusCode === 200) resolve(given)
        else reject(new Error(`${path}: ${answer.statusCode} ${given.slice(0, 200)}`))
      })
    })
    sent.once('error', reject).end(text)
  })
}
