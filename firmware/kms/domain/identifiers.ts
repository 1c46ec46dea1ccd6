/** User ids, generated ids and the names of records. Contract section 1.2. */

import { bytesToHex } from '@noble/hashes/utils.js'
import type { Random } from '../../crypto/random.ts'

/** An ID: key, tag, namespace or local part of a user id; 1 to 128 characters. Contract 1.2. */
export const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** `name` or `namespace~name`. */
export const USER_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}(~[A-Za-z0-9][A-Za-z0-9_.-]{0,127})?$/

/** A namespace ID, or `''` for root: users and keys outside any namespace. */
export type Namespace = string

const GENERATED_BYTES = 10 // 20 hex digits; contract 1.2

/** The namespace of a user id, `''` for a root user. Says nothing about the id's validity. */
export function namespaceOf(userId: string): Namespace {
  const split = userId.indexOf('~')
  return split < 0 ? '' : userId.slice(0, split)
}

/** What all user ids of a namespace begin with. */
export const userPrefix = (namespace: Namespace): string => (namespace === '' ? '' : `${namespace}~`)

export const generatedId = (random: Random): string => bytesToHex(random(GENERATED_BYTES))

/** The record name of a key: `/` is in no ID, so names of different namespaces never meet. */
export const keyName = (namespace: Namespace, id: string): string => (namespace === '' ? id : `${namespace}/${id}`)
