/** An ACME server in the test's hands: it can fail at each step and issue certificates that no other server would. */

import assert from 'node:assert/strict'
import { createPublicKey, type JsonWebKey, randomBytes, verify } from 'node:crypto'
import type { Send } from '../../../firmware/acme/client.ts'
import { OutgoingError } from '../../../firmware/outgoing/error.ts'
import type { HttpAnswer } from '../../../firmware/outgoing/link.ts'

export const DIRECTORY = 'https://ca.example/directory'

export interface Problem {
  status: number
  type: string
  retryAfterS?: number
}

interface Order {
  names: string[]
  status: string
  authorizations: string[]
  certificate?: string
  replaces?: string
  profile?: string
}

interface Authorization {
  name: string
  status: string
  token: string
}

export interface Ca {
  send: Send
  /** Paths that were asked, in order. */
  asked: string[]
  orders: Order[]
  /** Accounts that were made. */
  accounts: JsonWebKey[]
  /** Failure of requests to this path, whose payload is null unless signed; null by default. */
  problemAt(path: string, payload: Payload): Problem | 'unreachable' | 'malformed' | null
  validate(name: string, token: string): string
  /** Returns a chain in PEM. `csr` is PEM. */
  issue(csr: string, names: readonly string[]): string
  renewalInfo(): { start: string; end: string } | null
}

type Payload = Record<string, unknown> | null

interface Jws {
  protected: string
  payload: string
  signature: string
}

const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString())

export function createCa(issue: Ca['issue']): Ca {
  const nonces = new Set<string>()
  const certificates = new Map<string, string>()
  const authorizations: Authorization[] = []

  const ca: Ca = {
    asked: [],
    orders: [],
    accounts: [],
    problemAt: () => null,
    validate: () => 'valid',
    issue,
    renewalInfo: () => null,
    send: async (job) => {
      const path = new URL(job.url).pathname
      ca.asked.push(`${job.method} ${path}`)
      const jws = job.method === 'POST' ? (JSON.parse(Buffer.from(job.body).toString()) as Jws) : null
      const problem = ca.problemAt(path, jws === null || jws.payload === '' ? null : read(jws.payload))
      if (problem === 'unreachable') throw new OutgoingError('it did not answer within 30 seconds', false)
      if (problem === 'malformed') return answer(200, '<html>')
      if (problem !== null) return refusal(problem)
      return jws === null ? open(path) : post(path, job.url, jws)
    },
  }

  function answer(status: number, body: unknown, more: Record<string, string> = {}): HttpAnswer {
    const nonce = randomBytes(16).toString('base64url')
    nonces.add(nonce)
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return { status, headers: { 'replay-nonce': nonce, ...more }, body: new TextEncoder().encode(text) }
  }

  const refusal = ({ status, type, retryAfterS }: Problem): HttpAnswer =>
    answer(
      status,
      { type: `urn:ietf:params:acme:error:${type}`, detail: `refused as ${type}` },
      retryAfterS === undefined ? {} : { 'retry-after': `${retryAfterS}` },
    )

  const at = (path: string): string => `https://ca.example${path}`

  function open(path: string): HttpAnswer {
    if (path === '/nonce') return answer(200, '')
    if (path.startsWith('/renewal/')) {
      const window = ca.renewalInfo()
      return window === null ? refusal({ status: 404, type: 'malformed' }) : answer(200, { suggestedWindow: window })
    }
    assert.equal(path, '/directory')
    return answer(200, {
      newNonce: at('/nonce'),
      newAccount: at('/account'),
      newOrder: at('/order'),
      renewalInfo: at('/renewal'),
      meta: { profiles: { classic: 'usual', shortlived: 'six days' } },
    })
  }

  function post(path: string, url: string, jws: Jws): HttpAnswer {
    const header = read(jws.protected)
    assert.equal(header.url, url)
    assert.ok(nonces.delete(header.nonce), 'a nonce is used once')
    const jwk = header.jwk ?? ca.accounts[Number(/^https:\/\/ca\.example\/account\/(\d+)$/.exec(header.kid)?.[1])]
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const signed = Buffer.from(`${jws.protected}.${jws.payload}`)
    const signature = Buffer.from(jws.signature, 'base64url')
    assert.ok(verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature))
    const payload = jws.payload === '' ? null : read(jws.payload)
    const [, kind = '', id = ''] = /^\/(\w+)(?:\/(\d+))?$/.exec(path) ?? []
    if (kind === 'account' && id === '') return makeAccount(jwk)
    if (kind === 'account') return answer(200, { status: 'valid' })
    if (kind === 'order' && id === '') return makeOrder(payload)
    if (kind === 'order') return answer(200, shown(Number(id)))
    if (kind === 'authorization') return answer(200, shownAuthorization(Number(id)))
    if (kind === 'challenge') return prove(Number(id))
    if (kind === 'finalize') return finalize(Number(id), payload.csr)
    if (kind === 'certificate') return answer(200, certificates.get(id) ?? '')
    throw new Error(`nothing at ${path}`)
  }

  function makeAccount(jwk: JsonWebKey): HttpAnswer {
    let id = ca.accounts.findIndex(({ x }) => x === jwk.x)
    if (id < 0) id = ca.accounts.push(jwk) - 1
    return answer(201, { status: 'valid' }, { location: at(`/account/${id}`) })
  }

  function makeOrder(payload: { identifiers: { value: string }[]; replaces?: string; profile?: string }): HttpAnswer {
    const names = payload.identifiers.map(({ value }) => value)
    const ids = names.map(
      (name) => authorizations.push({ name, status: 'pending', token: randomBytes(16).toString('base64url') }) - 1,
    )
    const order: Order = { names, status: 'pending', authorizations: ids.map((id) => at(`/authorization/${id}`)) }
    if (payload.replaces !== undefined) order.replaces = payload.replaces
    if (payload.profile !== undefined) order.profile = payload.profile
    const id = ca.orders.push(order) - 1
    return answer(201, shown(id), { location: at(`/order/${id}`) })
  }

  function shown(id: number): object {
    const order = ca.orders[id]!
    const own = order.authorizations.map((url) => authorizations[Number(url.split('/').at(-1))]!.status)
    if (order.status === 'pending' && own.every((status) => status === 'valid')) order.status = 'ready'
    if (order.status === 'pending' && own.includes('invalid')) order.status = 'invalid'
    const { status, certificate } = order
    return { status, authorizations: order.authorizations, finalize: at(`/finalize/${id}`), certificate }
  }

  function shownAuthorization(id: number): object {
    const { name, status, token } = authorizations[id]!
    const error = status === 'invalid' ? { detail: 'no answer' } : undefined
    const challenges = ['http-01', 'tls-alpn-01'].map((type) => ({ type, url: at(`/challenge/${id}`), token, error }))
    return { status, identifier: { type: 'dns', value: name }, challenges }
  }

  function prove(id: number): HttpAnswer {
    const authorization = authorizations[id]!
    authorization.status = ca.validate(authorization.name, authorization.token)
    return answer(200, { status: 'processing' })
  }

  function finalize(id: number, csr: string): HttpAnswer {
    const order = ca.orders[id]!
    const lines = Buffer.from(csr, 'base64url')
      .toString('base64')
      .match(/.{1,64}/g)!
      .join('\n')
    const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`
    certificates.set(`${id}`, ca.issue(pem, order.names))
    order.status = 'valid'
    order.certificate = at(`/certificate/${id}`)
    return answer(200, shown(id))
  }

  return ca
}
