/** Incoming webhooks. Contract section 3.5.2, row E160. */

import { z } from 'zod'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { parseText, readText } from '../../base/json.ts'
import { nameString } from '../base/characters.ts'
import { ChatError } from '../base/error.ts'
import {
  AnomalousPayload,
  type Integration,
  UnsupportedEvent,
  type WebhookMessage,
  type WebhookOptions,
  type WebhookResult,
} from '../external/integration.ts'
import { INTEGRATIONS } from '../external/integrations.ts'
import { arePatterns, matchesAny } from '../external/patterns.ts'
import { code, contentOf, silenced, topicOf } from '../external/text.ts'
import { json, jsonOrText, nameText, text } from '../pipeline/parameters.ts'
import { send } from '../realm/messages/send.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import type { Transaction } from '../realm/model/transaction.ts'
import type { BotUser } from '../realm/objects/bot-view.ts'
import { silently } from '../realm/organization/channels/notices.ts'
import { type AnyDeclaration, declare } from './declare.ts'
import { topic } from './topic-parameter.ts'

/** Deeper payloads would be mostly indentation when shown. */
const DEPTH_MAX = 50

const SLACK = 'slack_incoming'

const patterns = () =>
  json(z.array(nameString()))
    .where(arePatterns, 'must have at most 100 patterns of at most 100 characters each')
    .optional()

export const externalDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/external/:integration',
    who: 'webhook',
    segments: { integration: text().map(integrationOf) },
    takesBody: true,
    parameters: {
      api_key: text(),
      stream: jsonOrText(z.union([z.int(), z.string()])).optional(),
      topic: topic().optional(),
      only_events: patterns(),
      exclude_events: patterns(),
      name: nameText().default('instance'),
      desc: nameText().default('alertname'),
      branches: nameText().optional(),
    },
    errorFields: ({ integration }, message) => (integration === SLACK ? { ok: false, error: message } : {}),
    handle: ({ realm, me, input, path, body, client, exchange, tellBotOwner }) => {
      const { integration } = path
      const done = integration.name === SLACK ? { ok: true } : {}
      const isWanted = (event: string | null): boolean =>
        event === null ||
        ((input.only_events === undefined || matchesAny(event, input.only_events)) &&
          !(input.exclude_events !== undefined && matchesAny(event, input.exclude_events)))
      const payload = payloadOf(body, () =>
        tellBotOwner(
          me,
          'payload',
          `A webhook of ${integration.displayName} to your bot ${silently(me)} was refused: its body is not valid JSON.`,
        ),
      )
      const event = eventOf(integration, (name) => exchange.header(name))
      const result = resultOf(integration, payload, event, input, isWanted)
      if (result === null || !isWanted(result.event)) return done
      const { stream: to, topic } = input
      try {
        // One transaction for all messages: a service that retries repeats none of them.
        realm.transaction((tx) => {
          for (const message of result.messages) sendOne(realm, tx, me, integration, message, { to, topic, client })
        })
      } catch (error) {
        if (to === undefined || !(error instanceof ChatError) || error.code !== 'STREAM_DOES_NOT_EXIST') throw error
        tellBotOwner(
          me,
          'channel',
          `A webhook of ${integration.displayName} to your bot ${silently(me)} names a channel that is not there, or that the bot may not know of: ${code(String(to))}.`,
        )
      }
      return done
    },
  }),
]

function integrationOf(name: string): Integration {
  const integration = INTEGRATIONS.find((one) => one.name === name)
  if (integration === undefined) throw new Error('unknown integration')
  return integration
}

/** Throws `INVALID_JSON`. */
function payloadOf(body: Uint8Array, onInvalid: () => void): unknown {
  try {
    const sent = readText(body)
    const payload = parseText(formField(sent) ?? sent)
    if (isDeeperThan(payload, DEPTH_MAX)) throw new CofferError('invalid', 'nested too deeply')
    return payload
  } catch (error) {
    if (!(error instanceof CofferError)) throw error
    onInvalid()
    throw new ChatError('INVALID_JSON', 'Malformed JSON')
  }
}

/** Null if the body is JSON itself: services and users confuse the two media types. */
const formField = (body: string): string | null =>
  /^\s*[{["]/.test(body) ? null : new URLSearchParams(body.trim()).get('payload')

/** Iterates level by level, because JSON may be nested deeper than the stack allows. */
function isDeeperThan(value: unknown, levelsMax: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > levelsMax) return true
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return false
}

function eventOf({ eventHeader }: Integration, header: (name: string) => string | undefined): string {
  if (eventHeader === undefined) return ''
  const event = header(eventHeader.toLowerCase())
  if (event === undefined || event === '')
    throw new ChatError('MISSING_HTTP_EVENT_HEADER', `Missing the HTTP event header '${eventHeader}'`, {
      header: eventHeader,
    })
  return event
}

/** Null for an event that the filter of the URL excludes, whether it is supported or not. */
function resultOf(
  integration: Integration,
  payload: unknown,
  event: string,
  options: WebhookOptions,
  isWanted: (event: string) => boolean,
): WebhookResult | null {
  const webhook = { webhook_name: integration.displayName }
  try {
    return integration.read({ payload, event, options })
  } catch (error) {
    if (error instanceof AnomalousPayload)
      throw new ChatError(
        'ANOMALOUS_WEBHOOK_PAYLOAD',
        `The payload is not one that ${integration.displayName} sends`,
        webhook,
      )
    if (!(error instanceof UnsupportedEvent)) throw error
    if (!isWanted(error.event)) return null
    const type = error.type.slice(0, 100)
    throw new ChatError(
      'UNSUPPORTED_WEBHOOK_EVENT_TYPE',
      `The event '${type}' of ${integration.displayName} is not supported: nothing is sent`,
      { ...webhook, event_type: type },
    )
  }
}

function sendOne(
  realm: Realm,
  tx: Transaction,
  bot: User,
  { mentions }: Integration,
  message: WebhookMessage,
  { to, topic, client }: { to: string | number | undefined; topic: string | undefined; client: string },
): void {
  const content = contentOf(message.text)
  const say = (content: string) =>
    send(realm, tx, bot, {
      ...(to === undefined ? { kind: 'direct', to: [defined((bot as BotUser).bot.ownerId)] } : { kind: 'channel', to }),
      topic: topic ?? topicOf(message.topic ?? ''),
      content,
      client,
      readBySender: false,
      local: undefined,
    })
  if (mentions === 'silent') say(silenced(content))
  else sayOrSilence(say, content)
}

/** Sends the alert without mentions if the bot may not mention so many users. */
function sayOrSilence(say: (content: string) => void, content: string): void {
  try {
    say(content)
  } catch (error) {
    const silent = silenced(content)
    if (!(error instanceof ChatError) || !/MENTION_NOT_ALLOWED|^BAD_REQUEST$/.test(error.code) || silent === content)
      throw error
    say(silent)
  }
}
