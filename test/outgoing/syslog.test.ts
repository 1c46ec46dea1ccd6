// @test long 16
/** Messages to a log server over TLS, by the real process: whom it sends them to, and what confirms them. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { defined } from '../../firmware/base/defined.ts'
import type { SyslogJob } from '../../firmware/outgoing/link.ts'
import { type ClusterCa, createClusterCa } from '../support/cluster-ca.ts'
import { openProcess } from './started.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const TEXT = '6 <13>1 5 <13>'
const FRAMES = encode(TEXT)

interface LogServer {
  port: number
  certificate: string
  received(): string
  connections: TLSSocket[]
}

/** Answers the end of a connection with its own, unless `onConnection` does something else. */
async function startServer(
  t: TestContext,
  ca: ClusterCa,
  onConnection: (socket: TLSSocket, raw: Socket) => void = () => {},
  { address = '127.0.0.1', ...options }: TlsOptions & { address?: string } = {},
): Promise<LogServer> {
  const { certificate, key } = ca.issue(address)
  const connections: TLSSocket[] = []
  let received = ''
  const below = new Map<number | undefined, Socket>()
  const server = createServer(
    { cert: certificate, key: Buffer.from(key), ca: ca.certificate, ...options },
    (socket) => {
      connections.push(socket)
      socket.on('error', () => {})
      socket.on('data', (bytes) => (received += bytes))
      onConnection(socket, defined(below.get(socket.remotePort)))
    },
  )
  server.on('tlsClientError', () => {})
  server.on('connection', (socket: Socket) =>
    below.set(
      socket.remotePort,
      socket.on('error', () => {}),
    ),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of connections) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, certificate, received: () => received, connections }
}

const jobTo = (port: number, more: Partial<SyslogJob> = {}) => ({
  ...{ host: '127.0.0.1', port, fingerprints: [], identity: null, frames: FRAMES, timeoutMs: 60_000 },
  ...more,
})

const open = async (t: TestContext, ca: ClusterCa, onHost = true) =>
  (await openProcess(t, { onHost, authorities: encode(ca.certificate), publicAuthorities: false })).client

const fingerprintOf = (pem: string): string => `sha-256:${new X509Certificate(pem).fingerprint256}`

test('a server that ends the connection in answer has confirmed everything', async (t) => {
  const ca = createClusterCa(t)
  const client = await open(t, ca)
  const server = await startServer(t, ca)
  await client.syslog(jobTo(server.port))
  assert.equal(server.received(), TEXT)
  const frames = new Uint8Array(1024 * 1024).fill(120)
  await client.syslog(
    jobTo(server.port, { frames, host: 'localhost', fingerprints: [fingerprintOf(server.certificate)] }),
  )
  assert.equal(server.received().length, FRAMES.length + frames.length)
})

test('a server that ends first, breaks the connection, or reads and says nothing has confirmed nothing', async (t) => {
  const ca = createClusterCa(t)
  const client = await open(t, ca)
  const ends = await startServer(t, ca, (socket) => socket.once('data', () => socket.end()))
  await assert.rejects(client.syslog(jobTo(ends.port)), /it ended the connection before all lines were sent/)
  const breaks = await startServer(t, ca, (socket, raw) => socket.once('data', () => raw.resetAndDestroy()))
  await assert.rejects(client.syslog(jobTo(breaks.port)), /it broke the connection|could not be reached \(ECONNRESET\)/)
  const breaksAtTheEnd = await startServer(t, ca, (socket, raw) => socket.once('end', () => raw.resetAndDestroy()), {
    allowHalfOpen: true,
  } as TlsOptions)
  await assert.rejects(client.syslog(jobTo(breaksAtTheEnd.port)), /it broke the connection|ECONNRESET/)
  const silent = await startServer(t, ca, () => {}, { allowHalfOpen: true } as TlsOptions)
  await assert.rejects(
    client.syslog(jobTo(silent.port, { timeoutMs: 3000 })),
    /it did not take the lines within 3 seconds/,
  )
  assert.equal(silent.received(), TEXT)
})

test('nothing is sent to a server with another name, an unknown authority or without TLS', async (t) => {
  const ca = createClusterCa(t)
  const client = await open(t, ca)
  const named = await startServer(t, ca, () => {}, { address: '192.0.2.1' })
  await assert.rejects(client.syslog(jobTo(named.port)), /ERR_TLS_CERT_ALTNAME_INVALID/)
  const unknown = await startServer(t, createClusterCa(t))
  await assert.rejects(client.syslog(jobTo(unknown.port)), /could not be reached \(\w*(?:SELF_SIGNED|UNABLE)\w*\)/)
  let plain = ''
  const server = createTcpServer((socket) => socket.on('data', (bytes) => (plain += bytes.toString('latin1'))))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  await assert.rejects(client.syslog(jobTo(port, { timeoutMs: 2000 })), /within 2 seconds/)
  assert.ok(!plain.includes('<13>'))
  for (const { received } of [named, unknown]) assert.equal(received(), '')
})

test('a pinned fingerprint stands in the place of name and authority, and another certificate gets nothing', async (t) => {
  const ca = createClusterCa(t)
  const client = await open(t, ca)
  const server = await startServer(t, createClusterCa(t), () => {}, { address: '192.0.2.1' })
  const own = fingerprintOf(server.certificate)
  const other = fingerprintOf(ca.certificate)
  await assert.rejects(client.syslog(jobTo(server.port, { fingerprints: [other] })), {
    message: 'its certificate has none of the fingerprints that are set',
    isFinal: true,
  })
  assert.equal(server.received(), '')
  await client.syslog(jobTo(server.port, { fingerprints: [other, own] }))
  assert.equal(server.received(), TEXT)
  // A certificate that would pass by name and authority has to be the pinned one, too.
  const good = await startServer(t, ca)
  await assert.rejects(client.syslog(jobTo(good.port, { fingerprints: [own] })), /none of the fingerprints/)
  assert.equal(good.received(), '')
})

test('a server that asks for a certificate gets the one that is set', async (t) => {
  const ca = createClusterCa(t)
  const client = await open(t, ca)
  const shown: string[] = []
  const note = (socket: TLSSocket) => void shown.push(socket.getPeerCertificate().fingerprint256)
  const server = await startServer(t, ca, note, { requestCert: true })
  await assert.rejects(client.syslog(jobTo(server.port)), /could not be reached|it broke the connection|it ended/)
  const { certificate, key } = ca.issue('192.0.2.7')
  const identity = { key: new Uint8Array(key), certificates: encode(certificate) }
  await client.syslog(jobTo(server.port, { identity }))
  assert.deepEqual(shown, [new X509Certificate(certificate).fingerprint256])
  const self = createClusterCa(t).issue('192.0.2.7')
  const stranger = { key: new Uint8Array(self.key), certificates: encode(self.certificate) }
  await assert.rejects(
    client.syslog(jobTo(server.port, { identity: stranger })),
    /could not be reached|it broke|it ended/,
  )
})

test('a device does not connect to itself, and a host only where its name is set', async (t) => {
  const ca = createClusterCa(t)
  const server = await startServer(t, ca)
  const refused = /leads to an address that nothing is sent to/
  const device = await open(t, ca, false)
  await assert.rejects(device.syslog(jobTo(server.port)), refused)
  const host = await open(t, ca)
  for (const name of ['127.0.0.2', '169.254.169.254', '0.0.0.0', '::ffff:127.0.0.1'])
    await assert.rejects(host.syslog(jobTo(server.port, { host: name })), refused)
  assert.equal(server.connections.length, 0)
})

test('the proxy is for others', async (t) => {
  const ca = createClusterCa(t)
  const server = await startServer(t, ca)
  const asked: unknown[] = []
  const proxy = createTcpServer((socket) => void asked.push(socket.destroy()))
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => proxy.close())
  const { client } = await openProcess(t, {
    ...{ authorities: encode(ca.certificate), publicAuthorities: false },
    proxy: { host: 'localhost', port: (proxy.address() as AddressInfo).port },
  })
  await client.syslog(jobTo(server.port))
  assert.equal(asked.length, 0)
})

test('killed while it sends, it fails the job, and another process has the next one', async (t) => {
  const ca = createClusterCa(t)
  const { client, launched } = await openProcess(t, {
    ...{ authorities: encode(ca.certificate), publicAuthorities: false },
  })
  const reading = Promise.withResolvers<void>()
  const server = await startServer(t, ca, (socket) => socket.once('data', () => reading.resolve()))
  const job = assert.rejects(client.syslog(jobTo(server.port)), /the process for outgoing connections ended/)
  await reading.promise
  launched[0]!.kill('SIGKILL')
  await job
  await client.syslog(jobTo(server.port))
  assert.equal(launched.length, 2)
})
