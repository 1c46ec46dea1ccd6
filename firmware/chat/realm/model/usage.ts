/** Counts records per account and in total, and checks them against record-bounds.ts. */

import { defined } from '../../../base/defined.ts'
import { badRequest } from '../../base/error.ts'
import type { MutableCollection, RecordCollection } from './collection.ts'
import type { RecordKind, RecordOf } from './kinds.ts'
import { payerOfId } from './owners.ts'
import { BOUNDS, type Bound } from './record-bounds.ts'
import type { User } from './records.ts'
import { atLeast, ROLES } from './roles.ts'

export interface Usage {
  /** Throws `BAD_REQUEST` if a limit is exceeded. `after` must already be in the collection in place of `before`. */
  expectWithin<K extends RecordKind>(kind: K, before: RecordOf<K> | undefined, after: RecordOf<K>): void
  /** True if the account may have one more record. For records that the service creates itself and skips at the limit. */
  hasRoom(kind: RecordKind, account: number): boolean
}

interface Amount {
  count: number
  size: number
}

export function createUsage(
  collections: { readonly [K in RecordKind]: MutableCollection<RecordOf<K>> },
  botsOf: (owner: number) => Iterable<number>,
): Usage {
  const counters = Object.fromEntries(
    Object.entries(BOUNDS).map(([kind, bound]) => [
      kind,
      'why' in bound
        ? null
        : createCounter(collections[kind as RecordKind] as MutableCollection<unknown>, bound as Bound<unknown>),
    ]),
  ) as Record<RecordKind, Counter | null>
  return {
    expectWithin(kind, before, after) {
      counters[kind]?.expectWithin(before, after, collections.user, botsOf)
    },
    hasRoom: (kind, account) => counters[kind]?.hasRoom(account, collections.user, botsOf) ?? true,
  }
}

type BotsOf = (owner: number) => Iterable<number>

interface Counter {
  expectWithin(before: unknown, after: unknown, users: RecordCollection<User>, botsOf: BotsOf): void
  hasRoom(account: number, users: RecordCollection<User>, botsOf: BotsOf): boolean
}

function createCounter(collection: MutableCollection<unknown>, bound: Bound<unknown>): Counter {
  const {
    size,
    organization: countMax = Number.POSITIVE_INFINITY,
    account: ownCountMax = Number.POSITIVE_INFINITY,
  } = bound
  const total: Amount = { count: 0, size: 0 }
  const byAccount = new Map<number, Amount>()
  const accountOf = (record: unknown): number | null => bound.accountOf?.(record) ?? null
  const sizeOf = (record: unknown): number => size?.sizeOf(record) ?? 0

  function add(record: unknown, sign: 1 | -1): void {
    const change = { count: sign, size: sign * sizeOf(record) }
    addTo(total, change)
    const account = accountOf(record)
    if (account === null) return
    const own = byAccount.get(account) ?? { count: 0, size: 0 }
    addTo(own, change)
    if (own.count === 0) byAccount.delete(account)
    else byAccount.set(account, own)
  }

  collection.listen((before, after) => {
    if (before !== undefined) add(before, -1)
    if (after !== undefined) add(after, 1)
  })

  function amountOf(account: number, users: RecordCollection<User>, botsOf: BotsOf): Amount {
    const owner = payerOfId(users, account)
    const sum: Amount = { count: 0, size: 0 }
    for (const id of [owner, ...botsOf(owner)]) addTo(sum, byAccount.get(id) ?? NOTHING)
    return sum
  }

  const isBound = (account: number, users: RecordCollection<User>): boolean => {
    const owner = users.get(payerOfId(users, account))
    if (owner === undefined || owner.isSystemBot) return false
    return bound.isForAdministrators !== false || !atLeast(owner.role, ROLES.administrator)
  }

  return {
    expectWithin(before, after, users, botsOf) {
      const account = accountOf(after)
      const isNew = before === undefined
      const isAnothers = isNew || accountOf(before) !== account
      const grows = sizeOf(after) > (isNew ? 0 : sizeOf(before))
      if (isNew && total.count > countMax)
        throw tooMany(countMax, `${bound.ofOrganization ?? bound.of} in the organization`)
      if (size !== undefined && grows && total.size > size.organization)
        throw tooMany(size.organization, `${size.of} in the organization`)
      if (account === null || !isBound(account, users)) return
      const sizeMax = size?.account ?? Number.POSITIVE_INFINITY
      const amount = amountOf(account, users, botsOf)
      if (isAnothers && amount.count > ownCountMax) throw tooMany(ownCountMax, bound.of)
      if ((isAnothers || grows) && amount.size > sizeMax) throw tooMany(sizeMax, defined(size).of)
    },
    hasRoom(account, users, botsOf) {
      if (total.count >= countMax) return false
      return !isBound(account, users) || amountOf(account, users, botsOf).count < ownCountMax
    },
  }
}

const NOTHING: Amount = { count: 0, size: 0 }

function addTo(amount: Amount, { count, size }: Amount): void {
  amount.count += count
  amount.size += size
}

const tooMany = (max: number, of: string) => badRequest(`More than ${max} ${of}`)
