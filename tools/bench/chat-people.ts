/** People of a chat on a whole Coffer, for benchmarks: accounts that join by a link, their API keys, and sessions of the page. */

import { Agent, request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { childrenOf, commandLineOf } from '../../test/support/proc.ts'
import { ADMIN, type Call, expectSuccess } from './harness.ts'

export interface PersonKey {
  email: string
  key: string
}

/** `cookie` is the value of that header. */
export interface BenchSession {
  cookie: string
}

export interface BenchPerson extends PersonKey {
  /** Address that the person's calls come from: the chat limits calls without an account by address. */
  address: string
}

export type AskChat = <T>(
  method: string,
  path: string,
  as: PersonKey | BenchSession | null,
  values: Record<string, string>,
) => Promise<T>

const OWNER = { email: 'owner@example.org', fullName: 'Owner', password: 'password of the owner' }
/** All people have it. */
export const PASSWORD = OWNER.password
const PEOPLE_MAX = 65_000 // addresses of 127.1.0.0/16

/** Returns the port. */
export async function makeChat(call: Call): Promise<number> {
  await expectSuccess(call('PUT', '/chat/organization', ADMIN, { name: 'Bench', owner: OWNER }))
  const { port } = JSON.parse((await expectSuccess(call('GET', '/chat', ADMIN))).text) as { port: number }
  return port
}

/** Pid of the chat's process, or of the one that takes its place. */
export function chatOf(boot: number): number {
  const pid = childrenOf(boot).findLast((one) => commandLineOf(one).includes('/chat.js'))
  if (pid === undefined) throw new Error('The chat does not run')
  return pid
}

export async function signIn(ask: AskChat, username = OWNER.email): Promise<PersonKey> {
  const values = { username, password: PASSWORD }
  const { api_key: key, email } = await ask<{ api_key: string; email: string }>('POST', '/fetch_api_key', null, values)
  return { email, key }
}

/** Returns the key of a link that leads into the channels. */
export async function invite(ask: AskChat, owner: PersonKey, channelIds: readonly number[]): Promise<string> {
  const values = { stream_ids: JSON.stringify(channelIds), invite_expires_in_minutes: '1440' }
  const { invite_link: link } = await ask<{ invite_link: string }>('POST', '/invites/multiuse', owner, values)
  const [, key] = /#([\w-]+)\/$/.exec(link) ?? []
  if (key === undefined) throw new Error(`No key in ${link}`)
  return key
}

export async function join(port: number, invitation: string, number: number): Promise<BenchPerson> {
  if (number >= PEOPLE_MAX) throw new RangeError(`at most ${PEOPLE_MAX} people`)
  const address = `127.1.${number >> 8}.${number & 255}`
  const values = { email: `person${number}@example.org`, full_name: `Person ${number}`, password: PASSWORD }
  const ask = createAsker(port, { localAddress: address })
  const path = `/join/${invitation}`
  const { email, api_key: key } = await ask<{ email: string; api_key: string }>('POST', path, null, values)
  return { address, email, key }
}

/** Takes the place of the API key, which ends. */
export async function openSession(port: number, key: PersonKey, localAddress: string): Promise<BenchSession> {
  const send = createSender(port, { localAddress })
  const { cookies } = await send('POST', '/session', key, { device: 'bench' }, { 'sec-fetch-site': 'same-origin' })
  const [cookie] = cookies[0]?.split(';') ?? []
  if (cookie === undefined) throw new Error('POST /session: no cookie')
  return { cookie }
}

interface AskerOptions {
  localAddress?: string
  agent?: Agent
}

/** Waits as long as a limit of rates says; throws for any other answer that is no success. */
export function createAsker(port: number, options: AskerOptions = {}): AskChat {
  const send = createSender(port, options)
  return async <T>(...call: Parameters<AskChat>): Promise<T> => (await send(...call)).body as T
}

interface Sent {
  body: Record<string, unknown>
  cookies: readonly string[]
}

type SenderCall = [...Parameters<AskChat>, headers?: Record<string, string>]

function createSender(port: number, options: AskerOptions): (...call: SenderCall) => Promise<Sent> {
  const { localAddress, agent = new Agent({ keepAlive: true, rejectUnauthorized: false }) } = options
  const server = { agent, host: '127.0.0.1', port, ...(localAddress !== undefined && { localAddress }) }
  const once = (...[method, path, as, values, more]: SenderCall) =>
    new Promise<Sent>((resolve, reject) => {
      const encoded = new URLSearchParams(values).toString()
      const inQuery = method === 'GET'
      const target = `/api/v1${path}${inQuery && encoded !== '' ? `?${encoded}` : ''}`
      const headers = {
        ...{ 'content-type': 'application/x-www-form-urlencoded', 'accept-encoding': 'gzip' },
        ...(!inQuery && { 'content-length': Buffer.byteLength(encoded) }), // of DELETE Node sets none
        ...credentials(as),
        ...more,
      }
      const sent = request({ ...server, method, path: target, headers }, (answer) => {
        const pieces: Buffer[] = []
        answer.on('data', (piece: Buffer) => pieces.push(piece))
        answer.once('end', () => {
          const bytes = Buffer.concat(pieces)
          const text = (answer.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
          resolve({ body: JSON.parse(text), cookies: answer.headers['set-cookie'] ?? [] })
        })
        answer.once('error', reject)
      })
      sent.once('error', reject).end(inQuery ? undefined : encoded)
    })
  return async (...call) => {
    for (;;) {
      const sent = await once(...call)
      const { result, code, msg } = sent.body
      if (result === 'success') return sent
      if (code !== 'RATE_LIMIT_HIT') throw new Error(`${call[0]} ${call[1]}: ${msg}`)
      await wait(Number(sent.body['retry-after']) * 1000)
    }
  }
}

function credentials(as: PersonKey | BenchSession | null): Record<string, string> {
  if (as === null) return {}
  if ('cookie' in as) return { cookie: as.cookie, 'sec-fetch-site': 'same-origin' }
  return { authorization: `Basic ${Buffer.from(`${as.email}:${as.key}`).toString('base64')}` }
}
