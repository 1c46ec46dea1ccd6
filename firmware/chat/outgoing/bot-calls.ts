/**
 * Calls outgoing webhooks and embedded bots (contract section 3.5, row E140). Each bot handles one message at a time, and its reply is sent
 * in its name. Calls without an answer at a stop are repeated after the next start.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { defined } from '../../base/defined.ts'
import type { Log } from '../../base/log.ts'
import { runDetached } from '../../base/request-authorization.ts'
import { OutgoingError } from '../../outgoing/error.ts'
import { ChatError } from '../base/error.ts'
import { readReply, WebhookError, webhookRequest } from '../realm/bots/webhook.ts'
import { locationOf } from '../realm/messages/location.ts'
import { noticePerson } from '../realm/messages/notices.ts'
import { type Outgoing, send } from '../realm/messages/send.ts'
import { payerOfId } from '../realm/model/owners.ts'
import { nowOf, type Realm } from '../realm/model/realm.ts'
import type { BotCall, BotService, User } from '../realm/model/records.ts'
import type { Transaction } from '../realm/model/transaction.ts'
import { embeddedBot } from '../realm/objects/embedded-bots.ts'
import { isDeactivated } from '../realm/objects/users.ts'
import { silently } from '../realm/organization/channels/notices.ts'
import { visibilityOf } from '../realm/permissions/visibility.ts'
import type { MessageRow } from '../store/messages.ts'

const BOTS_AT_ONCE = 16
const BOTS_OF_OWNER_AT_ONCE = 4 // services may be slow: other owners' bots must not wait for them
const TRIES = 3 // contract section 9
const AFTER_TRY_MS = 1000
const AFTER_FAILURE_MS = 60_000 // after a failure of the disk; each is logged

/** Older messages get no answer: after Coffer was locked or off, it would come as a surprise. */
const LATE_MAX_S = 600

const CLIENT = 'OutgoingWebhookResponse'

interface BotCalls {
  /** Resolves when no bot call is pending. */
  quiet(): Promise<void>
  stop(): void
}

type Outcome = { readonly reply: string | null } | { readonly problem: string }

/** Sends one request by the appliance, which decides whether its host may be reached. Throws `OutgoingError`. */
export type Post = (request: {
  url: string
  contentType: string
  body: string
  signal: AbortSignal
}) => Promise<{ status: number; text: string }>

export function startBotCalls(realm: Realm, post: Post, log: Log, afterTryMs = AFTER_TRY_MS): BotCalls {
  const { state, store } = realm
  const stopped = new AbortController()
  const busy = new Map<number, Promise<void>>() // by bot
  const busyOf = new Map<number, number>() // bots by owner
  let resting: NodeJS.Timeout | undefined

  function begin(): void {
    if (stopped.signal.aborted || resting !== undefined || state.organization.size === 0 || isDeactivated(realm)) return
    for (const { botId } of state.botCall.all()) {
      if (busy.size >= BOTS_AT_ONCE) return
      const owner = payerOfId(state.user, botId)
      const ofOwner = busyOf.get(owner) ?? 0
      if (busy.has(botId) || ofOwner >= BOTS_OF_OWNER_AT_ONCE) continue
      busyOf.set(owner, ofOwner + 1)
      busy.set(botId, attendAll(botId, owner))
    }
  }

  async function attendAll(botId: number, owner: number): Promise<void> {
    try {
      for (let call = first(botId); call !== undefined; call = first(botId)) {
        const outcome = await outcomeOf(call)
        if (stopped.signal.aborted) return
        settle(call, outcome)
      }
    } catch (error) {
      if (stopped.signal.aborted) return
      log.error('chat', `cannot call bots: ${(error as Error).message}`)
      rest()
    } finally {
      busy.delete(botId)
      const left = defined(busyOf.get(owner)) - 1
      if (left === 0) busyOf.delete(owner)
      else busyOf.set(owner, left)
      begin()
    }
  }

  function rest(): void {
    resting ??= setTimeout(() => {
      resting = undefined
      begin()
    }, AFTER_FAILURE_MS).unref()
  }

  const first = (botId: number): BotCall | undefined =>
    [...state.callsOf.get(botId).values()].reduce<BotCall | undefined>(
      (least, call) => (least === undefined || call.id < least.id ? call : least),
      undefined,
    )

  /** Current bot and message of a call; null if one of them is gone, or the bot may not read the message any more. */
  function subjectOf({ botId, messageId }: BotCall): { bot: User; service: BotService; row: MessageRow } | null {
    const bot = state.user.get(botId)
    const row = store.messages.get(messageId)
    const service = bot?.bot?.service
    if (!bot?.isActive || service === undefined || row === undefined) return null
    return visibilityOf(realm, bot).canRead(row) ? { bot, service, row } : null
  }

  async function outcomeOf(call: BotCall): Promise<Outcome> {
    const subject = subjectOf(call)
    if (subject === null) return { reply: null }
    if (nowOf(realm) - call.time > LATE_MAX_S) return { problem: 'Coffer was locked or off' }
    const { bot, service, row } = subject
    if (service.kind === 'embedded')
      return { reply: embeddedBot(service.name)?.reply(withoutMention(row.content, bot), service.config) ?? null }
    if (service.url === '') return { problem: 'its address has ended, set another one' }
    try {
      const sent = webhookRequest(realm, bot, service, row, call.trigger)
      const text = await askPatiently(service.url, sent, () => subjectOf(call) !== null)
      return { reply: text === null ? null : readReply(service.form, text) }
    } catch (error) {
      if (error instanceof OutgoingError || error instanceof WebhookError) return { problem: error.message }
      throw error
    }
  }

  /** Returns null if `isMeant` is false before a further attempt. Throws `OutgoingError` after the last attempt. */
  async function askPatiently(
    url: string,
    sent: { contentType: string; body: string },
    isMeant: () => boolean,
  ): Promise<string | null> {
    const { signal } = stopped
    for (let tried = 1; ; tried++) {
      try {
        const { status, text } = await post({ url, ...sent, signal })
        if (status >= 200 && status < 300) return text
        throw new OutgoingError(`it answered with the status ${status}`, status < 500)
      } catch (error) {
        if (!(error instanceof OutgoingError) || error.isFinal || tried === TRIES || signal.aborted) throw error
      }
      await wait(afterTryMs * tried, undefined, { signal, ref: false })
      if (!isMeant()) return null
    }
  }

  /** Sends the reply and removes the call in one transaction. */
  function settle(call: BotCall, outcome: Outcome): void {
    try {
      realm.transaction((tx) => {
        tx.remove('botCall', call.id)
        const subject = subjectOf(call)
        if (subject === null) return
        if ('problem' in outcome) tellOwner(tx, subject.bot, outcome.problem)
        else if (outcome.reply !== null)
          send(realm, tx, subject.bot, answerTo(realm, subject.bot, subject.row, outcome.reply))
      })
    } catch (error) {
      if (!(error instanceof ChatError)) throw error
      realm.transaction((tx) => {
        tx.remove('botCall', call.id)
        tellOwner(tx, state.user.require(call.botId), `its answer could not be sent: ${error.message}`)
      })
    }
  }

  function tellOwner(tx: Transaction, bot: User, problem: string): void {
    const owner = state.user.get(bot.bot?.ownerId ?? 0)
    if (!owner?.isActive) return
    noticePerson(realm, tx, owner, `A message to your bot ${silently(bot)} was not answered: ${problem}.`)
  }

  realm.onBotCall = () => runDetached(begin) // detached from the request that mentioned the bot
  begin()
  return {
    async quiet() {
      while (busy.size > 0) await Promise.all(busy.values())
    },
    stop() {
      stopped.abort()
      clearTimeout(resting)
    },
  }
}

function answerTo(realm: Realm, bot: User, row: MessageRow, content: string): Outgoing {
  const location = locationOf(realm, row)
  const common = { content, client: CLIENT, readBySender: undefined, local: undefined }
  return location.kind === 'channel'
    ? { ...common, kind: 'channel', to: location.channel.id, topic: location.topic }
    : {
        ...common,
        kind: 'direct',
        to: location.conversation.userIds.filter((id) => id !== bot.id),
        topic: undefined,
      }
}

function withoutMention(content: string, { fullName, id }: User): string {
  const mention = [`@**${fullName}**`, `@**${fullName}|${id}**`].find((text) => content.startsWith(text)) ?? ''
  return content.slice(mention.length).trim()
}
