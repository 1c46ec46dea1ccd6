/** Requests as a browser sends them, with the cookie of a session and the headers of W3C Fetch Metadata. */

import assert from 'node:assert/strict'
import type { Answer, Client, TestChat } from '../support/chat.ts'

export interface PageRequest {
  cookie?: string | undefined
  basic?: Pick<Client, 'user' | 'key'>
  /** `sec-fetch-site`, `same-origin` unless it is there; undefined: no such header. */
  site?: string | undefined
  mode?: string | undefined
  values?: Record<string, unknown>
  /** The path is a whole one. */
  isWhole?: boolean
}

const basicOf = ({ user, key }: Pick<Client, 'user' | 'key'>): string =>
  `Basic ${Buffer.from(`${user.email}:${key}`).toString('base64')}`

export const requestsOf =
  (rig: TestChat) =>
  async (method: string, path: string, how: PageRequest = {}): Promise<Answer> => {
    const { cookie, basic, mode, values = {}, isWhole = false } = how
    const site = 'site' in how ? how.site : 'same-origin'
    const encoded = new URLSearchParams(
      Object.entries(values)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]): [string, string] => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    )
    const query = method === 'GET' && encoded.size > 0 ? `?${encoded}` : ''
    const response = await rig.chat.api.request(`http://chat.example${isWhole ? '' : '/api/v1'}${path}${query}`, {
      method,
      headers: {
        ...{ host: 'chat.example', 'user-agent': 'Mozilla/5.0' },
        ...(cookie !== undefined && { cookie: `theme=dark; __Host-Http-coffer=${cookie}` }),
        ...(basic && { authorization: basicOf(basic) }),
        ...(site && { 'sec-fetch-site': site }),
        ...(mode && { 'sec-fetch-mode': mode }),
      },
      ...(method !== 'GET' && { body: encoded }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

/** A session of the account, opened with another key of it. Returns the secret. */
export async function openSession(
  rig: TestChat,
  { user }: Pick<Client, 'user'>,
  { device = 'A browser', remember = true } = {},
): Promise<string> {
  const basic = rig.clientOf(user)
  const { status, headers } = await requestsOf(rig)('POST', '/session', { basic, values: { device, remember } })
  assert.equal(status, 200)
  return /=([^;]*)/.exec(headers.get('set-cookie')!)![1]!
}
