/**
 * Sends with the header `Idempotency-Key`, which clients repeat until they get an answer. Contract section 3.2.1. The hashes are keyed, so
 * that they do not reveal the content of deleted messages.
 */

import { createHmac } from 'node:crypto'
import { badRequest } from '../../base/error.ts'
import { payerOf } from '../model/owners.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { type Outgoing, type SentMessage, sendMessage } from './send.ts'

const KEY = /^[A-Za-z0-9_-]{22,64}$/ // at least 128 random bits in base64url
const KEPT_S = 7 * 86_400

/** Sends without a key are not deduplicated. Throws `BAD_REQUEST` if the key is malformed or was used for another message. */
export function sendOnce(realm: Realm, sender: User, key: string | undefined, outgoing: Outgoing): SentMessage {
  if (key === undefined) return sendMessage(realm, sender, outgoing)
  if (!KEY.test(key)) throw badRequest('Idempotency-Key must be 22 to 64 of A-Z, a-z, 0-9, _ and -')
  const { kind, to, topic, content, readBySender, choices } = outgoing
  const hash = (...values: readonly unknown[]): Buffer =>
    createHmac('sha256', realm.secretsKey)
      .update(JSON.stringify(['send', sender.id, key, ...values]))
      .digest()
  const hashes = { key: hash(), parameters: hash(kind, to, topic, content, readBySender, choices) }
  const { sends } = realm.store
  const since = nowOf(realm) - KEPT_S
  const first = sends.find(hashes.key)
  if (first !== undefined && first.time >= since) {
    if (!hashes.parameters.equals(first.parameters)) throw badRequest('Idempotency-Key was used for another message')
    return { id: first.message, automaticPolicy: POLICIES.find((policy) => policy === first.policy) }
  }
  return sendMessage(realm, sender, outgoing, ({ id: message, automaticPolicy: policy = 0 }) =>
    sends.add({ user: payerOf(sender), ...hashes, message, policy, time: nowOf(realm) }, since),
  )
}

const POLICIES = [2, 3] as const
