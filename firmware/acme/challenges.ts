/** Answers to challenges that are pending: tokens of http-01 (RFC 8555 section 8.3), certificates of tls-alpn-01 (RFC 8737, RFC 8738). */

import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { asAlternativeName, groupsOfIPv6 } from '../base/ip-address.ts'
import { wipe } from '../base/secret.ts'
import type { Random } from '../crypto/random.ts'
import { acmeIdentifier, makeTlsIdentity, type TlsIdentity } from '../crypto/tls/identity.ts'
import type { ChallengeType } from './settings.ts'

/** Shows this identity in handshakes of the protocol `acme-tls/1` for this server name. */
export interface PortChallenge {
  serverName: string
  identity: TlsIdentity
}

export interface Challenges {
  /** Key authorization of a pending token. */
  authorizationOf(token: string): string | undefined
  identityFor(serverName: string): TlsIdentity | undefined
  /** Resolves when all ports answer the challenge. The returned function withdraws it. */
  publish(type: ChallengeType, name: string, token: string, authorization: string): Promise<() => Promise<void>>
}

/** `show` resolves when the chat's port shows these and no others. */
export function createChallenges(random: Random, show: (challenges: PortChallenge[]) => Promise<void>): Challenges {
  const authorizations = new Map<string, string>()
  const identities = new Map<string, TlsIdentity>()
  const showAll = () => show([...identities].map(([serverName, identity]) => ({ serverName, identity })))

  async function publishIdentity(name: string, authorization: string): Promise<() => Promise<void>> {
    const digest = createHash('sha256').update(authorization).digest()
    const identity = await makeTlsIdentity(random, undefined, [asAlternativeName(name)], [acmeIdentifier(digest)])
    const serverName = serverNameOf(name)
    wipe(identities.get(serverName)?.key)
    identities.set(serverName, identity)
    await showAll()
    return async () => {
      if (identities.get(serverName) === identity) identities.delete(serverName)
      wipe(identity.key)
      await showAll()
    }
  }

  return {
    authorizationOf: (token) => authorizations.get(token),
    identityFor: (serverName) => identities.get(serverName),
    async publish(type, name, token, authorization) {
      if (type === 'tls-alpn-01') return publishIdentity(name, authorization)
      authorizations.set(token, authorization)
      return async () => void authorizations.delete(token)
    },
  }
}

/** RFC 8738 section 6: an address is asked for by its name of reverse DNS. */
function serverNameOf(name: string): string {
  if (isIP(name) === 4) return `${name.split('.').reverse().join('.')}.in-addr.arpa`
  if (isIP(name) === 6) return `${nibblesOf(name).reverse().join('.')}.ip6.arpa`
  return name
}

const nibblesOf = (address: string): string[] => groupsOfIPv6(address).flatMap((group) => [...group.padStart(4, '0')])
