/** Files that everybody may have, such as the page for browsers: no client holds more of one than it reads. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { createLog } from '../../firmware/base/log.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { toResponse } from '../../firmware/http/reply.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'
import { replyOf } from '../../firmware/kms/pipeline/replies.ts'
import { clientsOf, type RawClient } from '../support/raw-client.ts'

const MIB = 1024 * 1024
const FILE_BYTES = 64 * MIB // far more than the buffers between two programs of one machine take
const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))

async function serve(t: TestContext): Promise<{ client: () => Promise<RawClient>; taken: number[] }> {
  const taken: number[] = []
  const fetch = () => {
    const file = new Uint8Array(FILE_BYTES)
    const index = taken.push(0) - 1
    const subarray = file.subarray.bind(file)
    file.subarray = (start, end) => {
      const piece = subarray(start, end)
      taken[index]! += piece.length
      return piece
    }
    const result = { status: 200, file, type: 'text/javascript' } as const
    return toResponse(replyOf(result, ['text/javascript'], undefined, {}, () => {}))
  }
  const log = createLog('error', () => {})
  const place = { host: '127.0.0.1', port: 0 }
  const listener = await listenTls({
    app: { fetch },
    ...place,
    identity: () => identity,
    log,
    now: Date.now,
    limits: { closeMs: 200 },
  })
  return { client: clientsOf(t, listener), taken }
}

const GET = 'GET /console/x.js HTTP/1.1\r\nhost: coffer\r\n\r\n'
const HEAD = GET.replace('GET', 'HEAD')

test('a file comes whole and with its length, and HEAD gets the length alone', async (t) => {
  const { client, taken } = await serve(t)
  const connection = await client()
  connection.send(HEAD)
  const head = await connection.answer(true)
  assert.deepEqual([head?.status, head?.headers['content-length']], [200, `${FILE_BYTES}`])
  let received = 0
  connection.socket.removeAllListeners('data')
  const whole = new Promise<void>((resolve) => {
    connection.socket.on('data', (chunk: Buffer) => {
      received += chunk.length
      if (received > FILE_BYTES) resolve() // and some for the head
    })
  })
  connection.send(GET)
  await whole
  assert.equal(taken[1], FILE_BYTES)
})

test('for a client that does not read, little of a file is taken while another one gets all of it', async (t) => {
  const { client, taken } = await serve(t)
  const idle = await client()
  idle.socket.pause()
  idle.send(GET)
  while (taken.length < 1) await new Promise(setImmediate)
  const busy = await client()
  let received = 0
  busy.socket.removeAllListeners('data')
  busy.socket.on('data', (chunk: Buffer) => {
    received += chunk.length
  })
  busy.send(GET)
  while (received < FILE_BYTES) await new Promise(setImmediate)
  assert.equal(taken[1], FILE_BYTES)
  assert.ok(taken[0]! < FILE_BYTES / 2, `${taken[0]} bytes are held for a client that does not read`)
})
