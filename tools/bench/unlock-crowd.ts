/**
 * After an unlock every client shows its passphrase again, and each must be derived. So many users do so at once over connections of
 * their own, half of them from addresses from which they were right before; each tries again when it is refused. Meanwhile one
 * client that is in already goes on signing. Linux only: the clients' addresses are of 127.0.0.0/8.
 *
 * node tools/bench/unlock-crowd.ts [--users=500]
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import {
  ADMIN,
  bundleFor,
  createClient,
  expectSuccess,
  fillStore,
  KEYS,
  makeKeys,
  median,
  OPERATOR,
  othersShare,
  quantile,
  type Server,
  signRequest,
  startCoffer,
  UNLOCK_PASSPHRASE,
  writeResults,
} from './harness.ts'

const ADDRESSES = 10 // of the clients that are known, and as many of the others
const RETRY_MS = 200
const SIGNATURES_ALONE = 500
const P99_RATIO_MAX = 4
const BUSY: ReadonlySet<number> = new Set([429, 503])

const { values: options } = parseArgs({ options: { users: { type: 'string', default: '500' } } })
const users = Array.from({ length: Number(options.users) }, (_, n) => ({
  credentials: `user${n}:passphrase of user ${n}`,
  isKnown: n % 2 === 0,
  localAddress: `127.0.${n % 2 === 0 ? 1 : 2}.${1 + (Math.floor(n / 2) % ADDRESSES)}`,
}))
type User = (typeof users)[number]

await othersShare()
const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-crowd-'))
try {
  await bundleFor(join(directory, 'coffer'))
  const server = await startCoffer(join(directory, 'coffer'), join(directory, 'data'))
  const results = await measure(server)
  await server.stop()
  writeResults('unlock-crowd', results)
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function measure(server: Server) {
  const { call, close } = createClient(server)
  await fillStore(call)
  await makeKeys(call)
  for (const { credentials } of users) {
    const [id, passphrase] = credentials.split(':')
    await expectSuccess(call('PUT', `/users/${id}`, ADMIN, { realName: 'One of many', role: 'Operator', passphrase }))
  }
  for (const user of users.filter(({ isKnown }) => isKnown)) await signIn(server, user)
  await expectSuccess(call('POST', '/lock', ADMIN))
  await expectSuccess(call('POST', '/unlock', undefined, { passphrase: UNLOCK_PASSPHRASE }))

  const [key] = KEYS
  const sign = async (): Promise<number> => {
    const startedMs = performance.now()
    await expectSuccess(call('POST', `/keys/${key.id}/sign`, OPERATOR, signRequest(key)))
    return performance.now() - startedMs
  }
  await sign() // derives
  const alone: number[] = []
  for (let n = 0; n < SIGNATURES_ALONE; n++) alone.push(await sign())

  let isOver = false
  const startedMs = performance.now()
  const crowd = Promise.all(users.map((user) => signIn(server, user))).finally(() => {
    isOver = true
  })
  const beside: number[] = []
  while (!isOver) beside.push(await sign())
  const answers = await crowd
  close()
  const lastMs = (isKnown: boolean) =>
    Math.max(...answers.flatMap((one, n) => (users[n]!.isKnown === isKnown ? [one.atMs] : []))) - startedMs
  const [knownMs, othersMs] = [lastMs(true), lastMs(false)]
  const refused = answers.reduce((sum, one) => sum + one.refused, 0)
  const figures = (times: readonly number[]) => ({ p50: median(times), p99: quantile(times, 0.99) })
  const ratio = figures(beside).p99 / figures(alone).p99
  console.log(
    `${users.length} users at once: the last of a known address is in after ${(knownMs / 1000).toFixed(1)} s, the last of all after ${(othersMs / 1000).toFixed(1)} s, ` +
      `${refused} refusals that were tried again\n` +
      `signatures meanwhile: p50 ${figures(beside).p50.toFixed(2)} ms, p99 ${figures(beside).p99.toFixed(2)}; alone ${figures(alone).p50.toFixed(2)} and ${figures(alone).p99.toFixed(2)}; p99 ${ratio.toFixed(1)} times that`,
  )
  if (knownMs > othersMs || ratio > P99_RATIO_MAX) {
    console.error(`Known addresses come first, and the p99 of a signature may be ${P99_RATIO_MAX} times that alone.`)
    process.exitCode = 1
  }
  return { users: users.length, knownMs, othersMs, refused, alone: figures(alone), beside: figures(beside), ratio }
}

/** Signs once over a connection of its own; tries again while too many wait. */
async function signIn({ port }: Server, { credentials, localAddress }: User) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  const [key] = KEYS
  const body = JSON.stringify(signRequest(key))
  const sign = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(
        {
          agent,
          host: '127.0.0.1',
          localAddress,
          port,
          method: 'POST',
          path: `/api/v1/keys/${key.id}/sign`,
          auth: credentials,
          headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
        },
        (answer) => answer.resume().once('end', () => resolve(answer.statusCode!)),
      )
      sent.once('error', reject).end(body)
    })
  let refused = 0
  for (;;) {
    const status = await sign()
    if (status === 200) break
    if (!BUSY.has(status)) throw new Error(`A signature was answered ${status}`)
    refused++
    await wait(RETRY_MS)
  }
  agent.destroy()
  return { refused, atMs: performance.now() }
}
