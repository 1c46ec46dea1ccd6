/** Messages that are too long for a frame: each fails alone, and the ones after it are sent. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { openChannel, sendInTurn } from '../../firmware/channel/channel.ts'
import { FrameError, TEXT_BYTES_MAX } from '../../firmware/channel/frames.ts'
import { connected } from '../boot/socket-pair.ts'
import { Workshop } from '../configuration/authority.ts'
import { needs } from '../support/tools.ts'
import { openClient } from './link.ts'
import { openProcess } from './started.ts'

test('a message that is no frame rejects its own promise, and the next one is sent', async (t) => {
  const [near, far] = await connected(t)
  const received: unknown[] = []
  const send = sendInTurn(openChannel<never, object>(near, () => null))
  openChannel<unknown, object>(far, (value) => value).on('message', (message) => received.push(message))
  await send({ first: 1 })
  const [long, next] = [send({ text: 'x'.repeat(TEXT_BYTES_MAX) }), send({ next: 1 })]
  await assert.rejects(long, FrameError)
  await next
  while (received.length < 2) await new Promise(setImmediate)
  assert.deepEqual(received, [{ first: 1 }, { next: 1 }])
})

test('a request whose text is too long fails, and the next one is sent', async (t) => {
  const { client, start, until } = await openClient(t)
  const job = {
    method: 'GET',
    url: 'https://ca.example/',
    headers: {},
    body: new Uint8Array(0),
    answerHeaders: [],
    timeoutMs: 10_000,
  } as const
  const options = { origin: 'appliance', hosts: ['ca.example'] } as const
  const headers = { 'x-long': '\u0001'.repeat(12_000) } // six bytes each in JSON
  const refused = { message: 'the request is too long', isFinal: true }
  const long = assert.rejects(client.http({ ...job, headers }, options), refused)
  const worker = await start()
  await long
  const next = client.http(job, options)
  await until(() => worker.jobs.length > 0)
  worker.channel.send({
    type: 'answer',
    id: worker.jobs[0]!.id,
    answer: { status: 200, headers: {}, body: new Uint8Array(0) },
  })
  assert.equal((await next).status, 200)
})

/** A proxy that connects to this computer, and a server with this certificate. */
async function serve(t: TestContext, names: readonly string[]) {
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  const { pem, keyPath } = workshop.issue({ name: 'long', extensions: ['subjectAltName=@names', '[names]', ...names] })
  const server = createTlsServer({ cert: pem, key: readFileSync(keyPath) })
  const proxy = createServer().on('connect', (_, socket) => {
    const through = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.pipe(through).pipe(socket)
    for (const stream of [socket, through]) stream.on('error', () => {})
  })
  for (const one of [server, proxy]) {
    await new Promise<void>((done) => one.listen(0, '127.0.0.1', done))
    t.after(() => one.close())
  }
  return (proxy.address() as AddressInfo).port
}

test('a certificate with endless names fails its job, and the process goes on', needs('openssl'), async (t) => {
  // Letters of three bytes each.
  const mailbox = (at: number) => `otherName.${at}=1.3.6.1.5.5.7.8.9;FORMAT:UTF8,UTF8:${at}${'\u6f22'.repeat(224)}@x`
  const port = await serve(
    t,
    Array.from({ length: 99 }, (_, at) => mailbox(at)),
  )
  const { client, launched, lines } = await openProcess(t, { proxy: { host: 'localhost', port } })
  const probe = () => client.probe({ host: 'ca.example', port: 443, tls: true })
  for (let tries = 0; tries < 2; tries++) await assert.rejects(probe(), { message: 'its answer is too long' })
  assert.equal(launched.length, 1, lines.join('\n'))
})
