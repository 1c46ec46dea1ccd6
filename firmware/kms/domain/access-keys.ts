/** Access keys of users: tokens of the transit wire that do not expire. Contract section 7.9. */

import { base32nopad } from '@scure/base'
import { CofferError } from '../../base/error.ts'
import type { Context } from './context.ts'
import type { Namespace } from './identifiers.ts'
import type { Caller } from './roles.ts'
import type { Tokens } from './tokens.ts'
import type { AccessKey } from './user-record.ts'
import type { Users } from './users.ts'

/** Enough for a key per program of one user; each takes 130 bytes of memory. */
const ACCESS_KEYS_MAX = 16
const PREFIX = 'COFR'
const ID_BYTES = 10

interface NewAccessKey extends AccessKey {
  secret: string
  token: string
}

export class AccessKeys {
  readonly #context: Context
  readonly #users: Users
  readonly #tokens: Tokens

  constructor(context: Context, users: Users, tokens: Tokens) {
    this.#context = context
    this.#users = users
    this.#tokens = tokens
  }

  size(namespace: Namespace): number {
    return this.#users.accessKeyCount(namespace)
  }

  /** Throws `notFound` for an unknown user. */
  list(userId: string): readonly AccessKey[] {
    return this.#users.get(userId).accessKeys
  }

  /** Throws `notFound`. */
  expect(userId: string, id: string): void {
    if (!this.list(userId).some((key) => key.id === id)) throw noSuchKey()
  }

  /** Throws `forbidden` for another user. */
  authorizeCreation(caller: Caller, userId: string): void {
    if (caller.userId !== userId) throw new CofferError('forbidden', 'Users make access keys for themselves only')
  }

  /** Throws `forbidden` for another user, `invalid` if there are too many. */
  async create(caller: Caller, userId: string, name: string): Promise<NewAccessKey> {
    this.authorizeCreation(caller, userId)
    const id = PREFIX + base32nopad.encode(this.#context.random(ID_BYTES))
    const key = { id, name, created: this.#context.nowSeconds() }
    await this.#users.revise(userId, (user) => {
      if (user.accessKeys.length >= ACCESS_KEYS_MAX)
        throw new CofferError('invalid', `A user may have ${ACCESS_KEYS_MAX} access keys: delete one first`)
      return { ...user, accessKeys: [...user.accessKeys, key] }
    })
    this.#context.log.info('users', `created access key ${id} of ${userId}`)
    return { ...key, ...this.#tokens.accessKey(id) }
  }

  /** Throws `notFound` for an unknown user or key. */
  async remove(by: Caller, userId: string, id: string): Promise<void> {
    await this.#users.revise(userId, (user) => {
      const accessKeys = user.accessKeys.filter((key) => key.id !== id)
      if (accessKeys.length === user.accessKeys.length) throw noSuchKey()
      // Tokens that were made with the key have ended, too.
      return { ...user, accessKeys, revocations: user.revocations.filter(({ root }) => root !== id) }
    })
    this.#context.log.info('users', `removed access key ${id} of ${userId} by ${by.userId}`)
  }
}

const noSuchKey = (): CofferError => new CofferError('notFound', 'No such access key')
