/** Email address of a channel. Coffer receives no mail: the address exists only for clients that request it. Contract row E47. */

import { createHmac } from 'node:crypto'
import { badRequest } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import { SYSTEM_BOTS } from '../../objects/organization.ts'
import { findReadableChannel } from '../../permissions/channel-find.ts'
import { addressHost } from '../../permissions/user-addresses.ts'

const TOKEN_CHARACTERS = 32 // 128 bits: the address is the only secret that would protect the channel
const GATEWAY = SYSTEM_BOTS[2]

/** `senderId`: the author that mail to the address would have. Throws `BAD_REQUEST` unless it is `me`, a bot of `me` or the gateway. */
export function channelAddress(realm: Realm, me: User, channelId: number, senderId: number): string {
  const channel = findReadableChannel(realm, me, channelId)
  const sender = realm.state.user.get(senderId)
  const isAllowed = senderId === me.id || sender?.email === GATEWAY.email || sender?.bot?.ownerId === me.id
  if (sender === undefined || !isAllowed) throw badRequest('Invalid sender')
  const token = createHmac('sha256', realm.secretsKey).update(`mail ${channel.id} ${senderId}`).digest('hex')
  const name = channel.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  const host = addressHost(organizationOf(realm.state))
  return `${name === '' ? '' : `${name}.`}${token.slice(0, TOKEN_CHARACTERS)}@${host}`
}
