// @test long 60
/** Ends of a connection to a log server: which of them the server itself has made, on slow lines, and after the job's time. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { type ClusterCa, createClusterCa } from '../support/cluster-ca.ts'
import { openProcess } from './started.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const TEXT = '6 <13>1 5 <13>'
const SILENCE_MS = 33_000 // longer than connections may be silent elsewhere
const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const

async function listening(t: TestContext, server: ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Takes everything, and ends TLS in answer to its end. */
async function startServer(t: TestContext, ca: ClusterCa, options: TlsOptions = {}) {
  const { certificate, key } = ca.issue('127.0.0.1')
  let received = ''
  const raws: Socket[] = []
  const sockets: TLSSocket[] = []
  const server = createServer({ cert: certificate, key: Buffer.from(key), ...options }, (socket) => {
    sockets.push(socket.on('error', () => {}))
    socket.on('data', (bytes) => (received += bytes))
  })
  server.on('connection', (raw: Socket) => raws.push(raw.on('error', () => {})))
  server.on('tlsClientError', () => {})
  t.after(() => {
    for (const raw of raws) raw.destroy()
  })
  return { port: await listening(t, server), server, sockets, received: () => received }
}

type LogServer = Awaited<ReturnType<typeof startServer>>

/** Somebody on the path: forwards the handshake, keeps what the client then sends, and does `answer` when it ends TCP. */
async function startAttacker(t: TestContext, to: LogServer, answer: (toClient: Socket, toServer: Socket) => void) {
  const server = createTcpServer({ allowHalfOpen: true }, (client) => {
    const far = connectTcp({ port: to.port, host: '127.0.0.1', allowHalfOpen: true })
    let keeps = false
    to.server.once('secureConnection', () => {
      keeps = true
    })
    for (const socket of [client, far]) {
      socket.on('error', () => {})
      t.after(() => socket.destroy())
    }
    client.on('data', (bytes) => keeps || far.write(bytes))
    far.on('data', (bytes) => client.write(bytes))
    client.on('end', () => answer(client, far))
  })
  return listening(t, server)
}

const jobTo = (port: number, more: object = {}) => ({
  ...{ host: '127.0.0.1', port, fingerprints: [], identity: null, frames: encode(TEXT), timeoutMs: 60_000 },
  ...more,
})

const open = async (t: TestContext, ca: ClusterCa) =>
  (await openProcess(t, { authorities: encode(ca.certificate), publicAuthorities: false })).client

for (const version of VERSIONS)
  test(`with ${version} the end of TLS is the server's, and that of TCP may be another's`, async (t) => {
    const ca = createClusterCa(t)
    const client = await open(t, ca)
    const server = await startServer(t, ca, { minVersion: version, maxVersion: version })
    assert.deepEqual(await client.syslog(jobTo(server.port)), { isAuthenticated: true })
    assert.equal(server.received(), TEXT)
    const attacker = await startAttacker(t, server, (toClient) => toClient.end())
    const frames = new Uint8Array(1024 * 1024).fill(120)
    assert.deepEqual(await client.syslog(jobTo(attacker, { frames })), { isAuthenticated: false })
    assert.ok(server.received().length < frames.length)
    const breaking = await startAttacker(t, server, (toClient) => toClient.resetAndDestroy())
    await assert.rejects(client.syslog(jobTo(breaking)), /it broke the connection|ECONNRESET/)
  })

test('a line that is silent for longer than thirty seconds still confirms', async (t) => {
  const ca = createClusterCa(t)
  const client = await open(t, ca)
  const server = await startServer(t, ca, {})
  const port = await listening(
    t,
    createTcpServer({ allowHalfOpen: true }, (near) => {
      const far = connectTcp({ port: server.port, host: '127.0.0.1' })
      for (const socket of [near, far]) socket.on('error', () => {})
      far.pipe(near)
      near.on('data', (bytes) => far.write(bytes))
      near.on('end', () => setTimeout(() => far.end(), SILENCE_MS))
      // The server's close_notify, which it sends at once, is late as well.
      server.server.once('secureConnection', () => {
        far.unpipe(near)
        setTimeout(() => far.pipe(near), SILENCE_MS)
      })
    }),
  )
  assert.deepEqual(await client.syslog(jobTo(port)), { isAuthenticated: true })
})

test('at the end of its time a job leaves no connection behind', { timeout: 60_000 }, async (t) => {
  const ca = createClusterCa(t)
  const client = await open(t, ca)
  const server = await startServer(t, ca, { allowHalfOpen: true } as TlsOptions)
  await assert.rejects(client.syslog(jobTo(server.port, { timeoutMs: 3000 })), /within 3 seconds/)
  const [socket] = server.sockets
  const timer = setInterval(() => socket!.write('a reader would take this'), 100) // only a socket that is gone answers with an error
  t.after(() => clearInterval(timer))
  await new Promise((resolve) => socket!.once('close', resolve))
})
