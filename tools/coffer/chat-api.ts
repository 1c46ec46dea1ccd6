/**
 * The chat's own API, as far as the command uses it: firmware/chat/CONTRACT.md, sections 1.2, 3.1, 3.6 and 3.8. A command signs in
 * with the password, and revokes its key at the end, so that an account does not fill with keys of commands.
 */

import { ApiError, basicCredentials, type Transport } from '../../firmware/client/request.ts'
import { AccountError } from './failure.ts'

export interface ChatTerms {
  channels: readonly string[]
  role?: number
  minutes?: number
}

export interface ChatMember {
  user_id: number
  full_name: string
  email: string
  delivery_email: string | null
  role: number
  is_active: boolean
  is_bot: boolean
}

interface ChatInvitation {
  email: string
  invite_link: string
}

export type ChatApi = ReturnType<typeof createChatApi>

interface SignIn {
  transport: Transport
  lastTransport: Transport
  email: string
  password: string
  onRefused: () => Promise<void>
  /** The key could not be revoked. */
  onKeyLeft: (error: Error) => void
}

export const CHAT_ROLES: Readonly<Record<string, number>> = {
  owner: 100,
  administrator: 200,
  moderator: 300,
  member: 400,
  guest: 600,
}

export async function withSignIn<T>(signIn: SignIn, work: (api: ChatApi) => Promise<T>): Promise<T> {
  const { transport, lastTransport, email, password, onRefused, onKeyLeft } = signIn
  const { api_key: key } = await createCalls(transport, email, null)
    .ask<{ api_key: string }>('POST', '/fetch_api_key', { username: email, password })
    .catch(async (error) => {
      if (error instanceof ApiError && error.status === 401) await onRefused()
      throw error
    })
  const credentials = basicCredentials(email, key)
  try {
    return await work(createChatApi(createCalls(transport, email, credentials)))
  } finally {
    await revokeOwnKey(createCalls(lastTransport, email, credentials)).catch(onKeyLeft)
  }
}

async function revokeOwnKey({ ask }: ChatCalls): Promise<void> {
  const { api_keys: keys } = await ask<{ api_keys: { id: number; is_current: boolean }[] }>('GET', '/users/me/api_keys')
  const own = keys.find(({ is_current: isCurrent }) => isCurrent)
  if (own !== undefined) await ask('DELETE', `/users/me/api_keys/${own.id}`)
}

function createChatApi({ ask }: ChatCalls) {
  async function termsOf({ channels, role, minutes }: ChatTerms) {
    const ids: number[] = []
    for (const name of channels)
      ids.push((await ask<{ stream_id: number }>('GET', '/get_stream_id', { stream: name })).stream_id)
    return {
      stream_ids: ids,
      include_realm_default_subscriptions: channels.length === 0,
      ...(role !== undefined && { invite_as: role }),
      ...(minutes !== undefined && { invite_expires_in_minutes: minutes }),
    }
  }
  return {
    members: async () => (await ask<{ members: ChatMember[] }>('GET', '/users')).members,
    invite: async (emails: readonly string[], terms: ChatTerms) => {
      const parameters = { invitee_emails: emails.join(','), ...(await termsOf(terms)) }
      return (await ask<{ invite_links: ChatInvitation[] }>('POST', '/invites', parameters)).invite_links
    },
    joinLink: async (terms: ChatTerms) =>
      (await ask<{ invite_link: string }>('POST', '/invites/multiuse', await termsOf(terms))).invite_link,
  }
}

type Parameters = Readonly<Record<string, unknown>>
type ChatCalls = ReturnType<typeof createCalls>

/** Null without credentials. */
function createCalls(transport: Transport, account: string, credentials: string | null) {
  async function ask<R>(method: 'GET' | 'POST' | 'DELETE', path: string, parameters: Parameters = {}): Promise<R> {
    const pairs = Object.entries(parameters).map(([name, value]): [string, string] => [name, textOf(value)])
    const form = new URLSearchParams(pairs).toString()
    const hasBody = method === 'POST'
    const answer = await transport({
      method,
      path: hasBody || form === '' ? path : `${path}?${form}`,
      headers: {
        ...(credentials !== null && { authorization: credentials }),
        ...(hasBody && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(hasBody && { body: new TextEncoder().encode(form) }),
    })
    const text = await answer.text()
    if (answer.status < 400) return JSON.parse(text) as R
    throw new AccountError(new ApiError(answer.status, messageOf(text) ?? `Status ${answer.status}`, null), account)
  }
  return { ask }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The chat's sentence, and one for each address that could not be invited. */
function messageOf(text: string): string | null {
  try {
    const { msg, errors } = JSON.parse(text) as { msg?: unknown; errors?: unknown }
    if (typeof msg !== 'string' || msg === '') return null
    const lines = Array.isArray(errors) ? errors.map(([address, why]: unknown[]) => `${address}: ${why}`) : []
    return [msg, ...lines].join(' ')
  } catch {
    return null // a proxy's page, for instance
  }
}
