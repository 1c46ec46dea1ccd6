/**
 * Deletes messages and the profile of a deactivated account. There may be a hundred thousand messages: batches leave time for other
 * requests, and the next start continues an interrupted deletion. Contract section 3.4.1, level 459.
 */

import { setImmediate } from 'node:timers/promises'
import type { PlacedRow } from '../../../store/messages.ts'
import { removeMessages } from '../../messages/delete.ts'
import { inBatches } from '../../messages/in-batches.ts'
import { userSetting } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import type { Erasure, User } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import { revokeKeys } from '../../objects/keys.ts'
import { clearStatus } from '../../objects/statuses.ts'
import { publishPerson } from '../../objects/user-events.ts'
import { removePassword } from '../../objects/users.ts'
import { placeholderAddress } from '../../permissions/user-addresses.ts'
import { removePicture } from './avatar-pictures.ts'
import { putAddresses } from './change.ts'
import { clearProfile } from './profile-values.ts'

type Erased = Pick<Erasure, 'publicMessages' | 'privateMessages' | 'directMessages' | 'profile'>

/** Within the transaction that deactivates the account and its bots, which then cannot write any more. `erase` does the planned work. */
export function planErasure(realm: Realm, tx: Transaction, user: User, erased: Erased): void {
  if (!Object.values(erased).includes(true)) return
  for (const { id } of [...realm.state.botsOf.get(user.id).values(), user]) {
    const planned = realm.state.erasure.get(id)
    tx.put('erasure', {
      userId: id,
      after: 0,
      publicMessages: erased.publicMessages || planned?.publicMessages === true,
      privateMessages: erased.privateMessages || planned?.privateMessages === true,
      directMessages: erased.directMessages || planned?.directMessages === true,
      profile: erased.profile || planned?.profile === true,
    })
  }
}

/** Completes all planned deletions, bots first. Concurrent calls share the work. */
export async function erase(realm: Realm): Promise<void> {
  for (const { userId } of [...realm.state.erasure.all()]) {
    await setImmediate() // the transaction of the deactivation took a time slice already
    while (!(await inBatches(realm, (tx, count) => erasePart(realm, tx, userId, count)))) {
      // Repeats until everything is deleted.
    }
    realm.store.clearLog()
  }
}

/**
 * Messages of the account read at once. Those with the same location are deleted together, so that their recipients are determined once.
 */
const WINDOW = 500

/** Deletes one batch. Returns true if nothing is left to delete. */
function erasePart(realm: Realm, tx: Transaction, userId: number, count: number): boolean {
  const erasure = realm.state.erasure.get(userId)
  if (erasure === undefined) return true
  const rows = realm.store.messages.oldestBy(userId, erasure.after, WINDOW)
  const meant = rows.filter((row) => isMeant(realm, row, erasure))
  const upTo = meant[0] ?? rows.at(-1)
  if (upTo === undefined) {
    tx.remove('erasure', userId)
    if (erasure.profile) clearAccount(realm, tx, realm.state.user.require(userId))
    return true
  }
  const { recipient, topic } = upTo
  const inOnePlace = meant.filter((row) => row.recipient === recipient && row.topic === topic)
  removeMessages(realm, tx, inOnePlace.slice(0, count))
  tx.put('erasure', { ...erasure, after: upTo.id })
  return false
}

function isMeant({ state }: Realm, { recipient }: PlacedRow, erasure: Erasure): boolean {
  const channel = state.channelByRecipient.get(recipient)
  if (channel === undefined) return erasure.directMessages
  return channel.isPrivate ? erasure.privateMessages : erasure.publicMessages
}

/** Removes everything that identifies the person, and every way to sign in. */
function clearAccount(realm: Realm, tx: Transaction, before: User): void {
  revokeKeys(realm, tx, before)
  removePassword(tx, before.id)
  clearStatus(realm, tx, before)
  const named = { ...before, fullName: `Deleted user ${before.id}`, isDeleted: true }
  tx.put('user', named)
  publishPerson(realm, tx, named, { full_name: named.fullName })
  publishPerson(realm, tx, named, { is_deleted: true })
  const nameless = clearProfile(realm, tx, named)
  const deliveryEmail = `deleted-${placeholderAddress(organizationOf(realm.state), before.id)}`
  const hidden = putAddresses(realm, tx, nameless, { ...nameless, deliveryEmail, settings: {} })
  if (userSetting(before, 'timezone') !== '') publishPerson(realm, tx, hidden, { email: hidden.email, timezone: '' })
  removePicture(realm, tx, hidden)
}
