/** A server that was busy or stopped for longer than a client may take does not blame the client for it. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import test, { type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { createLog } from '../../firmware/base/log.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { type Listener, listenTls } from '../../firmware/http/server/listener.ts'

const LIMIT_MS = 2000 // of handshakes and of headers; what the test itself needs between two stops is a hundredth of it
const STOP_MS = 2 * LIMIT_MS
const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'

async function listen(t: TestContext): Promise<Listener> {
  const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))
  const listener = await listenTls({
    app: { fetch: () => new Response('done') },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: createLog('error', () => {}),
    now: Date.now,
    limits: { handshakeMs: LIMIT_MS, headersMs: LIMIT_MS, closeMs: 200 },
  })
  t.after(() => listener.close())
  return listener
}

/** A TLS client whose bytes wait here until they are released. */
interface Client {
  /** Sends what waits in this turn of the event loop. */
  release(): void
  /** Waits until there is something to release. */
  ready(): Promise<void>
  readonly secure: TLSSocket
  /** Everything that the server sent after the handshake, or what became of the connection. */
  readonly outcome: Promise<string>
}

async function open({ port }: Listener): Promise<Client> {
  const accepted = new Promise<void>((resolve) => {
    const onAccepted = (message: unknown): void => {
      if ((message as { socket: Socket }).socket.remotePort !== upstream.localPort) return
      unsubscribe('net.server.socket', onAccepted)
      resolve()
    }
    subscribe('net.server.socket', onAccepted)
  })
  const upstream = connectPlain(port, '127.0.0.1')
  await once(upstream, 'connect')
  await accepted
  const [near, far] = duplexPair()
  const waiting: Buffer[] = []
  far.on('data', (bytes: Buffer) => waiting.push(bytes))
  upstream.on('data', (bytes) => far.write(bytes))
  const secure = connect({ socket: near, rejectUnauthorized: false })
  let text = ''
  secure.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const outcome = new Promise<string>((resolve) => {
    upstream.once('error', (error) => resolve(error.message))
    upstream.once('close', () => setImmediate(() => resolve(text)))
  })
  secure.on('error', () => {})
  return {
    release: () => {
      for (const bytes of waiting.splice(0)) upstream.write(bytes)
    },
    ready: async () => {
      while (waiting.length === 0 && !upstream.destroyed) await nextTurn()
    },
    secure,
    outcome,
  }
}

/** Does the rest of the handshake, or what the connection lets it do. */
async function shakeHands(client: Client): Promise<void> {
  let isOver = false
  void client.outcome.then(() => {
    isOver = true
  })
  client.secure.once('secureConnect', () => {
    isOver = true
  })
  while (!isOver) {
    client.release()
    await nextTurn()
  }
}

/** The event loop stands still, as under a long computation or on a computer that is suspended. */
function stop(): void {
  const endMs = performance.now() + STOP_MS
  while (performance.now() < endMs);
}

test('a server that stood still takes the handshakes and requests that came meanwhile', {
  timeout: 60_000,
}, async (t) => {
  const listener = await listen(t)
  const [first, middle, last] = await Promise.all([open(listener), open(listener), open(listener)])
  const clients = { first, middle, last }

  await Promise.all(Object.values(clients).map((client) => client.ready()))
  middle.release()
  await once(middle.secure, 'secureConnect') // the last words of its handshake wait here
  await shakeHands(last)
  last.release()
  for (let turns = 0; turns < 20; turns++) await nextTurn() // the server's handshake is over, too
  last.secure.write(REQUEST)
  await last.ready()

  for (const client of [first, middle, last]) client.release()
  stop()

  await shakeHands(first)
  for (const client of [first, middle]) client.secure.write(REQUEST)
  let answered = 0
  for (const { outcome } of Object.values(clients)) void outcome.then(() => answered++)
  while (answered < 3) {
    for (const client of [first, middle]) client.release()
    await nextTurn()
  }
  const statusOf = async ({ outcome }: Client) => (await outcome).split('\r\n')[0]
  const ok = 'HTTP/1.1 200 OK'
  assert.deepEqual(
    { first: await statusOf(first), middle: await statusOf(middle), last: await statusOf(last) },
    { first: ok, middle: ok, last: ok },
  )
})
