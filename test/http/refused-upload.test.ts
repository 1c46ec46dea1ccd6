/** A client that reads only once it has sent all, as the NetHSM Python package does, reads why a large upload was refused. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { LISTENER_LIMITS } from '../../firmware/http/server/limits.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'
import { basic, sampleApi } from './sample-api.ts'

const MIB = 1024 * 1024
const UPLOAD_MIB = 150
const identity = await makeTlsIdentity(systemRandom)

async function listen(t: TestContext): Promise<number> {
  const api = sampleApi()
  const { log } = api
  const listener = await listenTls({
    app: api.app,
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log,
    now: () => 0,
  })
  t.after(() => listener.close())
  return listener.port
}

/** Sends the whole body first; returns the answer as read afterwards. */
async function blindUpload(port: number, path: string, user: string): Promise<string> {
  const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  socket.pause()
  let failure: Error | undefined
  socket.on('error', (error) => {
    failure = error
  })
  const send = (bytes: Uint8Array | string): Promise<void> =>
    new Promise((done, fail) => socket.write(bytes, (error) => (error ? fail(error) : done())))
  const head = [
    `POST /api/v1${path} HTTP/1.1`,
    'host: appliance',
    `authorization: ${basic(user)}`,
    'content-type: application/octet-stream',
    `content-length: ${UPLOAD_MIB * MIB}`,
    'connection: close',
  ]
  await send(`${head.join('\r\n')}\r\n\r\n`)
  const piece = new Uint8Array(MIB)
  for (let sent = 0; sent < UPLOAD_MIB; sent++) await send(piece)
  const pieces: Buffer[] = []
  for await (const chunk of socket) pieces.push(chunk)
  assert.equal(failure, undefined)
  return Buffer.concat(pieces).toString()
}

for (const [what, path, user, status] of [
  ['by the handler, early in the body', '/system/update?until=1000', 'admin', '400'],
  ['by the handler, before the body', '/system/update?until=0', 'admin', '409'],
  ['by role', '/system/update', 'operator', '403'],
  ['for its credentials', '/system/update', 'nobody', '401'],
] as const) {
  test(`an upload of ${UPLOAD_MIB} MiB that is refused ${what}`, { timeout: 120_000 }, async (t) => {
    assert.ok(UPLOAD_MIB * MIB > LISTENER_LIMITS.drainBytesMax)
    const answer = await blindUpload(await listen(t), path, user)
    assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
  })
}

test('elsewhere no more is discarded than the largest body that is held in memory', { timeout: 120_000 }, async (t) => {
  await assert.rejects(
    blindUpload(await listen(t), '/keys/k/cert', 'operator').then((answer) => assert.match(answer, /^HTTP/)),
  )
})
