/** Users: roles, tags, passphrases, and who may manage whom. Contract sections 3.3, 4.3, 7.3 to 7.5. */

import { CofferError } from '../../base/error.ts'
import { type Context, damaged } from './context.ts'
import type { Namespace } from './identifiers.ts'
import { generatedId, namespaceOf, userPrefix } from './identifiers.ts'
import type { Namespaces } from './namespaces.ts'
import { digestPassphrase, type PassphraseDigest } from './passphrase.ts'
import type { Caller, Role } from './roles.ts'
import { SortedIds } from './sorted-ids.ts'
import { decodeUser, encodeUser, type User } from './user-record.ts'

export interface NewUser {
  realName: string
  role: Role
  passphrase: Uint8Array
}

interface Held {
  user: User
  version: number
  /** The same object as long as his passphrase is the same. */
  caller: Caller
}

export class Users {
  readonly #context: Context
  readonly #namespaces: Namespaces
  readonly #users = new Map<string, Held>()
  readonly #ids: SortedIds
  #listVersion: number

  constructor(context: Context, namespaces: Namespaces) {
    this.#context = context
    this.#namespaces = namespaces
    for (const value of context.records.list('users')) {
      const user = decodeUser(value)
      this.#users.set(user.id, { user, version: context.nextVersion(), caller: callerOf(user) })
    }
    this.#ids = new SortedIds(this.#users.keys())
    this.#listVersion = context.nextVersion()
  }

  /** Throws `storage` when the user's record is damaged. */
  find(id: string): User | undefined {
    const held = this.#users.get(id)
    if (held === undefined && this.#context.records.isDamaged('users', id)) throw damaged('user')
    return held?.user
  }

  /** Whoever has shown the passphrase of a user. */
  caller(id: string): Caller | null {
    return this.#users.get(id)?.caller ?? null
  }

  /** False once he was deleted, even if another one of his name was made, or has another passphrase than he came with. */
  isCurrent(caller: Caller): boolean {
    return this.#users.get(caller.userId)?.caller === caller
  }

  /** Throws `notFound`. */
  get(id: string): User {
    const user = this.find(id)
    if (user === undefined) throw new CofferError('notFound', 'No such user')
    return user
  }

  /** The users a caller may see: all for a root user, else those of the own namespace. */
  list(namespace: Namespace): string[] {
    return this.#ids.startingWith(userPrefix(namespace))
  }

  version(id: string): string | null {
    const held = this.#users.get(id)
    return held === undefined ? null : this.#context.versionText(held.version)
  }

  get listVersion(): string {
    return this.#context.versionText(this.#listVersion)
  }

  /** Reading a user or his tags. Throws `forbidden`. */
  authorizeRead(caller: Caller, id: string): void {
    if (caller.role !== 'Administrator') authorizeSelf(caller, id)
    else if (caller.namespace !== '' && caller.namespace !== namespaceOf(id)) throw otherNamespace()
  }

  /** Creating, deleting or changing a user: a namespace that exists is managed from inside only. Throws `forbidden`. */
  authorizeChange(caller: Caller, id: string): void {
    const namespace = namespaceOf(id)
    if (caller.role !== 'Administrator') authorizeSelf(caller, id)
    else if (caller.namespace === namespace) return
    else if (caller.namespace !== '' || this.#namespaces.exists(namespace)) throw otherNamespace()
  }

  /** Throws `forbidden` (namespace), `conflict` (id taken). */
  async create(caller: Caller, id: string, { realName, role, passphrase }: NewUser): Promise<void> {
    const { pool, random, passphraseCost, log } = this.#context
    this.#assertCreatable(caller, id)
    const digest = await digestPassphrase(passphrase, passphraseCost, pool, random)
    this.#assertCreatable(caller, id)
    this.#put({ id, realName, role, tags: [], passphrase: digest })
    this.#ids.insert(id)
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
  }

  /** Also after a derivation: namespaces come and go, and a lock ends everything. */
  #assertChangeable(caller: Caller, id: string): void {
    this.#context.assertOpen()
    if (!this.#namespaces.exists(caller.namespace)) throw new CofferError('forbidden', 'Your namespace does not exist')
    this.authorizeChange(caller, id)
  }

  remove(caller: Caller, id: string): void {
    this.get(id)
    if (caller.userId === id) throw new CofferError('invalid', 'You cannot delete your own account')
    this.#context.records.commit([{ collection: 'users', name: id, value: null }])
    this.#users.delete(id)
    this.#ids.remove(id)
    this.#listVersion = this.#context.nextVersion()
    this.#context.log.info('users', `removed ${id} by ${caller.userId}`)
  }

  async setPassphrase(caller: Caller, id: string, passphrase: Uint8Array): Promise<void> {
    const { pool, random, passphraseCost, log } = this.#context
    this.get(id)
    const digest = await digestPassphrase(passphrase, passphraseCost, pool, random)
    this.#assertChangeable(caller, id)
    this.#put({ ...this.get(id), passphrase: digest })
    log.info('users', `changed the passphrase of ${id} by ${caller.userId}`)
  }

  /** The digest of the same passphrase in another form. False when it is not `former` any more. Throws `busy`, `storage`. */
  renewDigest(id: string, former: PassphraseDigest, passphrase: PassphraseDigest): boolean {
    const user = this.find(id)
    if (user?.passphrase !== former) return false
    this.#put({ ...user, passphrase }, this.#users.get(id)!.caller)
    return true
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
  addTag(caller: Caller, id: string, tag: string): boolean {
    const user = this.get(id)
    if (user.role !== 'Operator') throw new CofferError('invalid', 'Only Operators have tags')
    if (user.tags.includes(tag)) return false
    this.#put({ ...user, tags: [...user.tags, tag].sort() })
    this.#context.log.info('users', `added tag ${tag} to ${id} by ${caller.userId}`)
    return true
  }

  /** Throws `notFound` for a missing user or tag. */
  removeTag(caller: Caller, id: string, tag: string): void {
    const user = this.get(id)
    if (!user.tags.includes(tag)) throw new CofferError('notFound', 'The user does not have this tag')
    this.#put({ ...user, tags: user.tags.filter((other) => other !== tag) })
    this.#context.log.info('users', `removed tag ${tag} from ${id} by ${caller.userId}`)
  }

  /** `caller` where a passphrase stays that is not stored as it was. */
  #put(user: User, caller?: Caller): void {
    const former = this.#users.get(user.id)
    const isSame = former?.user.passphrase === user.passphrase
    this.#context.records.commit([{ collection: 'users', name: user.id, value: encodeUser(user) }])
    const version = this.#context.nextVersion()
    this.#users.set(user.id, { user, version, caller: caller ?? (isSame ? former.caller : callerOf(user)) })
    this.#listVersion = this.#context.nextVersion()
  }
}

const callerOf = ({ id, role }: User): Caller => ({ userId: id, namespace: namespaceOf(id), role })

const otherNamespace = (): CofferError =>
  new CofferError('forbidden', "Only users with role Administrator in the user's namespace may do this")

function authorizeSelf(caller: Caller, id: string): void {
  if (caller.userId !== id)
    throw new CofferError('forbidden', 'Only users with role Administrator may do this to another account')
}
