/** The people to whom the bounds of the contract, section 9.1, charge what a bot uses. */

import type { RecordCollection } from './collection.ts'
import type { User } from './records.ts'

/** Id of the owner of a bot, otherwise of the user: a person may have hundreds of bots, but has one share. */
export const payerOf = ({ id, bot }: User): number => bot?.ownerId ?? id

export function payerOfId(users: RecordCollection<User>, id: number): number {
  const user = users.get(id)
  return user === undefined ? id : payerOf(user)
}
