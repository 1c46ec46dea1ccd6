/** Where the picture of an account is. Contract sections 2.2 and 11.16. */

import { createHash, createHmac } from 'node:crypto'
import type { Realm } from '../model/realm.ts'
import { REALM_ID, type User } from '../model/records.ts'

const TOKEN_CHARACTERS = 32 // 128 bits: the address of a picture is its only key, since clients fetch it without another
const UNKNOWN_USER = 0 // whose picture stands for those that the viewer may not see

/** What a picture's address and a generated picture come from: nobody without the chat key can make it up. */
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
const seedsOf = new WeakMap<Realm, Map<number, Buffer>>() // every register asks for all of them

export const avatarToken = (realm: Realm, userId: number): string =>
  avatarSeed(realm, userId).toString('hex').slice(0, TOKEN_CHARACTERS)

interface AvatarOptions {
  clientGravatar: boolean
  medium?: boolean
}

/** Relative to the organisation's URL. Null: the client makes Gravatar's address itself, from the real one. */
export function avatarUrl(
  realm: Realm,
  user: User | null,
  { clientGravatar, medium = false }: AvatarOptions,
): string | null {
  const version = user?.avatarVersion ?? 1
  if (user?.avatarSource === 'G') {
    if (clientGravatar) return null
    // Not of the real address where that is not for all to see: a hash gives away whoever is guessed.
    const hash = createHash('md5').update(user.email.toLowerCase()).digest('hex')
    return `https://secure.gravatar.com/avatar/${hash}?d=identicon&version=${version}${medium ? '&s=500' : ''}`
  }
  const id = user?.id ?? UNKNOWN_USER
  return `/user_avatars/${REALM_ID}/${id}-${avatarToken(realm, id)}${medium ? '-medium' : ''}.png?version=${version}`
}
