/** The network as the process for outgoing connections uses it: names, own addresses, connections. Tests replace it. */

import { lookup, Resolver } from 'node:dns/promises'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { OutgoingError } from './error.ts'

export interface NetworkAccess {
  /** Addresses of a name; none if it has none. Rejects with an `OutgoingError` or an error of the system. */
  resolve(name: string): Promise<readonly string[]>
  /** Current addresses of this machine. */
  own(): Iterable<string>
  connect(address: string, port: number): Socket
}

const TRY_MS = 1500 // a lost datagram is repeated within the time for a name, see connect.ts
const TRIES = 2

interface ResolverSettings {
  onHost: boolean
  resolvers: readonly string[]
}

export function systemNetwork({ onHost, resolvers }: ResolverSettings): NetworkAccess {
  return {
    resolve: resolvers.length > 0 ? askedOf(resolvers) : onHost ? lookUp : noResolver,
    own: () =>
      Object.values(networkInterfaces())
        .flatMap((addresses) => addresses ?? [])
        .map(({ address }) => address),
    connect: (address, port) => connect({ host: address, port }),
  }
}

const lookUp = async (name: string): Promise<string[]> =>
  (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address)

const noResolver = async (): Promise<never> => {
  throw new OutgoingError('its name cannot be resolved, because no resolver is set', true)
}

function askedOf(resolvers: readonly string[]): NetworkAccess['resolve'] {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  resolver.setServers(resolvers)
  return async (name) => {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    const [failed] = found.filter((one) => one.status === 'rejected')
    if (addresses.length === 0 && failed !== undefined) throw failed.reason
    return addresses
  }
}
