/**
 * A request to somebody outside, on an account's word: to hosts that the operator has listed. Its name is resolved once, the
 * address is checked and that one connected to, so that no name can lead elsewhere meanwhile; redirects are not followed. It
 * is the chat's process that asks: it has no keys. Design 11.
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
  /** Whom the operator has listed: `host` at the port that its scheme has, or `host:port`. */
  hosts: readonly string[]
  /** Ends it. */
  signal: AbortSignal
}

interface OutgoingAnswer {
  status: number
  text: string
}

/** A sentence for whoever wanted the request. */
export class OutgoingError extends Error {
  /** Another try now would come to the same. */
  readonly isFinal: boolean

  constructor(message: string, isFinal: boolean) {
    super(message)
    this.name = 'OutsideError'
    this.isFinal = isFinal
  }
}

/** What a test puts in its place. */
export interface Resolver {
  /** Addresses of a name. */
  resolve(name: string): Promise<readonly string[]>
  /** Those of this machine. */
  own(): Iterable<string>
  connect(address: string, port: number): Socket
  /** Authorities besides those that come with Node, PEM. */
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

/** A name may end in a dot, and means the same. */
const withoutDot = (host: string): string => host.replace(/\.(?=$|:\d+$)/, '')

/** Each that it has must be one that may be asked: a name that also means this machine is no honest one. */
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
      // Node closes what becomes another protocol without any error.
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

/** Looking up a name cannot be ended, only left alone. */
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
