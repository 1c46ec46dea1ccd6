/** A chat beside a whole Coffer: made, asked over TLS, and its process in the test's hands. */

import assert from 'node:assert/strict'
import { request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import type { AuditLine } from '../../../firmware/audit/chain.ts'
import { ADMIN, type Client, expect } from '../../support/appliance.ts'
import { childrenOf, commandLineOf } from '../../support/proc.ts'
import type { Coffer } from '../../support/process.ts'

const DEADLINE_MS = 300_000 // the machine may be busy, or emulated

export const OWNER = 'olivia@example.org'
export const OWNER_PASSWORD = 'a password of an owner'

interface ChatStatus {
  state: string
  problem?: string
  port?: number
  users?: number
  messages?: number
  queues?: number
  olderCopies?: string[]
}

export interface ChatAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any answer
  body: any
}

export interface Account {
  email: string
  key: string
}

export async function makeOrganization(coffer: Client, name = 'Example'): Promise<void> {
  const owner = { email: OWNER, fullName: 'Olivia Owner', password: OWNER_PASSWORD }
  await expect(201, coffer.call('PUT', '/chat/organization', { as: ADMIN, json: { name, owner } }))
}

export const statusOf = async (coffer: Client, as = ADMIN): Promise<ChatStatus> =>
  (await expect(200, coffer.call('GET', '/chat', { as }))).json<ChatStatus>()

export async function auditLines(coffer: Coffer): Promise<AuditLine[]> {
  const { bytes } = await expect(200, coffer.call('GET', '/audit/export', { as: ADMIN }))
  const texts = bytes.toString().trimEnd().split('\n').slice(0, -1)
  return texts.map((text) => JSON.parse(text) as AuditLine)
}

export async function reach(coffer: Client & Pick<Coffer, 'output'>, state: string): Promise<ChatStatus> {
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    const status = await statusOf(coffer)
    if (status.state === state) return status
    assert.ok(Date.now() < deadline, `the chat is ${JSON.stringify(status)}, not ${state}:\n${coffer.output()}`)
    await wait(50)
  }
}

export function ask(
  port: number,
  method: string,
  path: string,
  {
    as,
    form,
    file,
    headers = {},
    outside = false,
  }: {
    as?: Account
    form?: Record<string, string>
    file?: { name: string; content: string }
    headers?: Record<string, string>
    /** The path is a whole one. */
    outside?: boolean
  } = {},
): Promise<ChatAnswer> {
  const encoded = file === undefined ? new URLSearchParams(form).toString() : multipart(file)
  const target = `${outside ? '' : '/api/v1'}${path}${method === 'GET' && encoded !== '' ? `?${encoded}` : ''}`
  const { promise, resolve, reject } = Promise.withResolvers<ChatAnswer>()
  const outgoing = request(
    {
      ...{ host: '127.0.0.1', port, method, path: target, rejectUnauthorized: false, agent: false },
      headers: {
        'user-agent': 'test/1.0',
        ...headers,
        ...(as && { authorization: `Basic ${Buffer.from(`${as.email}:${as.key}`).toString('base64')}` }),
        ...(method !== 'GET' && {
          'content-type':
            file === undefined ? 'application/x-www-form-urlencoded' : `multipart/form-data; boundary=${BOUNDARY}`,
        }),
      },
    },
    (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk) => chunks.push(chunk))
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const { statusCode, headers } = incoming
        resolve({ status: statusCode!, headers, body: text.startsWith('{') ? JSON.parse(text) : text })
      })
      incoming.on('error', reject)
    },
  )
  outgoing.on('error', reject)
  outgoing.end(method === 'GET' ? undefined : encoded)
  return promise
}

const BOUNDARY = 'boundary-of-a-test'

const multipart = ({ name, content }: { name: string; content: string }): string =>
  [
    `--${BOUNDARY}`,
    `content-disposition: form-data; name="file"; filename="${name}"`,
    'content-type: text/plain',
    '',
    content,
    `--${BOUNDARY}--`,
    '',
  ].join('\r\n')

/** As a client that tries again while a process takes the place of another. */
export async function askUntil(
  isRight: (answer: ChatAnswer) => boolean,
  ...parameters: Parameters<typeof ask>
): Promise<ChatAnswer> {
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    const answer = await ask(...parameters).catch(() => null)
    if (answer !== null && isRight(answer)) return answer
    assert.ok(Date.now() < deadline, `${parameters[1]} ${parameters[2]}: ${JSON.stringify(answer?.body)}`)
    await wait(50)
  }
}

export async function keyOf(port: number, email = OWNER, password = OWNER_PASSWORD): Promise<Account> {
  const { status, body } = await ask(port, 'POST', '/fetch_api_key', { form: { username: email, password } })
  assert.equal(status, 200, JSON.stringify(body))
  return { email, key: body.api_key }
}

/** Sends a message to a new bot with an outgoing webhook. Returns the reply, or what the owner is told of the failure. */
export async function askWebhook(port: number, owner: Account, name: string, url: string): Promise<string> {
  const form = { full_name: name, short_name: name, bot_type: '3', payload_url: JSON.stringify(url) }
  const made = await ask(port, 'POST', '/bots', { as: owner, form })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const message = { type: 'direct', to: JSON.stringify([made.body.user_id]), content: `to ${name}` }
  const { body } = await ask(port, 'POST', '/messages', { as: owner, form: message })
  const range = { anchor: String(body.id), num_before: '0', num_after: '1', include_anchor: 'false' }
  const { body: after } = await askUntil(({ body }) => body.messages?.length === 1, port, 'GET', '/messages', {
    as: owner,
    form: { ...range, narrow: '[["is", "dm"]]', apply_markdown: 'false' },
  })
  return after.messages[0].content
}

/** Pids of chat processes: none, one, or two while one replaces the other. */
const chatPids = (coffer: Coffer): number[] =>
  childrenOf(coffer.bootPid()).filter((pid) => commandLineOf(pid).includes('/chat.js'))

export async function chatPid(coffer: Coffer): Promise<number> {
  const deadline = Date.now() + DEADLINE_MS
  for (;;) {
    const [pid] = chatPids(coffer)
    if (pid !== undefined) return pid
    assert.ok(Date.now() < deadline, `no chat:\n${coffer.output()}`)
    await wait(10)
  }
}

export async function ended(coffer: Coffer, pid: number): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  while (chatPids(coffer).includes(pid)) {
    assert.ok(Date.now() < deadline, `${pid} goes on:\n${coffer.output()}`)
    await wait(10)
  }
}
