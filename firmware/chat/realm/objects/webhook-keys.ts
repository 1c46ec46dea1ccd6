/** API keys of incoming webhooks: a webhook request has a key but no account name. Contract sections 1.2 and 3.5.2. */

import { ChatError } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { ApiKey, User } from '../model/records.ts'
import { BOT_TYPES } from './bot-services.ts'
import { findKey } from './keys.ts'

/** Returns the bot with this key. Throws `INVALID_API_KEY`, also for the key of a person. */
export function findWebhookByKey(realm: Realm, key: string): { user: User; apiKey: ApiKey } {
  const apiKey = findKey(realm, Buffer.from(key))
  const user = apiKey && realm.state.user.get(apiKey.userId)
  if (apiKey === undefined || user === undefined || !isWebhookBot(user))
    throw new ChatError('INVALID_API_KEY', 'Invalid API key')
  return { user, apiKey }
}

export const isWebhookBot = ({ bot }: User): boolean =>
  bot?.type === BOT_TYPES.incomingWebhook || bot?.type === BOT_TYPES.generic
