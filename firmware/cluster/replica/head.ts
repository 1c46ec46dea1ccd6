/**
 * The head of the cluster: what says which records there are after the newest change, sealed by a key that is made of the domain key.
 * Each change replaces it, and is made only on the one that it was decided on.
 */

import { utf8ToBytes } from '@noble/hashes/utils.js'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'
import { deriveSealKey, seal, unseal } from '../../crypto/seal.ts'
import { type Head, headOf, type StoredHead, storedHead } from '../../store/head.ts'
import { IntegrityError } from './integrity-error.ts'

export interface ClusterHead {
  /** The generation of the records, which tells where they are. */
  generation: string
  /** Drawn for each change, so that its proposer recognizes it. */
  id: string
  member: string
  head: Head
}

const ID_BYTES = 12

export const newChangeId = (random: Random): string => Buffer.from(random(ID_BYTES)).toString('hex')

/** The format of everything in etcd. A node that writes another one says so in its heads; nodes that do not know it stop following. */
const FORMAT = 1

interface Stored {
  /** Who knows no newer format than this cannot tell what there is. */
  minimum: number
  generation: string
  id: string
  member: string
  head: StoredHead
}

export interface HeadSealer {
  seal(head: ClusterHead): Uint8Array
  /** Throws Refusal. */
  open(sealed: Uint8Array): ClusterHead
  /** Wipes the key. */
  close(): void
}

export function createHeadSealer(domainKey: Uint8Array, random: Random): HeadSealer {
  const key = deriveSealKey(domainKey, 'coffer cluster head')
  return {
    seal: ({ head, ...more }) =>
      seal(
        key,
        utf8ToBytes(JSON.stringify({ minimum: FORMAT, ...more, head: storedHead(head) } satisfies Stored)),
        random,
      ),
    open(sealed) {
      const opened = unseal(key, sealed)
      if (opened === null) throw new IntegrityError('the head was not written by a member')
      const { minimum, head, generation, id, member } = JSON.parse(new TextDecoder().decode(opened)) as Stored
      if (minimum > FORMAT) throw new IntegrityError('they need newer software: update this node', undefined, true)
      return { generation, id, member, head: headOf(head) }
    },
    close: () => wipe(key),
  }
}
