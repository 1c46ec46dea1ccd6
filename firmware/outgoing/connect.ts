/**
 * Connects to a server: resolves its name once, checks all of its addresses, and tries only these, so that DNS cannot redirect the
 * connection afterwards. TLS is verified against the name that was set. With a proxy, TLS connections go through it by CONNECT
 * (RFC 9110 section 9.3.6), and the proxy resolves.
 */

import { once } from 'node:events'
import { request } from 'node:http'
import { BlockList, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import {
  createSecureContext,
  rootCertificates,
  type SecureContext,
  type TLSSocket,
  connect as tlsConnect,
} from 'node:tls'
import { ipVersion } from '../base/ip-address.ts'
import { familyOf, mayAsk } from './addresses.ts'
import { OutgoingError } from './error.ts'
import { loopbackOf, withoutDot } from './hosts.ts'
import { createIdleConnections, type IdleConnections } from './idle-connections.ts'
import type { ClientIdentity, ConnectionSettings, HttpProxy } from './link.ts'
import type { NetworkAccess } from './resolve.ts'

interface Remote {
  /** A name, or an address without brackets. */
  host: string
  port: number
  /** Result of `addressesOf`. By default the name is resolved. */
  addresses?: readonly string[]
  /** Is told the address that was connected to. */
  onConnected?: (address: string) => void
}

export interface Connector {
  readonly idle: IdleConnections
  /** True if TLS connections to this host go through the proxy. */
  usesProxy(host: string): boolean
  /** Addresses that passed, in order. */
  addressesOf(destination: Remote, signal: AbortSignal): Promise<readonly string[]>
  /** Without the proxy. */
  connect(destination: Remote, signal: AbortSignal): Promise<Socket>
  /** The same for a host that a person has set: on a host `localhost`, `127.0.0.1` and `::1` pass, too. */
  connectToChosen(destination: Remote, signal: AbortSignal): Promise<Socket>
  /** Through the proxy where one is set. With `isProbe` a certificate that does not verify is accepted; nothing may be sent then. */
  connectTls(destination: Remote, signal: AbortSignal, isProbe?: boolean): Promise<TLSSocket>
  /** TLS over a connected socket or a stream over one, which is destroyed if that fails. `host` is verified. */
  secure(socket: Duplex, host: string, signal: AbortSignal, options?: TlsOptions): Promise<TLSSocket>
}

interface TlsOptions {
  isProbe?: boolean
  /** With some, the server's certificate needs one of them, and no authority or name. */
  fingerprints?: readonly string[]
  identity?: ClientIdentity | null
}

const NAME_MS_MAX = 5000
const CONNECT_MS_MAX = 10_000
const HANDSHAKE_MS_MAX = 10_000
const SILENCE_MS_MAX = 30_000

export function createConnector(settings: ConnectionSettings, network: NetworkAccess): Connector {
  const { proxy, onHost } = settings
  const isExcepted = exceptionsOf(settings.proxyExcept)
  let context: SecureContext | undefined

  /** Requires that all addresses pass: a name that also leads to this machine is suspect. */
  async function addressesOf({ host }: Remote, signal: AbortSignal): Promise<readonly string[]> {
    const resolve = () => network.resolve(host)
    const addresses =
      ipVersion(host) !== 0 ? [host] : await within(NAME_MS_MAX, 'its name was not resolved', signal, resolve)
    if (addresses.length === 0) throw new OutgoingError('its name has no address', false)
    const own = [...network.own()]
    if (!addresses.every((address) => mayAsk(address, own)))
      throw new OutgoingError('its name leads to an address that nothing is sent to', true)
    return addresses
  }

  async function connectToOne(
    addresses: readonly string[],
    { port, onConnected }: Remote,
    signal: AbortSignal,
  ): Promise<Socket> {
    let failure: unknown
    for (const address of addresses) {
      const socket = network.connect(address, port)
      try {
        await within(CONNECT_MS_MAX, 'it could not be reached', signal, () => once(socket, 'connect'))
        onConnected?.(address)
        return endWhenSilent(socket)
      } catch (error) {
        socket.destroy()
        if (signal.aborted) throw error
        failure = error
      }
    }
    throw failure
  }

  const connect = async (destination: Remote, signal: AbortSignal): Promise<Socket> =>
    connectToOne(destination.addresses ?? (await addressesOf(destination, signal)), destination, signal)

  /** A device has no other programs, and what it listens to itself is not to be reached. */
  const connectToChosen = (destination: Remote, signal: AbortSignal): Promise<Socket> => {
    const local = onHost ? loopbackOf(destination.host) : undefined
    return local === undefined ? connect(destination, signal) : connectToOne(local, destination, signal)
  }

  async function connectThrough(proxy: HttpProxy, { host, port }: Remote, signal: AbortSignal): Promise<Socket> {
    const { host: name, port: at, user, password } = proxy
    const socket = await connectToChosen({ host: name, port: at }, signal)
    const target = `${ipVersion(host) === 6 ? `[${host}]` : host}:${port}`
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const asked = request({
      createConnection: () => socket,
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...(user !== undefined && { 'proxy-authorization': basic(user, password) }) },
      signal,
    })
    asked.on('connect', ({ statusCode = 0 }, _, rest: Buffer) => {
      if (statusCode < 200 || statusCode > 299)
        return reject(new OutgoingError(`the proxy refused it with the status ${statusCode}`, statusCode < 500))
      if (rest.length > 0) socket.unshift(rest)
      resolve()
    })
    asked.on('response', ({ statusCode }) =>
      reject(new OutgoingError(`the proxy refused it with the status ${statusCode}`, false)),
    )
    asked.on('error', reject)
    asked.on('close', () => reject(new OutgoingError('the proxy ended the connection', false)))
    asked.end()
    try {
      await within(CONNECT_MS_MAX, 'the proxy did not answer', signal, () => promise)
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  const proxyFor = (host: string): HttpProxy | null => (isExcepted(host) ? null : proxy)

  async function secure(
    socket: Duplex,
    host: string,
    signal: AbortSignal,
    { isProbe = false, fingerprints = [], identity = null }: TlsOptions = {},
  ): Promise<TLSSocket> {
    if (socket instanceof Socket) socket.setTimeout(0) // TLS reads it from now on
    const isPinned = fingerprints.length > 0
    let stream: TLSSocket | undefined
    try {
      const secureContext = contextFor(identity)
      const servername = ipVersion(host) === 0 ? withoutDot(host) : '' // RFC 6066 section 3
      const connecting = tlsConnect({
        ...{ socket, host, servername, secureContext },
        rejectUnauthorized: !isProbe && !isPinned,
      })
      stream = connecting
      const handshake = () => once(connecting, 'secureConnect')
      await within(HANDSHAKE_MS_MAX, 'it did not complete the TLS handshake', signal, handshake)
      if (isPinned && !fingerprints.includes(`sha-256:${stream.getPeerX509Certificate()?.fingerprint256}`))
        throw new OutgoingError('its certificate has none of the fingerprints that are set', true)
      return endWhenSilent(stream)
    } catch (error) {
      stream?.destroy()
      socket.destroy()
      throw error
    }
  }

  function contextFor(identity: ClientIdentity | null): SecureContext {
    const options = { minVersion: 'TLSv1.2' as const, ...authoritiesOf(settings) }
    if (identity !== null)
      return createSecureContext({
        ...options,
        key: Buffer.from(identity.key),
        cert: Buffer.from(identity.certificates),
      })
    context ??= createSecureContext(options)
    return context
  }

  return {
    idle: createIdleConnections(),
    usesProxy: (host) => proxyFor(host) !== null,
    addressesOf,
    connect,
    connectToChosen,
    secure,
    async connectTls(destination, signal, isProbe = false) {
      const { host } = destination
      const through = proxyFor(host)
      const socket = await (through ? connectThrough(through, destination, signal) : connect(destination, signal))
      return secure(socket, host, signal, { isProbe })
    },
  }
}

function endWhenSilent<T extends Socket>(socket: T): T {
  socket.on('error', () => {}) // its reader learns of the error
  const silence = new OutgoingError(`it was silent for ${SILENCE_MS_MAX / 1000} seconds`, false)
  socket.setTimeout(SILENCE_MS_MAX, () => socket.destroy(silence))
  return socket
}

const basic = (user: string, password: Uint8Array = new Uint8Array(0)): string =>
  `Basic ${Buffer.concat([Buffer.from(`${user}:`), password]).toString('base64')}`

function authoritiesOf({ authorities, publicAuthorities }: ConnectionSettings): { ca?: string[] } {
  if (authorities.length === 0 && publicAuthorities) return {} // Node's own
  return { ca: [...(publicAuthorities ? rootCertificates : []), new TextDecoder().decode(authorities)] }
}

/** Addresses and CIDRs apply to addresses that stand in the place of a name: the proxy is asked without resolving. */
function exceptionsOf(except: readonly string[]): (host: string) => boolean {
  const networks = { ipv4: new BlockList(), ipv6: new BlockList() } // one for each family, as in addresses.ts
  const names = new Set<string>()
  const suffixes: string[] = []
  for (const one of except) {
    const [network = '', prefix] = one.split('/')
    if (one.startsWith('.')) suffixes.push(one)
    else if (prefix !== undefined) networks[familyOf(network)].addSubnet(network, Number(prefix), familyOf(network))
    else if (ipVersion(one) !== 0) networks[familyOf(one)].addAddress(one, familyOf(one))
    else names.add(one)
  }
  return (host) => {
    if (ipVersion(host) !== 0) return networks[familyOf(host)].check(host, familyOf(host))
    const name = withoutDot(host)
    return names.has(name) || suffixes.some((suffix) => name.endsWith(suffix))
  }
}

/**
 * Throws an OutgoingError after that time, and the reason of `signal` when that aborts. The work must then end by the signal that
 * it is given; a look-up may continue in the background.
 */
export async function within<T>(
  ms: number,
  what: string,
  signal: AbortSignal,
  work: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const late = () => controller.abort(new OutgoingError(`${what} within ${ms / 1000} seconds`, false))
  const timer = setTimeout(late, ms)
  const limit = AbortSignal.any([signal, controller.signal])
  const { promise, reject } = Promise.withResolvers<never>()
  limit.addEventListener('abort', () => reject(limit.reason))
  const working = work(limit)
  try {
    limit.throwIfAborted()
    return await Promise.race([working, promise])
  } finally {
    clearTimeout(timer)
    working.catch(() => {})
    promise.catch(() => {})
  }
}
