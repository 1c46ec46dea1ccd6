// @test long 60
import assert from 'node:assert/strict'
import { Agent } from 'node:https'
import { after, before, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { BASE, type Reply, request } from '../support/client.ts'
import { ADMIN, type Appliance, addUser, startProvisioned, UNLOCK } from '../support/suite.ts'

// More than the 2048 jobs that may wait for the signing threads, with those signed while the others arrive.
const CLIENTS = 2800
const CONNECTING = 50 // handshakes at a time
const PATIENCE_MS = 300_000 // two thousand signatures on a slow machine
const SEARCHES = 40
const HELD = 33 // searches: one in the thread that makes RSA keys, 32 wait for it

let appliance: Appliance
let operator: string
before(async () => {
  appliance = await startProvisioned({ logLevel: 'warning' })
  operator = await addUser(appliance, 'operator', 'Operator')
  const key = { id: 'rsa', type: 'RSA', length: 4096, mechanisms: ['RSA_Signature_PSS_SHA256'] }
  await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json: key }))
})
after(() => appliance.dispose())

const agentFor = () => new Agent({ keepAlive: true, maxSockets: CONNECTING, rejectUnauthorized: false })

const digest = { mode: 'PSS_SHA256', message: Buffer.alloc(32, 1).toString('base64') }
const isBusy = (reply: Reply) => reply.status === 503

function assertBusy(reply: Reply): void {
  assert.equal(reply.status, 503)
  assert.equal(reply.headers['retry-after'], '1')
  assert.equal(reply.headers['content-type'], 'application/json')
  assert.equal(reply.json<{ message: string }>().message, 'Too many operations are waiting')
}

test('when more signatures are asked for than may wait, the rest is told at once to come again, and every other one is made', async () => {
  // Each with connections of its own, which are open before the first signature is asked for.
  const agents = Array.from({ length: CLIENTS / CONNECTING }, agentFor)
  const ask = (agent: Agent | undefined, method: string, path: string, call = {}) =>
    request({ host: appliance.host, port: appliance.port, agent: agent! }, method, BASE + path, call)
  const askByEach = (agent: Agent, method: string, path: string, call = {}) =>
    Array.from({ length: CONNECTING }, () => ask(agent, method, path, { timeoutMs: PATIENCE_MS, ...call }))
  try {
    for (const agent of agents) await Promise.all(askByEach(agent, 'GET', '/health/state'))
    const { operations } = (await expect(200, ask(agents[0], 'GET', '/keys/rsa', { as: operator }))).json<{
      operations: number
    }>()
    const replies = await Promise.all(
      agents.flatMap((agent) => askByEach(agent, 'POST', '/keys/rsa/sign', { as: operator, json: digest })),
    )
    const refused = replies.filter(isBusy)
    const signed = replies.filter((reply) => reply.status === 200)
    assert.ok(refused.length > 0, 'some are refused')
    assert.ok(signed.length >= 2048, `${signed.length} are signed`)
    assert.equal(signed.length + refused.length, CLIENTS, 'nothing else is answered')
    refused.forEach(assertBusy)
    const later = (await expect(200, ask(agents[0], 'GET', '/keys/rsa', { as: operator }))).json<{
      operations: number
    }>()
    assert.equal(later.operations - operations, signed.length, 'what is counted was signed')
    await expect(200, ask(agents[0], 'POST', '/keys/rsa/sign', { as: operator, json: digest }))
  } finally {
    for (const agent of agents) agent.destroy()
  }
})

test('when more RSA keys are asked for than may wait, the rest is told at once to come again; a lock ends those that wait', async () => {
  const key = { type: 'RSA', length: 8192, mechanisms: ['RSA_Signature_PSS_SHA256'] }
  const searching = Array.from({ length: SEARCHES }, () =>
    appliance.call('POST', '/keys/generate', { as: ADMIN, json: key }),
  )
  // All have arrived when as many are answered as are not held; a lock before would answer the late ones with 412.
  let answered = 0
  const arrived = new Promise<void>((resolve) => {
    for (const reply of searching) reply.then(() => ++answered === SEARCHES - HELD && resolve())
  })
  assertBusy(await Promise.race(searching))
  await arrived
  await expect(200, appliance.call('POST', '/keys/rsa/sign', { as: operator, json: digest }))
  await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
  const replies = await Promise.all(searching)
  const refused = replies.filter(isBusy)
  assert.ok(refused.length >= SEARCHES - HELD, `${refused.length} are refused`)
  refused.forEach(assertBusy)
  for (const { status } of replies) assert.ok([201, 412, 503].includes(status), String(status))
  await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  await expect(200, appliance.call('POST', '/keys/rsa/sign', { as: operator, json: digest }))
})
