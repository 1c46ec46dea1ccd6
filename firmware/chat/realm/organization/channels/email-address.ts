/** The address that would take mail for a channel: no mail comes here, so it is only a name. Contract row E47. */

import { createHmac } from 'node:crypto'
import { badRequest } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import { SYSTEM_BOTS } from '../../objects/organization.ts'
import { findReadableChannel } from '../../permissions/channel-find.ts'
import { addressHost } from '../../permissions/user-addresses.ts'

const TOKEN_CHARACTERS = 32 // 128 bits: whoever knows the address might write there
const GATEWAY = SYSTEM_BOTS[2]

/** As whom the mail would come: `me`, a bot of his, or the gateway. Throws `BAD_REQUEST` for anybody else. */
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
