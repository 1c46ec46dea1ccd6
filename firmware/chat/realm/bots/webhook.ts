/** Requests to outgoing webhooks and their replies. Contract section 3.5, row E140. */

import { isOlder } from '../../base/version.ts'
import type { MessageRow } from '../../store/messages.ts'
import { locationOf } from '../messages/location.ts'
import { messageToJson } from '../messages/message-json.ts'
import { urlFor } from '../model/organization-url.ts'
import type { Realm } from '../model/realm.ts'
import { type BotCall, type BotService, REALM_ID, type User } from '../model/records.ts'
import { openText } from '../model/secrets.ts'
import { shownHtml } from '../objects/rendering.ts'
import { senderVisibilityOf } from '../permissions/user-access.ts'

type Outgoing = BotService & { kind: 'outgoing' }

interface WebhookRequest {
  contentType: string
  body: string
}

/** The message is part of a sentence that the bot's owner reads. */
export class WebhookError extends Error {}

/** Throws `WebhookError` if the token cannot be unsealed, or if the format has no direct messages. */
export function webhookRequest(
  realm: Realm,
  bot: User,
  service: Outgoing,
  row: MessageRow,
  trigger: BotCall['trigger'],
): WebhookRequest {
  const token = openText(realm, service.sealedToken)
  if (token === null) throw new WebhookError('its token cannot be opened')
  const word = trigger === 'direct_message' && isOlder(service.level ?? null, 201) ? 'private_message' : trigger
  return service.form === 1 ? ownForm(realm, bot, token, row, word) : slackForm(realm, bot, token, row, word)
}

function ownForm(realm: Realm, bot: User, token: string, row: MessageRow, trigger: string): WebhookRequest {
  const message = messageToJson(realm, row, {
    applyMarkdown: false,
    clientGravatar: false,
    emptyTopic: false,
    senderSight: senderVisibilityOf(realm, bot)(row.sender),
  })
  const body = {
    bot_email: bot.email,
    bot_full_name: bot.fullName,
    data: row.content,
    trigger,
    token,
    message: { ...message, rendered_content: shownHtml(realm, row.html) },
  }
  return { contentType: 'application/json', body: JSON.stringify(body) }
}

function slackForm(realm: Realm, bot: User, token: string, row: MessageRow, trigger: string): WebhookRequest {
  const location = locationOf(realm, row)
  if (location.kind === 'conversation') throw new WebhookError('this form of webhook takes no direct messages')
  const sender = realm.state.user.require(row.sender)
  const body = new URLSearchParams({
    token,
    team_id: `T${REALM_ID}`,
    team_domain: URL.parse(urlFor(realm, bot))?.hostname ?? '',
    channel_id: `C${location.channel.id}`,
    channel_name: location.channel.name,
    thread_ts: String(row.time),
    timestamp: String(row.time),
    user_id: `U${sender.id}`,
    user_name: sender.fullName,
    text: row.content,
    trigger_word: trigger,
    service_id: String(bot.id),
  })
  return { contentType: 'application/x-www-form-urlencoded', body: body.toString() }
}

/** Returns the text that the bot sends, or null for none. Throws `WebhookError` if the reply is not a JSON object. */
export function readReply(form: Outgoing['form'], text: string): string | null {
  const answer = parsed(text)
  if (form === 2) return textIn(answer.text)
  if (answer.response_not_required === true) return null
  return textIn(answer.response_string) ?? textIn(answer.content)
}

const textIn = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null)

function parsed(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {}
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new WebhookError('its answer is no JSON object')
  return value as Record<string, unknown>
}
