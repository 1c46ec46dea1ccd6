/**
 * Sends a user's outgoing request to a host that the operator has listed. The name is resolved once, all of its addresses are checked, and
 * the connection goes to a checked one, so DNS cannot redirect it afterwards. Redirects are not followed. The chat process, which has none
 * of the appliance's keys, sends the request.
 */

import { lookup } from 'node:dns/promises'
import { type IncomingMessage, request } from 'node:http'
import { isIP, connect as netConnect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as tlsConnect } from 'node:tls'
import { mayAsk } from './addresses.ts'

interface OutgoingRequest {
  url: string
  contentType: string
  body: string
  /** Hosts that the operator has listed: `host` at the default port of its scheme, or `host:port`. */
  hosts: readonly string[]
  signal: AbortSignal
}

interface OutgoingAnswer {
  status: number
  text: string
}

/** The message is a sentence for the owner of the bot. */
export class OutgoingError extends Error {
  /** True if another attempt now would fail the same way. */
  readonly isFinal: boolean

  constructor(message: string, isFinal: boolean) {
    super(message)
    this.name = 'OutgoingError'
    this.isFinal = isFinal
  }
}

/** The network, which tests replace. */
export interface Resolver {
  resolve(name: string): Promise<readonly string[]>
  own(): Iterable<string>
  connect(address: string, port: number): Socket
  /** Further certificate authorities besides Node's, PEM. */
  ca?: string
}

export const systemNetwork: Resolver = {
  resolve: async (name) => (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address),
  own: () =>
    Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .map(({ address }) => address),
  connect: (address, port) => netConnect({ host: address, port }),
}

const ANSWER_MS_MAX = 10_000 // contract section 9
const ANSWER_BYTES_MAX = 256 * 1024 // a message of 10,000 code points, each escaped twice

/** Throws `OutgoingError`. */
export async function post(
  network: Resolver,
  { url: input, hosts, signal, ...sent }: OutgoingRequest,
): Promise<OutgoingAnswer> {
  const url = new URL(input)
  if (!isListed(url, hosts)) throw new OutgoingError('the administrator of the server has not listed its host', true)
  const timeout = AbortSignal.timeout(ANSWER_MS_MAX)
  const either = AbortSignal.any([signal, timeout])
  try {
    const address = await unless(either, addressOf(network, url))
    return await exchange(network, url, address, sent, either)
  } catch (error) {
    if (error instanceof OutgoingError) throw error
    if (timeout.aborted) throw new OutgoingError(`it did not answer within ${ANSWER_MS_MAX / 1000} seconds`, false)
    const code = (error as NodeJS.ErrnoException).code
    throw new OutgoingError(`it could not be reached${code === undefined ? '' : ` (${code})`}`, false)
  }
}

function isListed({ host, hostname, port }: URL, hosts: readonly string[]): boolean {
  const [listed, bare] = [host, hostname].map(withoutDot)
  return hosts.includes(port === '' ? bare! : listed!)
}

/** A name with a trailing dot is the same host. */
const withoutDot = (host: string): string => host.replace(/\.(?=$|:\d+$)/, '')

/** Checks all addresses of the name: a name that also leads to this machine is suspect. */
async function addressOf(network: Resolver, { hostname }: URL): Promise<string> {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1')
  const addresses = isIP(literal) !== 0 ? [literal] : await network.resolve(hostname)
  const own = [...network.own()]
  const [first] = addresses
  if (first === undefined) throw new OutgoingError('its name has no address', false)
  if (!addresses.every((address) => mayAsk(address, own)))
    throw new OutgoingError('its name leads to an address that nothing is sent to', true)
  return first
}

async function exchange(
  network: Resolver,
  url: URL,
  address: string,
  { contentType, body }: Pick<OutgoingRequest, 'contentType' | 'body'>,
  signal: AbortSignal,
): Promise<OutgoingAnswer> {
  const isSecure = url.protocol === 'https:'
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
  const socket = network.connect(address, port)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const { ca } = network
  const stream = isSecure
    ? tlsConnect({ socket, host, servername: isIP(host) === 0 ? host : '', ...(ca !== undefined && { ca }) })
    : socket
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request({
        createConnection: () => stream,
        method: 'POST',
        path: `${url.pathname}${url.search}`,
        headers: {
          host: url.host,
          'content-type': contentType,
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Coffer',
          accept: 'application/json',
          connection: 'close',
        },
        signal,
      })
      outgoing.on('response', resolve).on('error', reject)
      // Node closes the connection without an error if the answer switches protocols.
      outgoing.on('close', () => reject(new OutgoingError('it ended the connection without an answer', false)))
      outgoing.end(body)
    })
    return { status: response.statusCode!, text: await textOf(response) }
  } finally {
    socket.destroy()
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > ANSWER_BYTES_MAX) throw new OutgoingError('its answer is too long', true)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

/** Rejects when `signal` aborts. DNS lookups cannot be canceled, so `work` continues in the background. */
async function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  if (signal.aborted) end()
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
