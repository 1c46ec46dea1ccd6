/**
 * Deleting what somebody wrote and is, with his account. It may be a hundred thousand messages: they go in short turns,
 * other requests go on between, and what a stop interrupts goes on at the next start. Contract section 3.4.1, level 459.
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
import { placeholderAddress } from '../../permissions/user-addresses.ts'
import { removePicture } from './avatar-pictures.ts'
import { putAddresses } from './change.ts'
import { clearProfile } from './profile-values.ts'

type Erased = Pick<Erasure, 'publicMessages' | 'privateMessages' | 'directMessages' | 'profile'>

/** Within the change that deactivates the account and its bots, so that they write nothing more: what `erase` does after it. */
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

/** Until nothing is left of what was planned, bots first. Those who do the same at once share the work. */
export async function erase(realm: Realm): Promise<void> {
  for (const { userId } of [...realm.state.erasure.all()]) {
    await setImmediate() // what has deactivated him was a turn's work already
    while (!(await inBatches(realm, (tx, count) => erasePart(realm, tx, userId, count)))) {
      // It is to go, however long that takes.
    }
    realm.store.clearLog()
  }
}

/** Messages among which those are looked for that are in one place: who could see them is asked once for all of a turn. */
const WINDOW = 500

/** True when all is done. */
function erasePart(realm: Realm, tx: Transaction, userId: number, count: number): boolean {
  const erasure = realm.state.erasure.get(userId)
  if (erasure === undefined) return true
  const rows = realm.store.messages.oldestBy(userId, erasure.after, WINDOW)
  const meant = rows.filter((row) => isMeant(realm, row, erasure))
  const upTo = meant[0] ?? rows.at(-1)
  if (upTo === undefined) {
    tx.remove('erasure', userId)
    if (erasure.profile) clearAccount(realm, tx, realm.state.user.get(userId)!)
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

/** Nothing of it tells any more whose it was, and nobody signs in to it. */
function clearAccount(realm: Realm, tx: Transaction, before: User): void {
  revokeKeys(realm, tx, before)
  tx.remove('password', before.id)
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
