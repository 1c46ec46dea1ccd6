/** User ids, generated ids and record names. Contract section 1.2. */

import { bytesToHex } from '@noble/hashes/utils.js'
import type { Random } from '../../crypto/random.ts'

/** Key id, tag, namespace, or local part of a user id: 1 to 128 characters. Contract 1.2. */
export const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

export const USER_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}(~[A-Za-z0-9][A-Za-z0-9_.-]{0,127})?$/

/** A namespace id; `''` is root, for users and keys outside any namespace. */
export type Namespace = string

const GENERATED_BYTES = 10 // 20 hex digits; contract 1.2

/** Returns `''` for a root user. Does not validate the id. */
export function namespaceOf(userId: string): Namespace {
  const split = userId.indexOf('~')
  return split < 0 ? '' : userId.slice(0, split)
}

export const userPrefix = (namespace: Namespace): string => (namespace === '' ? '' : `${namespace}~`)

export const generatedId = (random: Random): string => bytesToHex(random(GENERATED_BYTES))

/** Record name of a key. IDs have no `/`, so names of different namespaces never collide. */
export const keyName = (namespace: Namespace, id: string): string => (namespace === '' ? id : `${namespace}/${id}`)
