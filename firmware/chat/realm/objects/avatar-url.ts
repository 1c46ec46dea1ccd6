/** Addresses of account pictures. Contract sections 2.2 and 11.16. */

import { createHash, createHmac } from 'node:crypto'
import type { Realm } from '../model/realm.ts'
import { REALM_ID, type User } from '../model/records.ts'

const TOKEN_CHARACTERS = 32 // 128 bits: the address is the only secret that protects a picture, as clients fetch it without credentials
const UNKNOWN_USER = 0 // its picture stands for users whom the viewer may not see

/** Secret from which picture addresses and generated pictures derive: cannot be computed without the chat key. */
export function avatarSeed(realm: Realm, userId: number): Buffer {
  const seeds = seedsOf.get(realm) ?? new Map<number, Buffer>()
  seedsOf.set(realm, seeds)
  let seed = seeds.get(userId)
  if (seed === undefined) {
    seed = createHmac('sha256', realm.secretsKey).update(`avatar ${userId}`).digest()
    seeds.set(userId, seed)
  }
  return seed
}
const seedsOf = new WeakMap<Realm, Map<number, Buffer>>() // each register answer needs the seeds of all users

export const avatarToken = (realm: Realm, userId: number): string =>
  avatarSeed(realm, userId).toString('hex').slice(0, TOKEN_CHARACTERS)

interface AvatarOptions {
  clientGravatar: boolean
  medium?: boolean
}

/** Relative to the organization's URL. Null: the client computes Gravatar's address from the real address. */
export function avatarUrl(
  realm: Realm,
  user: User | null,
  { clientGravatar, medium = false }: AvatarOptions,
): string | null {
  const version = user?.avatarVersion ?? 1
  if (user?.avatarSource === 'G') {
    if (clientGravatar) return null
    // Hashes the API address: a hash of a hidden real address would let others confirm a guess.
    const hash = createHash('md5').update(user.email.toLowerCase()).digest('hex')
    return `https://secure.gravatar.com/avatar/${hash}?d=identicon&version=${version}${medium ? '&s=500' : ''}`
  }
  const id = user?.id ?? UNKNOWN_USER
  return `/user_avatars/${REALM_ID}/${id}-${avatarToken(realm, id)}${medium ? '-medium' : ''}.png?version=${version}`
}
