/**
 * The head of the cluster: what says which records there are after the newest change, sealed by a key that is made of the domain key.
 * Each change replaces it, and is made only on the one that it was decided on.
 */

import { utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'
import { deriveSealKey, seal, unseal } from '../../crypto/seal.ts'
import { type Head, headOf, type StoredHead, storedHead } from '../../store/head.ts'
import { Refusal } from './refusal.ts'

export interface ClusterHead {
  /** Of the records: where they lie. */
  generation: string
  /** Drawn for each change: whoever proposed it knows it again. */
  id: string
  /** Who made the change. */
  member: string
  head: Head
}

interface Stored {
  generation: string
  id: string
  member: string
  head: StoredHead
}

export interface HeadSealer {
  seal(head: ClusterHead): Uint8Array
  /** Throws Refusal; `storage` where newer software has written it. */
  open(sealed: Uint8Array): ClusterHead
  /** Wipes the key. */
  close(): void
}

export function createHeadSealer(domainKey: Uint8Array, random: Random): HeadSealer {
  const key = deriveSealKey(domainKey, 'coffer cluster head')
  return {
    seal: ({ head, ...more }) =>
      seal(key, utf8ToBytes(JSON.stringify({ ...more, head: storedHead(head) } satisfies Stored)), random),
    open(sealed) {
      const opened = unseal(key, sealed)
      if (opened === null) throw new Refusal('its head was not written by a member')
      const { head, ...more } = JSON.parse(new TextDecoder().decode(opened)) as Stored
      return { ...more, head: headOf(head) }
    },
    close: () => wipe(key),
  }
}
