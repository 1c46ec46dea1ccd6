/** Namespaces: created empty, deleted with all their keys; their users remain. Contract sections 3.3 and 7.3. */

import { CofferError } from '../../base/error.ts'
import { type Context, damaged } from './context.ts'
import type { Namespace } from './identifiers.ts'
import type { Keys } from './keys.ts'
import type { Caller } from './roles.ts'
import { SortedIds } from './sorted-ids.ts'

export class Namespaces {
  readonly #context: Context
  readonly #known: Set<Namespace>
  readonly #ids: SortedIds

  constructor(context: Context) {
    this.#context = context
    const decoder = new TextDecoder()
    this.#known = new Set(Array.from(context.records.list('namespaces'), (value) => decoder.decode(value)))
    this.#ids = new SortedIds(this.#known)
  }

  /** Root always exists. Throws `storage` when the namespace's record is damaged. */
  exists(id: Namespace): boolean {
    if (id === '' || this.#known.has(id)) return true
    if (this.#context.records.isDamaged('namespaces', id)) throw damaged('namespace')
    return false
  }

  /** Throws `notFound`. */
  assertExists(id: Namespace): void {
    if (!this.exists(id)) throw new CofferError('notFound', 'No such namespace')
  }

  list(): string[] {
    return this.#ids.startingWith('')
  }

  /** Throws `invalid` when it exists: 400, as clients of the reference expect. */
  create(caller: Caller, id: Namespace): void {
    if (this.exists(id)) throw new CofferError('invalid', 'The namespace already exists')
    const value = new TextEncoder().encode(id)
    this.#context.records.commit([{ collection: 'namespaces', name: id, value }])
    this.#known.add(id)
    this.#ids.insert(id)
    this.#context.log.info('namespaces', `created ${id} by ${caller.userId}`)
  }

  remove(caller: Caller, id: Namespace, keys: Keys): void {
    this.assertExists(id)
    keys.removeAll(id, [{ collection: 'namespaces', name: id, value: null }])
    this.#known.delete(id)
    this.#ids.remove(id)
    this.#context.log.info('namespaces', `removed ${id} by ${caller.userId}`)
  }
}
