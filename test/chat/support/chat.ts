/** A chat in process, with accounts, for tests: real store, real pipeline, a clock that the test sets. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClock } from '../../../firmware/base/clock.ts'
import type { Log } from '../../../firmware/base/log.ts'
import { type Chat, type ChatOptions, createChat } from '../../../firmware/chat/process/chat.ts'
import type { Channel, User } from '../../../firmware/chat/realm/model/records.ts'
import { ROLES, type Role } from '../../../firmware/chat/realm/model/roles.ts'
import { makeKey } from '../../../firmware/chat/realm/objects/keys.ts'
import { subscribe } from '../../../firmware/chat/realm/organization/channels/subscribe.ts'
import { addUser } from '../../../firmware/chat/realm/organization/users/change.ts'
import { deriveKey } from '../../../firmware/crypto/kdf.ts'
import { expectDescribed } from '../openapi/described.ts'

export const CHAT_KEY = new Uint8Array(32).fill(7)
export const OWNER_PASSWORD = 'correct horse battery'
const NO_RATE = { calls: 1e9, withinMs: 1 }
export const NO_LIMITS = { account: NO_RATE, address: NO_RATE, media: NO_RATE, changes: NO_RATE }
const CHEAP = { N: 2, r: 1, p: 1 } // tests derive a lot

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any answer
  body: any
}

type Values = Record<string, unknown>

export interface Client {
  user: User
  key: string
  /** Values that are no text are sent as JSON; GET has them in its query, the others in a urlencoded body. */
  call(method: string, path: string, values?: Values, headers?: Record<string, string>): Promise<Answer>
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any answer
  get(path: string, values?: Values): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  post(path: string, values?: Values): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  patch(path: string, values?: Values): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  delete(path: string, values?: Values): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  put(path: string, values?: Values): Promise<any>
  /** As a multipart form; the file comes last. */
  upload(method: string, path: string, file: Uint8Array, values?: Values, fileName?: string): Promise<Answer>
  refused(code: string, method: string, path: string, values?: Values): Promise<Answer>
  register(values?: Values): Promise<RegisteredQueue>
}

export interface RegisteredQueue {
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any answer
  snapshot: any
  /** Returns and acknowledges the events since the last call, without heartbeats. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any event
  events(): Promise<any[]>
}

export interface TestChat {
  chat: Chat
  directory: string
  logged: string[]
  owner: Client
  setTime(ms: number): void
  now(): number
  advance(seconds: number): void
  account(name: string, role?: Role): Client
  /** With these subscribed; public unless `values` say otherwise. */
  channel(name: string, members: readonly Client[], values?: Partial<Channel>): Channel
  clientOf(user: User): Client
  anonymous(method: string, path: string, values?: Values): Promise<Answer>
  reopen(): void
  pause(): void
  resume(): void
  close(): void
}

export const START_MS = Date.UTC(2026, 10, 24, 12)

export async function openTestChat(options: Partial<ChatOptions> = {}): Promise<TestChat> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'coffer-chat-'))
  let timeMs = START_MS
  const clock = createClock(0, () => timeMs)
  const logged: string[] = []
  const write = (level: string) => (source: string, message: string) =>
    void logged.push(`${level} ${source}: ${message}`)
  const log = {
    error: write('error'),
    warning: write('warning'),
    info: write('info'),
    debug: write('debug'),
  } as unknown as Log
  const open = () =>
    createChat({
      directory,
      chatKey: CHAT_KEY,
      log,
      clock,
      derive: async (password, salt, cost) => deriveKey(password, salt, cost),
      passwordCost: CHEAP,
      rateLimits: NO_LIMITS,
      ...options,
    })
  let chat = open()
  const user = await chat.createOrganization(
    { name: 'Testing', url: '', owner: { email: 'olivia@example.com', fullName: 'Olivia Owner' } },
    OWNER_PASSWORD,
  )

  const send = async (
    method: string,
    path: string,
    values: Values,
    headers: Record<string, string>,
  ): Promise<Answer> => {
    const encoded = new URLSearchParams(
      Object.entries(values)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    )
    const query = method === 'GET' && encoded.size > 0 ? `?${encoded}` : ''
    const url = `http://chat.example${/^\/user_(?:uploads|avatars)\//.test(path) ? '' : '/api/v1'}${path}${query}`
    const sent = method === 'GET' ? {} : { body: encoded }
    const response = await chat.api.request(url, { method, headers: { host: 'chat.example', ...headers }, ...sent })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const body = isJson ? JSON.parse(text) : text
    if (response.status === 200 && isJson && !('x-service-feature-level' in headers))
      expectDescribed(method, path, body)
    return { status: response.status, headers: response.headers, body }
  }

  function clientOf(user: User): Client {
    const key = chat.realm.transaction((turn) => makeKey(chat.realm, turn, user, 'test'))
    const authorization = `Basic ${Buffer.from(`${user.email}:${key}`).toString('base64')}`
    const call: Client['call'] = (method, path, values = {}, headers = {}) =>
      send(method, path, values, { authorization, 'user-agent': 'test/1.0', ...headers })
    const well = (method: string) => async (path: string, values?: Values) => {
      const { status, body } = await call(method, path, values)
      assert.equal(status, 200, `${method} ${path}: ${JSON.stringify(body)}`)
      return body
    }
    return {
      user,
      key,
      call,
      get: well('GET'),
      post: well('POST'),
      patch: well('PATCH'),
      delete: well('DELETE'),
      put: well('PUT'),
      async upload(method, path, file, values = {}, fileName = 'picture.png') {
        const form = new FormData()
        for (const [name, value] of Object.entries(values))
          form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
        form.append('file', new Blob([Uint8Array.from(file)]), fileName)
        const headers = { host: 'chat.example', authorization, 'user-agent': 'test/1.0' }
        const response = await chat.api.request(`http://chat.example/api/v1${path}`, { method, headers, body: form })
        return { status: response.status, headers: response.headers, body: await response.json() }
      },
      async refused(code, method, path, values) {
        const answer = await call(method, path, values)
        assert.equal(answer.body.code, code, `${method} ${path}: ${JSON.stringify(answer.body)}`)
        return answer
      },
      async register(values = {}) {
        const snapshot = await well('POST')('/register', values)
        let last = -1
        return {
          snapshot,
          async events() {
            const query = { queue_id: snapshot.queue_id, last_event_id: last, dont_block: true }
            const { events } = await well('GET')('/events', query)
            last = events.at(-1)?.id ?? last
            return events.filter(({ type }: { type: string }) => type !== 'heartbeat')
          },
        }
      },
    }
  }

  return {
    get chat() {
      return chat
    },
    directory,
    logged,
    owner: clientOf(user),
    clientOf,
    setTime: (ms) => {
      timeMs = ms
    },
    now: () => timeMs,
    advance: (seconds) => {
      timeMs += seconds * 1000
    },
    account: (name, role = ROLES.member) =>
      clientOf(
        chat.realm.transaction((turn) =>
          addUser(chat.realm, turn, {
            email: `${name}@example.com`,
            fullName: `${name[0]!.toUpperCase()}${name.slice(1)} Test`,
            role,
          }),
        ),
      ),
    channel: (name, members, values = {}) =>
      chat.realm.transaction((turn) => {
        const channel: Channel = {
          id: turn.nextId('channel'),
          recipientId: turn.nextId('recipient'),
          name,
          description: '',
          renderedDescription: '',
          dateCreated: Math.floor(timeMs / 1000),
          creatorId: user.id,
          isPrivate: false,
          isWebPublic: false,
          historyPublicToSubscribers: true,
          isArchived: false,
          messageRetentionDays: null,
          topicsPolicy: 'inherit',
          folderId: null,
          firstMessageId: null,
          isDefault: false,
          groupSettings: {},
          ...values,
        }
        turn.put('channel', channel)
        const pairs = members.map((client) => ({ user: client.user, channel }))
        subscribe(chat.realm, turn, pairs)
        return channel
      }),
    anonymous: (method, path, values = {}) => send(method, path, values, { 'user-agent': 'test/1.0' }),
    pause: () => chat.close(),
    resume: () => {
      chat = open()
    },
    reopen: () => {
      chat.close()
      chat = open()
    },
    close: () => {
      chat.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
