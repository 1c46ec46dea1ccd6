/** One certificate from an ACME server: order, challenges, request, download. RFC 8555 section 7.4, RFC 8738, RFC 9773 section 5. */

import { isIP } from 'node:net'
import * as z from 'zod'
import { type AcmeAnswer, type AcmeClient, AcmeError, acmeUrl, shorten } from './client.ts'
import type { ChallengeType } from './settings.ts'

interface OrderOptions {
  names: readonly string[]
  profile: string | null
  /** Identifier of the certificate that this one replaces. */
  replaces: string | null
  challenge: ChallengeType
  /** Makes the answer to a challenge available. The returned function withdraws it. */
  publish(name: string, token: string): Promise<() => Promise<void>>
  /** `begin` is called before validations of these names; if it throws, none begins. `end` is called once for each name. */
  validations: { begin(names: readonly string[]): void; end(name: string, isValid: boolean): void }
  /** Certificate request in base64url. */
  request(): Promise<string>
  wait(ms: number): Promise<void>
  /** Never jumps. */
  monotonicMs(): number
}

const POLL_MS = { min: 1000, usual: 2000, max: 60_000 } as const
const POLLS_MS_MAX = 600_000
const AUTHORIZATIONS_MAX = 100 // as many as names
const TOKEN = /^[A-Za-z0-9_-]{1,256}$/

const problem = z.object({ detail: z.string().optional() }).optional()

const orderSchema = z.object({
  status: z.string(),
  authorizations: z.array(acmeUrl).max(AUTHORIZATIONS_MAX),
  finalize: acmeUrl,
  certificate: acmeUrl.optional(),
  error: problem,
})

const authorizationSchema = z.object({
  status: z.string(),
  identifier: z.object({ value: z.string().max(253) }),
  challenges: z
    .array(z.object({ type: z.string(), url: acmeUrl, token: z.string().regex(TOKEN).optional(), error: problem }))
    .max(20),
})

interface Pending {
  url: string
  name: string
  challengeUrl: string
  token: string
}

/** Returns the chain in PEM as the CA gave it, unchecked. Throws AcmeError, OutgoingError, and errors of the options. */
export async function obtainCertificate(client: AcmeClient, options: OrderOptions): Promise<string> {
  const { url, order } = await placeOrder(client, options)
  const poll = createPolling(client, options)
  const pending: Pending[] = []
  for (const authorization of order.authorizations) {
    const one = await readAuthorization(client, authorization, options)
    if (one === null) continue
    if (pending.some(({ name }) => name === one.name)) throw new AcmeError(`The CA asks twice for ${one.name}`)
    pending.push(one)
  }
  await prove(client, pending, options, poll)
  const ready = await poll(url, orderSchema, ({ status }) => status !== 'pending')
  if (ready.status === 'ready') await client.post(order.finalize, { csr: await options.request() })
  const done = await poll(url, orderSchema, ({ status }) => status === 'valid' || status === 'invalid')
  if (done.status !== 'valid' || done.certificate === undefined)
    throw new AcmeError(`The CA ended the order: ${shorten(done.error?.detail ?? done.status)}`)
  return (await client.post(done.certificate)).text
}

async function placeOrder(client: AcmeClient, { names, profile, replaces }: OrderOptions) {
  const { newOrder, meta } = await client.directory()
  const profiles = Object.keys(meta?.profiles ?? {})
  if (profile !== null && !profiles.includes(profile))
    throw new AcmeError(`The CA offers no profile ${profile}: ${shorten(profiles.join(', '))}`)
  const identifiers = names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))
  const wanted = { identifiers, ...(profile !== null && { profile }) }
  const answer = await client.post(newOrder, { ...wanted, ...(replaces !== null && { replaces }) }).catch((error) => {
    // CAs refuse a certificate that was replaced already (as by an order that a power cut interrupted), that another account ordered,
    // or that they have forgotten. An order without it can succeed.
    if (replaces === null || !(error instanceof AcmeError) || error.kind === 'rateLimited') throw error
    return client.post(newOrder, wanted)
  })
  const { success, data: url } = acmeUrl.safeParse(answer.location)
  if (!success) throw new AcmeError('The CA gives no URL of the order')
  return { url, order: parse(orderSchema, answer) }
}

/** Returns null for a name that the CA need not validate again. */
async function readAuthorization(client: AcmeClient, url: string, options: OrderOptions): Promise<Pending | null> {
  const { status, identifier, challenges } = parse(authorizationSchema, await client.post(url))
  if (status === 'valid') return null
  const name = identifier.value
  if (!options.names.includes(name)) throw new AcmeError('The CA asks for a name that was not ordered')
  if (status !== 'pending') throw new AcmeError(`The CA does not validate ${name}: ${shorten(status)}`)
  const challenge = challenges.find(({ type }) => type === options.challenge)
  if (challenge?.token === undefined) throw new AcmeError(`The CA does not offer ${options.challenge} for ${name}`)
  return { url, name, challengeUrl: challenge.url, token: challenge.token }
}

type Poll = ReturnType<typeof createPolling>

/** All names at once: a CA may take a while for each. */
async function prove(
  client: AcmeClient,
  pending: readonly Pending[],
  { publish, validations }: OrderOptions,
  poll: Poll,
): Promise<void> {
  if (pending.length === 0) return
  const withdrawals: (() => Promise<void>)[] = []
  const undecided = new Set<string>()
  const problems: string[] = []
  try {
    for (const { name, token } of pending) withdrawals.push(await publish(name, token))
    validations.begin(pending.map(({ name }) => name))
    for (const { name } of pending) undecided.add(name)
    for (const { challengeUrl } of pending) await client.post(challengeUrl, {})
    for (const { url, name } of pending) {
      const { status, challenges } = await poll(url, authorizationSchema, ({ status }) => status !== 'pending')
      undecided.delete(name)
      validations.end(name, status === 'valid')
      const detail = challenges.find(({ error }) => error !== undefined)?.error?.detail
      if (status !== 'valid') problems.push(`The CA could not validate ${name}: ${shorten(detail ?? status)}`)
    }
  } finally {
    for (const name of undecided) validations.end(name, false)
    for (const withdraw of withdrawals) await withdraw()
  }
  if (problems[0] !== undefined) throw new AcmeError(problems[0], 'unauthorized')
}

/** The time of all polls of an order is limited together, with that of the requests. */
function createPolling(client: AcmeClient, { wait, monotonicMs }: OrderOptions) {
  let startMs: number | undefined
  return async <T>(url: string, schema: z.ZodType<T>, isOver: (value: T) => boolean): Promise<T> => {
    startMs ??= monotonicMs()
    for (;;) {
      const answer = await client.post(url)
      const value = parse(schema, answer)
      if (isOver(value)) return value
      if (monotonicMs() - startMs >= POLLS_MS_MAX) throw new AcmeError('The CA did not decide within 10 minutes')
      const pauseMs = Math.min(Math.max(answer.retryAfterMs ?? POLL_MS.usual, POLL_MS.min), POLL_MS.max)
      await wait(pauseMs)
    }
  }
}

function parse<T>(schema: z.ZodType<T>, { body }: AcmeAnswer): T {
  const { data, success } = schema.safeParse(body)
  if (!success) throw new AcmeError('The CA gives a malformed answer')
  return data
}
