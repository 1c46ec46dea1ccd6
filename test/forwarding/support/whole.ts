/** A whole Coffer that forwards to a log server on this computer, and keys in use meanwhile. */

import assert from 'node:assert/strict'
import { Agent, request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { type Verdict, verifyExport } from '../../../firmware/client/audit-verify.ts'
import { collectLines } from '../../../tools/coffer/collected-lines.ts'
import { ADMIN, type Client, expect, provision } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import type { ClusterCa } from '../../support/cluster-ca.ts'
import { type Coffer, type Ending, makeDataDirectory, startCoffer } from '../../support/process.ts'
import type { RealServer } from './servers.ts'

const DEADLINE_MS = 420_000 // the machine may be busy or emulated, and a failed attempt waits up to ten seconds
const CONNECTIONS = 16
const OPERATOR = { id: 'operator', passphrase: 'passphrase of the operator' }
const KEY = { id: 'k', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
const RING_LINES = 500_000 // more than the uses of a test

interface Status {
  state: string
  confirmed: number
  waiting: number
  problem?: string
}

export const start = async (t: Ending, data: string): Promise<Coffer> =>
  startCoffer(t, { program: await buildForTests(), data })

export async function openWhole(t: Ending, ca: ClusterCa, data = makeDataDirectory(t)): Promise<Coffer> {
  const coffer = await start(t, data)
  await provision(coffer)
  await prepare(coffer, ca)
  return coffer
}

/** Makes a key and its user, and trusts the authority of the log server. */
export async function prepare(coffer: Client, ca: ClusterCa): Promise<void> {
  const json = { realName: 'Operator', role: 'Operator', passphrase: OPERATOR.passphrase }
  await expect(201, coffer.call('PUT', `/users/${OPERATOR.id}`, { as: ADMIN, json }))
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json: KEY }))
  await expect(204, coffer.call('PUT', '/config/outgoing', { as: ADMIN, json: { authorities: ca.certificate } }))
  await expect(204, coffer.call('PUT', '/config/audit', { as: ADMIN, json: { uses: RING_LINES } }))
}

export function forwardTo(coffer: Client, { port }: RealServer, more: object = {}) {
  const json = { server: '127.0.0.1', port, ...more }
  return expect(204, coffer.call('PUT', '/config/syslog', { as: ADMIN, json }))
}

export const statusOf = async (coffer: Client): Promise<Status> =>
  (await expect(200, coffer.call('GET', '/config/syslog', { as: ADMIN }))).json<Status>()

/** A Coffer of any kind, with all it has printed. */
type Printing = Client & Pick<Coffer, 'output'>

export async function until(coffer: Printing, isReached: (status: Status) => boolean): Promise<Status> {
  for (const deadline = Date.now() + DEADLINE_MS; ; await wait(100)) {
    const status = await statusOf(coffer)
    if (isReached(status)) return status
    assert.ok(Date.now() < deadline, `${JSON.stringify(status)}\n${coffer.output()}`)
  }
}

/** Signs as fast as some connections can until it is stopped, also over restarts; returns the number of signatures. */
export function signContinuously(coffer: Pick<Coffer, 'target'>): { stop(): Promise<number> } {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, rejectUnauthorized: false })
  const authorization = `Basic ${Buffer.from(`${OPERATOR.id}:${OPERATOR.passphrase}`).toString('base64')}`
  const body = JSON.stringify({ mode: 'EdDSA', message: 'AA==' })
  let count = 0
  let isOver = false
  const sign = (host: string, port: number) =>
    new Promise<boolean>((resolve) => {
      const headers = { authorization, 'content-type': 'application/json', 'content-length': body.length }
      const asked = request({ agent, host, port, method: 'POST', path: '/api/v1/keys/k/sign', headers }, (answer) => {
        answer.resume()
        answer.on('close', () => resolve(answer.statusCode === 200))
      })
      asked.on('error', () => resolve(false))
      asked.end(body)
    })
  const work = async () => {
    while (!isOver) {
      const { host, port } = await coffer.target()
      if (await sign(host, port)) count++
      else await wait(100)
    }
  }
  const workers = Array.from({ length: CONNECTIONS }, work)
  return {
    async stop() {
      isOver = true
      await Promise.all(workers)
      agent.destroy()
      return count
    },
  }
}

export async function arrives(server: RealServer, pattern: RegExp): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; !pattern.test(server.text()); await wait(100))
    assert.ok(Date.now() < deadline, `no ${pattern}`)
}

/** Waits until everything was confirmed, and verifies the server's file as `coffer audit verify --collected` does. */
export async function verifyArrived(coffer: Printing, server: RealServer): Promise<Verdict & { newest: number }> {
  const head = async () =>
    (await expect(200, coffer.call('GET', '/audit?limit=1', { as: ADMIN }))).json<{ head: { sequence: number } }>().head
  const { sequence: newest } = await head()
  await until(coffer, ({ confirmed }) => confirmed >= newest)
  return { ...(await verifyExport(await collectLines(server.file), { isCollected: true })), newest }
}
