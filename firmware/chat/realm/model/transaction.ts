/**
 * One change of the realm: checked, written, seen in memory and published in one turn of the loop, or not at all. What a
 * turn puts is in memory at once, for the checks that follow in it; when it throws, or the disk refuses, all is as before.
 */

import { assertAuthorized } from '../../../base/request-authorization.ts'
import type { EventHub, Publication } from '../../events/hub.ts'
import type { ChatStore } from '../../store/store.ts'
import type { Key } from './collection.ts'
import { KINDS, type RecordKind, type RecordOf } from './kinds.ts'
import type { MutableCollections } from './state.ts'
import type { Usage } from './usage.ts'

/** What `change` of realm.ts gives to whoever makes one. Not to be kept. */
export interface Transaction {
  /** In the place of the record with the same key, where there is one. Throws `BAD_REQUEST` for more than bounds.ts allows. */
  put<K extends RecordKind>(kind: K, record: RecordOf<K>): void
  remove(kind: RecordKind, key: Key): void
  /** A number that was never given before and never will be, from 1: `turn.nextId('channel')`. */
  nextId(counter: IdCounter): number
  /** Events are made at once, from what is true now, and reach the queues once the change is on disk. */
  publish(publication: Publication): void
  /** Called once the change is on disk, before anything else happens: for what is not a record, such as ending queues. */
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
