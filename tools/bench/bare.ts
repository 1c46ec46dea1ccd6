/**
 * The bare server: Hono on Node's TLS with an answer of the size and shape of a signature, and with requests that wait until
 * another one gives them their answer; nothing behind it. What no server on this runtime can beat. `node tools/bench/bare.ts`;
 * it says its port, and ends with its standard input.
 */

import { createServer } from 'node:https'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { OPERATOR } from './harness.ts'

const SIGNATURE_BYTES = 64

const authorization = `Basic ${Buffer.from(OPERATOR).toString('base64')}`
const signature = Buffer.alloc(SIGNATURE_BYTES, 1).toString('base64')

const app = new Hono()
app.post('/api/v1/keys/:id/sign', async (context) => {
  if (context.req.header('authorization') !== authorization) return context.json({ message: 'Wrong credentials' }, 401)
  const { message } = await context.req.json<{ message: unknown }>()
  if (typeof message !== 'string') return context.json({ message: 'message: missing' }, 400)
  return context.json({ signature })
})

const waiting: ((text: string) => void)[] = []
app.get('/api/v1/events', async (context) => {
  const text = await new Promise<string>((resolve) => waiting.push(resolve))
  return context.body(text, 200, { 'content-type': 'application/json' })
})
app.post('/api/v1/messages', async (context) => {
  const isEarly = waiting.length < Number(context.req.query('waiting')) // who comes later would wait for ever
  if (isEarly) return context.json({ result: 'success', isEarly })
  const text = await context.req.text()
  for (const answer of waiting.splice(0)) answer(text)
  return context.json({ result: 'success' })
})

const { key, cert } = await makeTlsIdentity(systemRandom)
const server = serve(
  {
    fetch: app.fetch,
    createServer,
    serverOptions: { key: Buffer.from(key), cert },
    hostname: '127.0.0.1',
    port: 0,
  },
  ({ port }) => console.log(`https://127.0.0.1:${port}: bare`),
)
process.stdin.resume().once('end', () => server.close(() => process.exit(0)))
