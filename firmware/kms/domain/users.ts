/** Users: roles, tags, passphrases, and who may manage whom. Contract sections 3.3, 4.3, 7.3 to 7.5. */

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
import { encodeUser, type User } from './user-record.ts'
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

  /** Throws `storage` when the user's record is damaged. */
  find(id: string): User | undefined {
    const held = this.#index.get(id)
    if (held === undefined && this.#context.records.isDamaged('users', id)) throw damaged('user')
    return held?.user
  }

  /** Whoever has shown the passphrase of a user. */
  caller(id: string): Caller | null {
    return this.#index.get(id)?.caller ?? null
  }

  /** False once he was deleted, even if another one of his name was made, or has another passphrase than he came with. */
  isCurrent(caller: Caller): boolean {
    return this.#index.get(caller.userId)?.caller === caller
  }

  /** Throws `notFound`. */
  get(id: string): User {
    const user = this.find(id)
    if (user === undefined) throw new CofferError('notFound', 'No such user')
    return user
  }

  /** The users a caller may see: all for a root user, else those of the own namespace. */
  list(namespace: Namespace): string[] {
    return this.#index.ids.startingWith(userPrefix(namespace))
  }

  /** Those of `list` after the id `after` (`''`: from the first one), at most `limit`. `next` is the id to go on after while there are more. */
  page(namespace: Namespace, after: string, limit: number): { users: User[]; next?: string } {
    const ids = this.#index.ids.after(after, userPrefix(namespace), limit + 1)
    const users = ids.slice(0, limit).map((id) => this.get(id))
    return ids.length > limit ? { users, next: ids[limit - 1]! } : { users }
  }

  /** How many `list` shows. */
  size(namespace: Namespace): number {
    return namespace === '' ? this.#index.size : this.list(namespace).length
  }

  version(id: string): string | null {
    const held = this.#index.get(id)
    return held === undefined ? null : this.#context.versionText(held.version)
  }

  /** The version of the list of users that callers of a namespace see. */
  listVersion(namespace: Namespace): string {
    return this.#context.versionText(this.#index.listVersion(namespace))
  }

  /** Reading a user or his tags. Throws `forbidden`. */
  authorizeRead(caller: Caller, id: string): void {
    authorizeRead(caller, id)
  }

  /** Creating, deleting or changing a user. Throws `forbidden`. */
  authorizeChange(caller: Caller, id: string): void {
    authorizeChange(caller, id, this.#namespaces)
  }

  /** Throws `forbidden` (namespace), `conflict` (id taken), `full` (quota of the namespace). */
  async create(caller: Caller, id: string, { realName, role, passphrase }: NewUser): Promise<void> {
    const { pool, random, passphraseCost, log } = this.#context
    this.#assertCreatable(caller, id)
    const digest = await digestPassphrase(passphrase, passphraseCost, pool, random)
    await this.#context.records.change(() => {
      this.#assertCreatable(caller, id)
      return putting({ id, realName, role, tags: [], passphrase: digest })
    })
    log.info('users', `added ${id} (${realName}) as ${role} by ${caller.userId}`)
  }

  /** Creates a user under a generated id in `namespace` and returns the full id. */
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

  /** Also after a derivation: namespaces come and go, and a lock ends everything. */
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
      return putting({ ...this.get(id), passphrase: digest })
    })
    log.info('users', `changed the passphrase of ${id} by ${caller.userId}`)
  }

  /**
   * The digest of the same passphrase in another form, which is returned as it is held. Null when it is not `former` any more.
   * Throws `busy`, `storage`.
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

  /** Only Operators have tags. Throws `notFound`. */
  tags(id: string): readonly string[] {
    const { role, tags } = this.get(id)
    if (role !== 'Operator') throw new CofferError('notFound', 'The user is not an Operator and has no tags')
    return tags
  }

  /** What decides over the use of restricted keys. Throws `forbidden` when the caller was deleted since he came. */
  tagsOfCaller({ userId }: Caller): readonly string[] {
    const user = this.find(userId)
    if (user === undefined) throw new CofferError('forbidden', 'Your account was deleted')
    return user.tags
  }

  /** Returns false when the tag was there already. */
  async addTag(caller: Caller, id: string, tag: string): Promise<boolean> {
    const isAdded = await this.#context.records.change(() => {
      const user = this.get(id)
      if (user.role !== 'Operator') throw new CofferError('invalid', 'Only Operators have tags')
      if (user.tags.includes(tag)) return { changes: [], result: false }
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
