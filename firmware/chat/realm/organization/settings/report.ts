/** Reports of messages to moderators, in the channel for reports. Contract row E25. */

import { badRequest, invalidParameter } from '../../../base/error.ts'
import type { MessageRow } from '../../../store/messages.ts'
import { accessMessage } from '../../messages/access.ts'
import { notificationBot } from '../../messages/notices.ts'
import { nameOfMessage, quoted, withQuotation } from '../../messages/quote.ts'
import { deliverNotice } from '../../messages/send.ts'
import { realmSetting } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import type { Channel, User } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import { cutTopic } from '../../model/topic-names.ts'
import { silently } from '../channels/notices.ts'

export const REPORT_TYPES = {
  spam: 'Spam',
  harassment: 'Harassment',
  inappropriate: 'Inappropriate content',
  norms: 'Violates community norms',
  other: 'Other reason',
} as const
export type ReportType = keyof typeof REPORT_TYPES

const DESCRIPTION_CHARACTERS_MAX = 1000

/** Throws `BAD_REQUEST` if the caller may not read the message or there is no channel for reports. */
export function reportMessage(realm: Realm, me: User, id: number, type: ReportType, input: string): void {
  const description = input.trim()
  if ([...description].length > DESCRIPTION_CHARACTERS_MAX)
    throw invalidParameter('description', `description must have at most ${DESCRIPTION_CHARACTERS_MAX} characters`)
  if (type === 'other' && description === '') throw badRequest('An explanation is required.')
  realm.transaction((tx) => {
    const message = accessMessage(realm, me, id)
    const channel = moderationChannel(realm)
    const sender = realm.state.user.require(message.sender)
    const place = { kind: 'channel', channel, topic: cutTopic(`${sender.fullName}'s moderation requests`) } as const
    deliverNotice(realm, tx, notificationBot(realm), place, contentOf(realm, me, message, type, description))
  })
}

/** Rejects a channel that is public, whenever it became so. */
function moderationChannel(realm: Realm): Channel {
  const channel = realm.state.channel.get(realmSetting(organizationOf(realm.state), 'moderation_request_channel_id'))
  if (channel === undefined || channel.isArchived || !channel.isPrivate)
    throw badRequest('Moderation request channel must be specified to enable message reporting.')
  return channel
}

function contentOf(realm: Realm, me: User, message: MessageRow, type: ReportType, description: string): string {
  const lead = `${silently(me)} reported ${nameOfMessage(realm, message)}. Reason: **${REPORT_TYPES[type]}**`
  const notes = description === '' ? lead : `${lead}\n\n${quoted(description)}`
  return withQuotation(realm, notificationBot(realm), notes, message)
}
