/** A chat with its default limits and a small disk behind TLS on loopback, in this process; its lines for the audit log are counted. */

import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { defined } from '../../firmware/base/defined.ts'
import { createLog } from '../../firmware/base/log.ts'
import { createChatAuditLog } from '../../firmware/chat/host/chat-audit-log.ts'
import { type Chat, createChat } from '../../firmware/chat/process/chat.ts'
import { sendMessage } from '../../firmware/chat/realm/messages/send.ts'
import { ROLES } from '../../firmware/chat/realm/model/roles.ts'
import { changeOperatorSettings } from '../../firmware/chat/realm/organization/operator/operator.ts'
import { addUser } from '../../firmware/chat/realm/organization/users/change.ts'
import { deriveKey } from '../../firmware/crypto/kdf.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'

const CHEAP = { N: 2, r: 1, p: 1 } // what is attacked is not the derivation
/** Small, so that an attack that fills it takes a second. */
export const UPLOAD_QUOTA_MIB = 8
const DISK_BYTES = 64 * 1024 * 1024 // small for the same reason
const OWNER_PASSWORD = 'password of the owner'

export interface TargetPerson {
  readonly id: number
  readonly email: string
  key: string
}

interface ChatReply {
  status: number
  bytes: number
  // biome-ignore lint/suspicious/noExplicitAny: attacks look at members of any answer
  body: any
}

interface ChatAsk {
  as?: TargetPerson
  /** The client's address: `127.0.0.n`. */
  from?: number
  /** Values that are no text are sent as JSON. */
  values?: Readonly<Record<string, unknown>>
  /** Sent as a multipart form, without values. */
  file?: Uint8Array
}

export interface ChatTarget {
  readonly owner: TargetPerson & { readonly password: string }
  readonly tokenKey: Uint8Array
  call(method: string, path: string, ask?: ChatAsk): Promise<ChatReply>
  person(name: string, role: number): Promise<TargetPerson>
  bot(owner: TargetPerson, name: string): Promise<TargetPerson>
  /** Past the limits of rates: messages of one person to so many new ones, in one conversation. */
  converse(from: TargetPerson, people: number, messages: number): void
  sign(): Promise<number>
  auditLines(): number
  stop(): Promise<void>
}

export async function startChatTarget(directory: string, sign: () => Promise<number>): Promise<ChatTarget> {
  mkdirSync(directory)
  let lines = 0
  const audit = {
    record: async (_: unknown, kind: string) => {
      if (kind === 'change') lines++
    },
  }
  const kept = createChatAuditLog({ audit: () => audit, time: () => new Date().toISOString() })
  const log = createLog('error', ({ message }) => console.error(message))
  const chat = createChat({
    directory,
    chatKey: new Uint8Array(32).fill(1),
    log,
    derive: async (password, salt, cost) => deriveKey(password, salt, cost),
    passwordCost: CHEAP,
    record: kept.record,
    readDisk: () => ({ totalBytes: DISK_BYTES, freeBytes: DISK_BYTES - bytesOf(directory) }),
  })
  const { port, close } = await listen(chat)
  const call = (method: string, path: string, ask: ChatAsk = {}) => callChat(port, method, path, ask)
  const email = 'owner@example.org'
  const { id } = await chat.createOrganization(
    { name: 'Attacked', url: '', owner: { email, fullName: 'Owner' } },
    OWNER_PASSWORD,
  )
  const tokenKey = systemRandom(32)
  const jwt = { algorithm: 'HS256', key: tokenKey.slice() } as const
  changeOperatorSettings(chat.realm, { uploadQuotaMib: UPLOAD_QUOTA_MIB, jwt })
  const signIn = async (username: string, password: string): Promise<string> =>
    (await call('POST', '/fetch_api_key', { from: 9, values: { username, password } })).body.api_key
  const owner = { id, email, password: OWNER_PASSWORD, key: await signIn(email, OWNER_PASSWORD) }

  return {
    owner,
    tokenKey,
    call,
    async person(name, role) {
      const account = { email: `${name}@example.org`, full_name: name, password: `password of ${name}` }
      const { user_id } = (await call('POST', '/users', { as: owner, values: account })).body
      await call('PATCH', `/users/${user_id}`, { as: owner, values: { role } })
      return { id: user_id, email: account.email, key: await signIn(account.email, account.password) }
    },
    async bot(owner, name) {
      const values = { full_name: name, short_name: name }
      const { user_id, api_key } = (await call('POST', '/bots', { as: owner, values })).body
      return { id: user_id, email: `${name}-bot@coffer.invalid`, key: api_key }
    },
    converse({ id }, people, messages) {
      const { realm } = chat
      const userIds = realm.transaction((tx) =>
        Array.from({ length: people }, (_, number) => {
          const fullName = `Participant ${number} ${'x'.repeat(40)}`
          return addUser(realm, tx, { email: `participant${number}@example.org`, fullName, role: ROLES.member }).id
        }),
      )
      const none = { topic: undefined, readBySender: undefined, local: undefined }
      const outgoing = { kind: 'direct', to: userIds, content: 'x', client: 'attack', ...none } as const
      for (let count = 0; count < messages; count++) sendMessage(realm, defined(realm.state.user.get(id)), outgoing)
    },
    sign,
    auditLines: () => lines,
    async stop() {
      chat.close()
      await close()
    },
  }
}

const bytesOf = (directory: string): number =>
  readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)

async function listen(chat: Chat): Promise<{ port: number; close(): Promise<void> }> {
  const identity = await makeTlsIdentity(systemRandom)
  return listenTls({
    app: { fetch: (request, env) => chat.api.fetch(request, env) },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: createLog('error', ({ message }) => console.error(message)),
    now: Date.now,
  })
}

function callChat(port: number, method: string, path: string, { as, from = 1, values = {}, file }: ChatAsk) {
  const encoded = new URLSearchParams(
    Object.entries(values).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ).toString()
  const query = method === 'GET' && encoded !== '' ? `?${encoded}` : ''
  const form = file === undefined ? null : formOf(file)
  const authorization = as && `Basic ${Buffer.from(`${as.email}:${as.key}`).toString('base64')}`
  return new Promise<ChatReply>((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        localAddress: `127.0.0.${from}`,
        method,
        path: `/api/v1${path}${query}`,
        agent: false,
        rejectUnauthorized: false,
        headers: {
          ...(authorization && { authorization }),
          ...(method !== 'GET' && { 'content-type': form?.type ?? 'application/x-www-form-urlencoded' }),
        },
      },
      async (answer) => {
        const text = Buffer.concat(await answer.toArray()).toString()
        resolve({ status: defined(answer.statusCode), bytes: Buffer.byteLength(text), body: JSON.parse(text) })
      },
    )
    sent.once('error', reject)
    sent.end(method === 'GET' ? undefined : (form?.body ?? encoded))
  })
}

function formOf(file: Uint8Array): { type: string; body: Buffer } {
  const boundary = 'attack-boundary'
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n`
  const body = Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n--${boundary}--\r\n`)])
  return { type: `multipart/form-data; boundary=${boundary}`, body }
}
