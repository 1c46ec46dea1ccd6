/** Messages for a new user: a welcome, and an announcement if the organization wants one. Contract section 2.6. */

import { noticePerson, notificationBot, welcomeBot } from '../../messages/notices.ts'
import { deliverNotice } from '../../messages/send.ts'
import { realmSetting } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import { silently } from '../channels/notices.ts'

const SIGNUPS_TOPIC = 'signups'

/** `text`: message of the Welcome Bot; '': no message. */
export function welcome(realm: Realm, tx: Transaction, user: User, text: string): void {
  if (text !== '') noticePerson(realm, tx, user, text, welcomeBot(realm))
  const id = realmSetting(organizationOf(realm.state), 'signup_announcements_stream_id')
  const channel = realm.state.channel.get(id)
  if (channel === undefined || channel.isArchived) return
  const place = { kind: 'channel', channel, topic: SIGNUPS_TOPIC } as const
  deliverNotice(realm, tx, notificationBot(realm), place, `${silently(user)} joined this organization.`)
}
