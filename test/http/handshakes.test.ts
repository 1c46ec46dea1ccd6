/** TLS handshakes of many clients at once leave turns of the event loop to requests on open connections. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect as connectPlain, type Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import test from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect } from 'node:tls'
import { createLog } from '../../firmware/base/log.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { HANDSHAKES_A_TURN } from '../../firmware/http/server/handshakes.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'

const CLIENTS = 100
const CHALLENGE = 'acme-tls/1' // the listener asks for its identity in each such handshake, which this test counts

/** A client whose first message is ready, but not sent. */
async function prepare(port: number): Promise<{ socket: Socket; hello: Buffer; far: NodeJS.WritableStream }> {
  const socket = connectPlain(port, '127.0.0.1')
  await once(socket, 'connect')
  const [near, far] = duplexPair()
  connect({ socket: near, ALPNProtocols: [CHALLENGE], servername: 'a.example', rejectUnauthorized: false }).on(
    'error',
    () => {},
  )
  const [hello] = (await once(far, 'data')) as [Buffer]
  far.on('data', (bytes: Buffer) => socket.write(bytes))
  socket.on('data', (bytes) => far.write(bytes)).on('error', () => {})
  return { socket, hello, far }
}

test('of 100 handshakes at once a few run in each turn, and a request of that moment is not behind them', async (t) => {
  const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))
  let turn = 0
  let started = 0
  let startedBefore: number | undefined
  const startedIn = new Map<number, number>()
  const listener = await listenTls({
    app: {
      fetch: () => {
        startedBefore ??= started
        return new Response('done')
      },
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: createLog('error', () => {}),
    now: Date.now,
    limits: { closeMs: 200 },
    challengeFor: () => {
      started++
      startedIn.set(turn, (startedIn.get(turn) ?? 0) + 1)
      return identity
    },
  })
  t.after(() => listener.close())
  let accepted = 0
  subscribe('net.server.socket', () => accepted++)
  const open = connect({ port: listener.port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(open, 'secureConnect')
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => prepare(listener.port)))
  while (accepted <= CLIENTS) await nextTurn() // libuv accepts one connection per turn
  const closed = clients.map(({ socket }) => once(socket, 'close'))
  const everythingSent = Promise.all(
    clients.map(({ socket, hello }) => new Promise((resolve) => socket.write(hello, resolve))),
  )
  open.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
  const answered = once(open, 'data')
  while (started < CLIENTS) {
    await nextTurn()
    turn++
  }
  await everythingSent
  await answered
  await Promise.all(closed)
  open.destroy()
  const most = Math.max(...startedIn.values())
  assert.ok(most <= HANDSHAKES_A_TURN, `${most} handshakes in one turn`)
  assert.ok(
    startedBefore !== undefined && startedBefore <= 4 * HANDSHAKES_A_TURN,
    `the request was behind ${startedBefore}`,
  )
})
