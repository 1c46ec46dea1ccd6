/**
 * Calls bots with a service for direct messages and mentions by people. Calls are stored until they are delivered, so a restart loses none.
 * Contract section 3.5, row E140.
 */

import type { MessageRow } from '../../store/messages.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { BotCall, User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import type { MessageLocation } from './location.ts'

/** Limit per bot: a bot that is this far behind is not called for further messages. */
export const CALLS_WAITING_MAX = 100

/** Within a transaction. Messages of bots call no bots, which prevents endless loops. */
export function callBots(
  realm: Realm,
  tx: Transaction,
  message: {
    sender: User
    location: MessageLocation
    mentioned: ReadonlySet<number>
    recipients: ReadonlySet<number>
  } & Pick<MessageRow, 'id'>,
): void {
  const { sender, location, mentioned, recipients } = message
  if (sender.bot !== null) return
  const called = location.kind === 'conversation' ? recipients : mentioned
  let isCalled = false
  for (const botId of called) {
    if (!recipients.has(botId) || realm.state.user.get(botId)?.bot?.service === undefined) continue
    if (realm.state.callsOf.get(botId).size >= CALLS_WAITING_MAX) continue
    const trigger: BotCall['trigger'] = mentioned.has(botId) ? 'mention' : 'direct_message'
    tx.put('botCall', { id: tx.nextId('botCall'), botId, messageId: message.id, trigger, time: nowOf(realm) })
    isCalled = true
  }
  if (isCalled) tx.onCommit(() => realm.onBotCall?.())
}
