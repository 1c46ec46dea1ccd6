/**
 * One atomic change of the realm: checks, writes, memory and events happen synchronously, or not at all. Records are in memory as soon as
 * they are put, so later checks of the same transaction see them. If the callback throws or the disk fails, memory and disk are rolled
 * back.
 */

import { assertAuthorized } from '../../../base/request-authorization.ts'
import type { EventHub, Publication } from '../../events/hub.ts'
import type { ChatStore } from '../../store/store.ts'
import type { Key } from './collection.ts'
import { KINDS, type RecordKind, type RecordOf } from './kinds.ts'
import type { MutableCollections } from './state.ts'
import type { Usage } from './usage.ts'

/** Valid inside the callback only. */
export interface Transaction {
  /** Replaces the record with the same key. Throws `BAD_REQUEST` if a limit of record-bounds.ts is exceeded. */
  put<K extends RecordKind>(kind: K, record: RecordOf<K>): void
  remove(kind: RecordKind, key: Key): void
  /** Returns a number from 1 that is never reused: `tx.nextId('channel')`. */
  nextId(counter: IdCounter): number
  /** Builds the events at once from the current state; delivers them after the commit. */
  publish(publication: Publication): void
  /** Runs `act` after the commit and before any other code. For effects outside of records, such as closing queues. */
  onCommit(act: () => void): void
}

type IdCounter =
  | 'user'
  | 'group'
  | 'channel'
  | 'channelFolder'
  | 'defaultChannelGroup'
  | 'recipient'
  | 'apiKey'
  | 'presence'
  | 'realmEmoji'
  | 'linkifier'
  | 'playground'
  | 'realmDomain'
  | 'profileField'
  | 'draft'
  | 'savedSnippet'
  | 'scheduledMessage'
  | 'submessage'
  | 'botCall'
  | 'clientDevice'
  | 'invitation'
  | 'realmExport'
  | 'upload'

interface TransactionOptions {
  store: ChatStore
  collections: MutableCollections
  usage: Usage
  events: EventHub
}

export type RealmTransaction = <T>(act: (tx: Transaction) => T) => T

export function createRealmTransaction({ store, collections, usage, events }: TransactionOptions): RealmTransaction {
  let isChanging = false

  return (act) => {
    if (isChanging) throw new Error('A change within a change')
    assertAuthorized()
    isChanging = true
    const undo: (() => void)[] = []
    const later: (() => void)[] = []
    const batch = events.begin()
    const set = <K extends RecordKind>(kind: K, key: Key, record: RecordOf<K> | undefined): RecordOf<K> | undefined => {
      const before = collections[kind].set(key, record)
      undo.push(() => collections[kind].set(key, before))
      return before
    }
    const tx: Transaction = {
      put(kind, record) {
        const key = (KINDS[kind] as (record: unknown) => Key)(record)
        store.things.put(kind, String(key), JSON.stringify(record))
        const before = set(kind, key, record)
        usage.expectWithin(kind, before, record)
      },
      remove(kind, key) {
        store.things.remove(kind, String(key))
        set(kind, key, undefined)
      },
      nextId(counter) {
        const id = store.things.counter(`id ${counter}`) + 1
        store.things.setCounter(`id ${counter}`, id)
        return id
      },
      publish: (publication) => batch.add(publication),
      onCommit: (action) => void later.push(action),
    }
    try {
      const result = store.transaction(() => act(tx))
      batch.deliver()
      for (const action of later) action()
      return result
    } catch (error) {
      for (const revert of undo.reverse()) revert()
      throw error
    } finally {
      isChanging = false
    }
  }
}
