/** The index of users, so that requests need not open records. It follows the store's records only. */

import { equalBytes } from '../../crypto/seal.ts'
import type { StoredRecord } from '../../store/store.ts'
import type { Records } from './collections.ts'
import { type Namespace, namespaceOf } from './identifiers.ts'
import { ListVersion } from './list-version.ts'
import type { PassphraseDigest } from './passphrase.ts'
import type { Caller } from './roles.ts'
import { SortedIds } from './sorted-ids.ts'
import { decodeUser, type User } from './user-record.ts'

interface HeldUser {
  readonly user: User
  readonly version: number
  /** Stays the same object until the user's passphrase changes. */
  readonly caller: Caller
}

export class UserIndex {
  readonly #records: Records
  readonly #users = new Map<string, HeldUser>()
  readonly ids = new SortedIds()
  /** User ids by access key. */
  readonly #owners = new Map<string, string>()
  /** Versions of the lists that callers of a namespace see. Root users see all users. */
  readonly #listVersions = new Map<Namespace, ListVersion>([['', new ListVersion()]])
  /** Former entries by replaced record. If a change is undone, the same entry returns. */
  readonly #replaced = new WeakMap<StoredRecord, HeldUser>()

  constructor(records: Records) {
    this.#records = records
    records.follow('users', (before, after, slot) => this.#applied(before, after, slot))
    this.ids.sort()
  }

  get(id: string): HeldUser | undefined {
    return this.#users.get(id)
  }

  ownerOf(accessKeyId: string): User | undefined {
    const owner = this.#owners.get(accessKeyId)
    return owner === undefined ? undefined : this.#users.get(owner)?.user
  }

  accessKeyCount(namespace: Namespace): number {
    if (namespace === '') return this.#owners.size
    return this.#owners.values().reduce((sum, id) => sum + Number(namespaceOf(id) === namespace), 0)
  }

  listVersion(namespace: Namespace): ListVersion {
    return this.#listVersions.get(namespace) ?? new ListVersion()
  }

  get size(): number {
    return this.#users.size
  }

  #applied(before: StoredRecord | null, after: StoredRecord | null, slot: bigint): void {
    const { value } = after ?? before ?? {}
    const id = value === undefined ? this.#idAt(slot) : decodeUser(value).id
    if (id === undefined) return
    const held = this.#users.get(id)
    const next = after === null ? null : (this.#replaced.get(after) ?? nextHeld(held, after))
    if (held !== undefined) {
      this.#toggle(id, held.version)
      if (before !== null) this.#replaced.set(before, held)
    }
    for (const key of held?.user.accessKeys ?? []) this.#owners.delete(key.id)
    for (const key of next?.user.accessKeys ?? []) this.#owners.set(key.id, id)
    if (next === null) {
      this.#users.delete(id)
      this.ids.remove(id)
      return
    }
    this.#users.set(id, next)
    this.#toggle(id, next.version)
    if (held === undefined) this.ids.insert(id)
  }

  #toggle(id: string, version: number): void {
    const namespace = namespaceOf(id)
    this.listVersion('').toggle(id, version)
    if (namespace === '') return
    const list = this.listVersion(namespace)
    list.toggle(id, version)
    if (list.isEmpty) this.#listVersions.delete(namespace)
    else this.#listVersions.set(namespace, list)
  }

  #idAt(slot: bigint): string | undefined {
    return this.#users.keys().find((id) => this.#records.slotOf('users', id) === slot)
  }
}

/** Keeps the caller and the digest object if the passphrase is the same. */
function nextHeld(held: HeldUser | undefined, { value, n }: StoredRecord): HeldUser {
  const user = decodeUser(value)
  if (held === undefined) return { user, version: n, caller: callerOf(user) }
  const former = held.user.passphrase
  if (isSameDigest(former, user.passphrase))
    return { user: { ...user, passphrase: former }, version: n, caller: held.caller }
  const isSame = former.cost === 'hmac' && user.passphrase.isRenewed === true
  return { user, version: n, caller: isSame ? held.caller : callerOf(user) }
}

export const isSameDigest = (a: PassphraseDigest, b: PassphraseDigest): boolean =>
  equalBytes(a.salt, b.salt) && equalBytes(a.digest, b.digest)

const callerOf = ({ id, role }: User): Caller => ({ userId: id, namespace: namespaceOf(id), role })
