/** A second user of the house. */

import { type Account, keyOf } from '../support/process.ts'
import type { House } from './house.ts'

export const BEN = 'ben@example.org'
export const BEN_PASSWORD = 'words of ben becker'

export interface Ben extends Account {
  id: number
}

/** A member. Without `isInChannel` the account has not joined the channel of the house. */
export async function addBen(house: House, { isInChannel = true } = {}): Promise<Ben> {
  const { user_id: id } = await house.post('/users', { email: BEN, full_name: 'Ben Becker', password: BEN_PASSWORD })
  const ben = { id, ...(await keyOf(house.port, BEN, BEN_PASSWORD)) }
  if (isInChannel) await house.post('/users/me/subscriptions', { subscriptions: [{ name: 'ops' }] }, ben)
  return ben
}
