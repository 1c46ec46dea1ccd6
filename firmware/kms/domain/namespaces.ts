/** Namespaces are created empty and deleted with all their keys; their users stay. Contract sections 3.3 and 7.3. */

import { setTimeout as wait } from 'node:timers/promises'
import { createBatchSize, threadMs } from '../../base/batch-size.ts'
import { CofferError } from '../../base/error.ts'
import { runDetached } from '../../base/request-authorization.ts'
import type { StoredRecord } from '../../store/store.ts'
import type { RecordChange } from './collections.ts'
import { type Context, damaged } from './context.ts'
import type { Namespace } from './identifiers.ts'
import type { KeyEntry } from './key-index.ts'
import type { Keys } from './keys.ts'
import { quotaRemoval } from './namespace-quotas.ts'
import type { Caller } from './roles.ts'
import { SortedIds } from './sorted-ids.ts'

/** `doomed`: pending deletion. The namespace no longer exists for clients, but its name cannot be used again while keys remain. */
export type NamespaceState = 'present' | 'doomed' | 'gone'

const PAUSE_MS = 10 // between removals, so that requests are served
/** Keys per change, which bounds the time without service. */
const REMOVED = { start: 10, max: 100, targetMs: 8 }
const RETRY_MS = 60_000 // after a disk failure
const BUSY_MS = 2000 // while other nodes do not answer
const ABANDONED_MS = 60_000 // the node that deletes it is then assumed to have stopped

export class Namespaces {
  readonly #context: Context
  readonly #states = new Map<Namespace, Exclude<NamespaceState, 'gone'>>()
  readonly #ids = new SortedIds()
  readonly #listeners: ((namespace: Namespace, became: NamespaceState) => void)[] = []
  readonly #removing = new Set<Namespace>()

  constructor(context: Context) {
    this.#context = context
    context.records.follow('namespaces', (before, after, slot) => this.#applied(before, after, slot))
  }

  #applied(before: StoredRecord | null, after: StoredRecord | null, slot: bigint): void {
    const { value } = after ?? before ?? {}
    const id = value === undefined ? this.#idAt(slot) : decodeNamespace(value).id
    if (id === undefined) return
    const state = after === null ? 'gone' : decodeNamespace(after.value).state
    if (this.#states.get(id) === 'present') this.#ids.remove(id)
    if (state === 'gone') this.#states.delete(id)
    else this.#states.set(id, state)
    if (state === 'present') this.#ids.insert(id)
    for (const listener of this.#listeners) listener(id, state)
  }

  #idAt(slot: bigint): Namespace | undefined {
    return this.#states.keys().find((id) => this.#context.records.slotOf('namespaces', id) === slot)
  }

  /** Calls `listener` for each created or deleted namespace, in the turn of the change. */
  onChange(listener: (namespace: Namespace, became: NamespaceState) => void): void {
    this.#listeners.push(listener)
  }

  /** Root always exists. Throws `storage` if the namespace's record is damaged. */
  exists(id: Namespace): boolean {
    if (id === '' || this.#states.get(id) === 'present') return true
    if (!this.#states.has(id) && this.#context.records.isDamaged('namespaces', id)) throw damaged('namespace')
    return false
  }

  assertExists(id: Namespace): void {
    if (!this.exists(id)) throw new CofferError('notFound', 'No such namespace')
  }

  list(): string[] {
    return this.#ids.startingWith('')
  }

  doomed(): Namespace[] {
    return [...this.#states].filter(([, state]) => state === 'doomed').map(([id]) => id)
  }

  /** Throws `invalid` if the namespace exists (400, as in the reference), `busy` if one of this name is pending deletion. */
  async create(caller: Caller, id: Namespace): Promise<void> {
    await this.#context.records.change(() => {
      if (this.exists(id)) throw new CofferError('invalid', 'The namespace already exists')
      if (this.#states.has(id))
        throw new CofferError('busy', 'The former namespace of this name is still being deleted, try again')
      return { changes: [{ collection: 'namespaces', name: id, value: encodeNamespace(id) }], result: undefined }
    })
    this.#context.log.info('namespaces', `created ${id} by ${caller.userId}`)
  }

  /** Deletes few keys at once. With many keys the namespace disappears at once and the keys are deleted in small pieces. */
  async remove(caller: Caller, id: Namespace, keys: Keys): Promise<void> {
    const isGone = await this.#context.records.change(() => {
      this.assertExists(id)
      const removal = keys.removalOfAll(id)
      const value = removal === null ? encodeNamespace(id, 'doomed') : null
      const changes: RecordChange[] = [
        { collection: 'namespaces', name: id, value },
        ...quotaRemoval(this.#context, id),
      ]
      return { changes: [...(removal ?? []), ...changes], result: value === null }
    })
    this.#context.log.info('namespaces', `removed ${id} by ${caller.userId}`)
    if (!isGone) this.#removeRest(id, keys)
  }

  /** Continues deletions from before the last lock, and those that another node has not finished in time. */
  goOnRemoving(keys: Keys): void {
    for (const id of this.doomed()) this.#removeRest(id, keys)
    this.onChange((id, became) => {
      if (became !== 'doomed') return
      const takeOver = (): void => {
        if (this.#states.get(id) === 'doomed') this.#removeRest(id, keys)
      }
      runDetached(() => void setTimeout(takeOver, ABANDONED_MS).unref())
    })
  }

  /** Runs detached: the request that began the deletion is over. */
  #removeRest(id: Namespace, keys: Keys): void {
    if (this.#removing.has(id)) return
    this.#removing.add(id)
    runDetached(() => void this.#removePieces(id, keys).finally(() => this.#removing.delete(id)))
  }

  async #removePieces(id: Namespace, keys: Keys): Promise<void> {
    const { records, log } = this.#context
    let left = await keys.leftOfDoomed(id)
    const size = createBatchSize(REMOVED)
    for (let piece = take(left, size.value); ; ) {
      try {
        const isLast = piece.length === 0
        let beganMs = 0
        await records.change(() => {
          beganMs = threadMs()
          return { changes: this.#removalOf(id, piece, keys), result: undefined, isBulk: true }
        })
        if (isLast && !keys.hasLeftOfDoomed(id)) break
        if (isLast) left = await keys.leftOfDoomed(id) // restored and deleted again meanwhile
        size.took(threadMs() - beganMs) // includes the other writes of the transaction
        piece = take(left, size.value)
        await wait(PAUSE_MS, undefined, { ref: false })
      } catch (error) {
        if (!(error instanceof CofferError)) throw error
        if (error.code === 'unavailable') return // continues after the next unlock
        if (error.code === 'busy') {
          await wait(BUSY_MS, undefined, { ref: false })
          continue
        }
        log.error('namespaces', `namespace ${id}: cannot delete remaining records, will retry: ${error.message}`)
        await wait(RETRY_MS, undefined, { ref: false })
      }
    }
    log.info('namespaces', `namespace ${id}: deleted the remaining records`)
  }

  /** An empty piece removes the namespace itself. Another node may have done so already, and the namespace may exist again. */
  #removalOf(id: Namespace, piece: readonly KeyEntry[], keys: Keys): readonly RecordChange[] {
    if (this.#states.get(id) !== 'doomed') return []
    if (piece.length === 0 && keys.hasLeftOfDoomed(id)) return []
    if (piece.length === 0) return [{ collection: 'namespaces', name: id, value: null }]
    return keys.removalOf(piece.filter((entry) => keys.isLeftOfDoomed(entry)))
  }
}

function take<T>(from: Iterator<T>, count: number): T[] {
  const taken: T[] = []
  while (taken.length < count) {
    const next = from.next()
    if (next.done) break
    taken.push(next.value)
  }
  return taken
}

/** Suffix of the stored id of a namespace pending deletion. No id has a zero byte. */
const DOOMED = '\0doomed'

const encodeNamespace = (id: Namespace, state: 'present' | 'doomed' = 'present'): Uint8Array =>
  new TextEncoder().encode(state === 'doomed' ? id + DOOMED : id)

export function decodeNamespace(value: Uint8Array): { id: Namespace; state: 'present' | 'doomed' } {
  const text = new TextDecoder().decode(value)
  return text.endsWith(DOOMED) ? { id: text.slice(0, -DOOMED.length), state: 'doomed' } : { id: text, state: 'present' }
}
