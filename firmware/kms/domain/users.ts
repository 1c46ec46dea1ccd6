/** Users: roles, tags, passphrases and rights over other users. Contract sections 3.3, 4.3, 7.3 to 7.5. */

import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import type { Decision } from '../../store/store.ts'
import type { Collection } from './collections.ts'
import { type Context, damaged } from './context.ts'
import type { Namespace } from './identifiers.ts'
import { generatedId, namespaceOf, userPrefix } from './identifiers.ts'
import type { NamespaceQuotas } from './namespace-quotas.ts'
import type { Namespaces } from './namespaces.ts'
import { digestPassphrase, type PassphraseDigest } from './passphrase.ts'
import type { Caller, Role } from './roles.ts'
import { isSameDigest, UserIndex } from './user-index.ts'
import { encodeUser, USER_TAGS_MAX, type User } from './user-record.ts'
import { authorizeChange, authorizeRead } from './user-rights.ts'

export interface NewUser {
  realName: string
  role: Role
  passphrase: Uint8Array
}

export class Users {
  readonly #context: Context
  readonly #namespaces: Namespaces
  readonly #quotas: NamespaceQuotas
  readonly #index: UserIndex

  constructor(context: Context, namespaces: Namespaces, quotas: NamespaceQuotas) {
    this.#context = context
    this.#namespaces = namespaces
    this.#quotas = quotas
    this.#index = new UserIndex(context.records)
  }

  /** Throws `storage` if the user's record is damaged. */
  find(id: string): User | undefined {
    const held = this.#index.get(id)
    if (held === undefined && this.#context.records.isDamaged('users', id)) throw damaged('user')
    return held?.user
  }

  /** Returns the identity of an authenticated user. */
  caller(id: string): Caller | null {
    return this.#index.get(id)?.caller ?? null
  }

  /** False once the user is deleted, even if a user of the same name was created, or has a new passphrase. */
  isCurrent(caller: Caller): boolean {
    return this.#index.get(caller.userId)?.caller === caller
  }

  get(id: string): User {
    const user = this.find(id)
    if (user === undefined) throw new CofferError('notFound', 'No such user')
    return user
  }

  /** Ids of all users for a root user, otherwise of those in the caller's namespace. */
  list(namespace: Namespace): string[] {
    return this.#index.ids.startingWith(userPrefix(namespace))
  }

  /**
   * At most `limit` users of `list` after the id `after`; `''` starts at the first one. `next` is the id to continue after if there are
   * more.
   */
  page(namespace: Namespace, after: string, limit: number): { users: User[]; next?: string } {
    const ids = this.#index.ids.after(after, userPrefix(namespace), limit + 1)
    const users = ids.slice(0, limit).map((id) => this.get(id))
    return ids.length > limit ? { users, next: defined(ids[limit - 1]) } : { users }
  }

  size(namespace: Namespace): number {
    return namespace === '' ? this.#index.size : this.list(namespace).length
  }

  accessKeyCount(namespace: Namespace): number {
    return this.#index.accessKeyCount(namespace)
  }

  version(id: string): string | null {
    const held = this.#index.get(id)
    return held === undefined ? null : this.#context.versionText(held.version)
  }

  listVersion(namespace: Namespace): string {
    return this.#context.versionText(this.#index.listVersion(namespace))
  }

  /** Throws `forbidden`. */
  authorizeRead(caller: Caller, id: string): void {
    authorizeRead(caller, id)
  }

  /** Throws `forbidden`. */
  authorizeChange(caller: Caller, id: string): void {
    authorizeChange(caller, id, this.#namespaces)
  }

  /** Throws `forbidden` (namespace), `conflict` (id exists), `full` (quota of the namespace). */
  async create(caller: Caller, id: string, { realName, role, passphrase }: NewUser): Promise<void> {
    const { pool, random, passphraseCost, log } = this.#context
    this.#assertCreatable(caller, id)
    const digest = await digestPassphrase(passphrase, passphraseCost, pool, random)
    await this.#context.records.change(() => {
      this.#assertCreatable(caller, id)
      return putting({ id, realName, role, tags: [], passphrase: digest, accessKeys: [], revocations: [] })
    })
    log.info('users', `added ${id} (${realName}) as ${role} by ${caller.userId}`)
  }

  async createWithGeneratedId(caller: Caller, namespace: Namespace, user: NewUser): Promise<string> {
    const id = userPrefix(namespace) + generatedId(this.#context.random)
    await this.create(caller, id, user)
    return id
  }

  #assertCreatable(caller: Caller, id: string): void {
    this.#assertChangeable(caller, id)
    if (this.find(id) !== undefined) throw new CofferError('conflict', 'The user already exists')
    const namespace = namespaceOf(id)
    this.#quotas.assertRoom(namespace, 'users', this.size(namespace))
  }

  /** Checked again after a derivation: the namespace may have been created or deleted, or the appliance locked. */
  #assertChangeable(caller: Caller, id: string): void {
    this.#context.assertOpen()
    if (!this.#namespaces.exists(caller.namespace)) throw new CofferError('forbidden', 'Your namespace does not exist')
    this.authorizeChange(caller, id)
  }

  async remove(caller: Caller, id: string): Promise<void> {
    await this.#context.records.change(() => {
      this.get(id)
      if (caller.userId === id) throw new CofferError('invalid', 'You cannot delete your own account')
      return { changes: [{ collection: 'users', name: id, value: null }], result: undefined }
    })
    this.#context.log.info('users', `removed ${id} by ${caller.userId}`)
  }

  async setPassphrase(caller: Caller, id: string, passphrase: Uint8Array): Promise<void> {
    const { pool, random, passphraseCost, log, records } = this.#context
    this.get(id)
    const digest = await digestPassphrase(passphrase, passphraseCost, pool, random)
    await records.change(() => {
      this.#assertChangeable(caller, id)
      return putting({ ...this.get(id), passphrase: digest, revocations: [] }) // it ends all login tokens
    })
    log.info('users', `changed the passphrase of ${id} by ${caller.userId}`)
  }

  /**
   * Replaces the digest by another one of the same passphrase and returns the stored object. Returns null if the digest is no longer
   * `former`. Throws `busy`, `storage`.
   */
  async renewDigest(
    id: string,
    former: PassphraseDigest,
    passphrase: PassphraseDigest,
  ): Promise<PassphraseDigest | null> {
    await this.#context.records.change(() => {
      const user = this.find(id)
      return user?.passphrase === former ? putting({ ...user, passphrase }) : { changes: [], result: undefined }
    })
    const held = this.find(id)?.passphrase
    return held !== undefined && isSameDigest(held, passphrase) ? held : null
  }

  /** Stores what `decide` makes of the user; null changes nothing. Throws `notFound`. */
  async revise(id: string, decide: (user: User) => User | null): Promise<void> {
    await this.#context.records.change(() => {
      this.#context.assertOpen()
      const revised = decide(this.get(id))
      return revised === null ? { changes: [], result: undefined } : putting(revised)
    })
  }

  /** Returns undefined for an unknown access key. */
  ownerOf(accessKeyId: string): User | undefined {
    return this.#index.ownerOf(accessKeyId)
  }

  /** Throws `notFound`, also for users that are not Operators and so have no tags. */
  tags(id: string): readonly string[] {
    const { role, tags } = this.get(id)
    if (role !== 'Operator') throw new CofferError('notFound', 'The user is not an Operator and has no tags')
    return tags
  }

  /** Tags that decide on the use of restricted keys. Throws `forbidden` if the caller was deleted meanwhile. */
  tagsOfCaller({ userId }: Caller): readonly string[] {
    const user = this.find(userId)
    if (user === undefined) throw new CofferError('forbidden', 'Your account was deleted')
    return user.tags
  }

  /** Returns false if the user has the tag already. Throws `invalid` if the user has too many, or is no Operator. */
  async addTag(caller: Caller, id: string, tag: string): Promise<boolean> {
    const isAdded = await this.#context.records.change(() => {
      const user = this.get(id)
      if (user.role !== 'Operator') throw new CofferError('invalid', 'Only Operators have tags')
      if (user.tags.includes(tag)) return { changes: [], result: false }
      if (user.tags.length >= USER_TAGS_MAX)
        throw new CofferError('invalid', `A user may have ${USER_TAGS_MAX} tags: delete one first`)
      return { ...putting({ ...user, tags: [...user.tags, tag].sort() }), result: true }
    })
    if (isAdded) this.#context.log.info('users', `added tag ${tag} to ${id} by ${caller.userId}`)
    return isAdded
  }

  /** Throws `notFound` for a missing user or tag. */
  async removeTag(caller: Caller, id: string, tag: string): Promise<void> {
    await this.#context.records.change(() => {
      const user = this.get(id)
      if (!user.tags.includes(tag)) throw new CofferError('notFound', 'The user does not have this tag')
      return putting({ ...user, tags: user.tags.filter((other) => other !== tag) })
    })
    this.#context.log.info('users', `removed tag ${tag} from ${id} by ${caller.userId}`)
  }
}

const putting = (user: User): Decision<undefined, Collection> => ({
  changes: [{ collection: 'users', name: user.id, value: encodeUser(user) }],
  result: undefined,
})
