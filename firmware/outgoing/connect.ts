/**
 * Connects to a server: resolves its name once, checks all of its addresses, and tries only these, so that DNS cannot redirect the
 * connection afterwards. TLS is verified against the name that was set. With a proxy, TLS connections go through it by CONNECT
 * (RFC 9110 section 9.3.6), and the proxy resolves.
 */

import { once } from 'node:events'
import { request } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'
import {
  createSecureContext,
  rootCertificates,
  type SecureContext,
  type TLSSocket,
  connect as tlsConnect,
} from 'node:tls'
import { mayAsk } from './addresses.ts'
import { OutgoingError } from './error.ts'
import type { ConnectionSettings } from './link.ts'
import type { NetworkAccess } from './resolve.ts'

interface Remote {
  /** A name, or an address without brackets. */
  host: string
  port: number
}

export interface Connector {
  /** True if TLS connections to this host go through the proxy. */
  usesProxy(host: string): boolean
  /** Addresses that passed, in order. */
  addressesOf(destination: Remote, signal: AbortSignal): Promise<readonly string[]>
  /** Without the proxy. */
  connect(destination: Remote, signal: AbortSignal): Promise<Socket>
  /** Through the proxy where one is set. With `isProbe` a certificate that does not verify is accepted; nothing may be sent then. */
  connectTls(destination: Remote, signal: AbortSignal, isProbe?: boolean): Promise<TLSSocket>
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
      isIP(host) !== 0 ? [host] : await within(NAME_MS_MAX, 'its name was not resolved', signal, resolve)
    if (addresses.length === 0) throw new OutgoingError('its name has no address', false)
    const own = [...network.own()]
    if (!addresses.every((address) => mayAsk(address, own)))
      throw new OutgoingError('its name leads to an address that nothing is sent to', true)
    return addresses
  }

  async function connectToOne(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket> {
    let failure: unknown
    for (const address of addresses) {
      const socket = network.connect(address, port)
      try {
        await within(CONNECT_MS_MAX, 'it could not be reached', signal, () => once(socket, 'connect'))
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
    connectToOne(await addressesOf(destination, signal), destination.port, signal)

  async function connectToProxy({ host, port }: Remote, signal: AbortSignal): Promise<Socket> {
    const { host: name, port: at, user, password } = proxy!
    // A person has set the proxy, so it may be on the same computer, but for a device, which has none.
    const local = onHost ? LOCAL[name] : undefined
    const socket =
      local === undefined ? await connect({ host: name, port: at }, signal) : await connectToOne(local, at, signal)
    const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const asked = request({
      createConnection: () => socket,
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...(user !== undefined && { 'proxy-authorization': basic(user, password) }) },
      signal,
    })
    asked.on('connect', ({ statusCode }, _, rest: Buffer) => {
      if (statusCode! < 200 || statusCode! > 299)
        return reject(new OutgoingError(`the proxy refused it with the status ${statusCode}`, statusCode! < 500))
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

  const usesProxy = (host: string) => proxy !== null && !isExcepted(host)

  return {
    usesProxy,
    addressesOf,
    connect,
    async connectTls(destination, signal, isProbe = false) {
      const { host } = destination
      const socket = await (usesProxy(host) ? connectToProxy : connect)(destination, signal)
      socket.setTimeout(0) // TLS reads it from now on
      context ??= createSecureContext({ minVersion: 'TLSv1.2', ...authoritiesOf(settings) })
      const secure = tlsConnect({
        socket,
        host,
        servername: isIP(host) === 0 ? host : '',
        secureContext: context,
        rejectUnauthorized: !isProbe,
      })
      try {
        const handshake = () => once(secure, 'secureConnect')
        await within(HANDSHAKE_MS_MAX, 'it did not complete the TLS handshake', signal, handshake)
        return endWhenSilent(secure)
      } catch (error) {
        secure.destroy()
        socket.destroy()
        throw error
      }
    },
  }
}

const LOCAL: Readonly<Record<string, readonly string[]>> = {
  localhost: ['127.0.0.1', '::1'],
  '127.0.0.1': ['127.0.0.1'],
  '::1': ['::1'],
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

/** CIDRs apply to addresses that stand in the place of a name: the proxy is asked without resolving. */
function exceptionsOf(except: readonly string[]): (host: string) => boolean {
  const networks = { 4: new BlockList(), 6: new BlockList() } // one for each family, as in addresses.ts
  const names = new Set<string>()
  const suffixes: string[] = []
  for (const one of except) {
    const [network = '', prefix] = one.split('/')
    if (one.startsWith('.')) suffixes.push(one)
    else if (prefix === undefined) names.add(one)
    else networks[isIP(network) as 4 | 6].addSubnet(network, Number(prefix), familyOf(network))
  }
  return (host) => {
    const family = isIP(host)
    if (names.has(host)) return true
    return family === 0
      ? suffixes.some((suffix) => host.endsWith(suffix))
      : networks[family as 4 | 6].check(host, familyOf(host))
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

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
