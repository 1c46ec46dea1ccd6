/**
 * Stands for Zulip's development server at http://localhost:9991, where tests of other projects look for it: ends TLS, gives out the keys
 * of accounts (E4, which Coffer refuses) with a session for `POST /json/bots`, and states a feature level for clients that know no header
 * of it.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import type { TestContext } from 'node:test'
import { type Account, ask } from '../support/process.ts'

const PORT = 9991
const API = '/api/v1'
/** Members that contract 11.2 adds. A strict decoder of upstream's answers would see nothing else. */
const SENT_BESIDES = /,"can_remove_subscribers_group_id":\d+/g

interface DevelopmentServer {
  setLevel(level: number): void
}

export async function startDevelopmentServer(
  t: TestContext,
  port: number,
  host: string,
  accounts: readonly Account[],
): Promise<DevelopmentServer> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  let level = ''

  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: Error) => outgoing.destroy(error))
  })
  server.listen(PORT, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
    agent.destroy()
  })

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await bytesOf(incoming)
    const { pathname, searchParams } = new URL(incoming.url!, 'http://localhost')
    if (pathname === `${API}/dev_fetch_api_key`) {
      const name = searchParams.get('username') ?? new URLSearchParams(body.toString()).get('username')
      return signIn(accounts.find(({ email }) => email === name)!, outgoing)
    }
    // Not compressed: `forward` takes members out of the text.
    const headers = { ...incoming.headers, host, 'x-service-feature-level': level, 'accept-encoding': 'identity' }
    if (pathname !== '/json/bots') return forward(incoming.method!, body, { path: incoming.url!, headers }, outgoing)
    const { email, key } = accounts.find(({ email }) => incoming.headers.cookie?.includes(`account=${email}`))!
    const authorization = `Basic ${Buffer.from(`${email}:${key}`).toString('base64')}`
    return forward(incoming.method!, body, { path: `${API}/bots`, headers: { ...headers, authorization } }, outgoing)
  }

  async function signIn(account: Account, outgoing: ServerResponse): Promise<void> {
    const { status, body } = await ask(port, 'GET', '/users/me', { as: account })
    const cookies = [`account=${account.email}; Path=/`, 'csrftoken=none; Path=/']
    outgoing.writeHead(status, { 'content-type': 'application/json', 'set-cookie': cookies })
    const found = { api_key: account.key, email: body.delivery_email, user_id: body.user_id }
    outgoing.end(JSON.stringify(status === 200 ? { result: 'success', msg: '', ...found } : body))
  }

  async function forward(
    method: string,
    body: Buffer,
    options: RequestOptions,
    outgoing: ServerResponse,
  ): Promise<void> {
    const onward = request({ host: '127.0.0.1', port, method, agent, ...options })
    outgoing.on('close', () => onward.destroy())
    onward.end(body)
    const [reply] = (await once(onward, 'response')) as [IncomingMessage]
    const bytes = await bytesOf(reply)
    const { 'content-length': _, 'transfer-encoding': __, ...headers } = reply.headers
    const isJson = headers['content-type']?.startsWith('application/json')
    outgoing.writeHead(reply.statusCode!, headers)
    outgoing.end(isJson ? bytes.toString().replaceAll(SENT_BESIDES, '') : bytes)
  }

  return {
    setLevel: (input) => {
      level = String(input)
    },
  }
}

async function bytesOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
