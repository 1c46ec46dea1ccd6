/** Web Push: tells browsers whose page is closed of messages, by the push services that the operator has listed. Contract section 3.9.1. */

import { createHmac } from 'node:crypto'
import { isIP } from 'node:net'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import type { Log } from '../../base/log.ts'
import { runDetached } from '../../base/request-authorization.ts'
import { runInSlices } from '../../base/slices.ts'
import { mayAsk } from '../../outgoing/addresses.ts'
import { OutgoingError } from '../../outgoing/error.ts'
import { badRequest, ChatError, invalidParameter } from '../base/error.ts'
import { pushHostOf, type WebPushSettings } from '../link/web-push.ts'
import { pushRuleFor } from '../realm/messages/push-rules.ts'
import { payerOfId } from '../realm/model/owners.ts'
import { realmSetting } from '../realm/model/read-settings.ts'
import { type DeliveredMessage, nowOf, type Realm } from '../realm/model/realm.ts'
import type { User, WebPushSubscription } from '../realm/model/records.ts'
import { organizationOf } from '../realm/model/state.ts'
import { isOver, keysOf } from '../realm/objects/keys.ts'
import { isDeactivated } from '../realm/objects/users.ts'
import { removeWebPush, webPushAmong } from '../realm/objects/web-push.ts'
import { encryptPush, isAuthSecret, isPoint } from './push-encryption.ts'
import { createPushQueue, type PushResult, type PushSlot } from './push-queue.ts'
import { textOfPush } from './push-text.ts'
import { createPushTokens } from './push-tokens.ts'

const ENDPOINT_CHARACTERS_MAX = 1024
const PAUSE_MS = 10_000
/** Within it the sender has the answer, which waits for the audit log meanwhile. Finding whom to tell takes a millisecond for 500 browsers. */
const ANSWER_MS = 20
/** Before the second and the third try, unless the push service tells another time. */
const RETRY_S = [5, 25]
const RETRY_S_MAX = 600 // waits in memory
const TOPIC_CHARACTERS = 32 // RFC 8030 section 5.4
const TOPIC_KEY_BYTES = 32
const LOG_EVERY_S = 600
const TESTS_PER_MINUTE = 5
const TESTS_AT_ONCE = 4 // of different accounts; each waits for a push service
const HOST_PAUSE_S_MAX = 60
const HOST_PAUSE_S_MAX_429 = 5 // some push services mean one subscription by it
const RECHECK_MS = 1000

/** Sends one notification by the appliance, which decides whether its host may be reached. Throws `OutgoingError`. */
export type SendPush = (request: {
  url: string
  body: Uint8Array
  authorization: string
  topic: string
  signal: AbortSignal
}) => Promise<{ status: number; retryAfterS: number | undefined }>

export interface WebPush {
  /** Null while nothing is sent. */
  readonly settings: WebPushSettings | null
  publicKey(): string
  /** Throws `REQUEST_VARIABLE_INVALID` for a subscription that is not accepted. */
  expectAccepted(subscription: WebPushSubscription): void
  /** Sends one notification to the session's browser. Returns the status. Throws `BAD_REQUEST` and `RATE_LIMIT_HIT`. */
  test(user: User, keyId: number): Promise<number>
  quiet(): Promise<void>
  stop(): void
}

interface WebPushOptions {
  realm: Realm
  push: SendPush
  settings: () => WebPushSettings | null
  log: Log
  pauseMs?: number
}

export function startWebPush({ realm, push, settings, log, pauseMs = PAUSE_MS }: WebPushOptions): WebPush {
  const { state, store } = realm
  const tokens = createPushTokens(realm)
  const topicKey = realm.random(TOPIC_KEY_BYTES)
  const stopped = new AbortController()
  const queue = createPushQueue({ send, pauseMs })
  const testsOf = new Map<number, number[]>()
  const testing = new Set<number>() // accounts
  let loggedS = Number.NEGATIVE_INFINITY
  /** Ends when all messages are in the queue. */
  let telling: Promise<unknown> = Promise.resolve()

  const settingsNow = (): WebPushSettings | null =>
    isDeactivated(realm) || realmSetting(organizationOf(state), 'page_offline_days') === 0 ? null : settings()

  const expectSettings = (): WebPushSettings => {
    const found = settingsNow()
    if (found === null) throw badRequest('Web Push is off')
    return found
  }

  /** Adds a notification in each step. */
  function* tell(message: DeliveredMessage): Iterable<void> {
    const found = settingsNow()
    if (stopped.signal.aborted || found === null) return
    const { id, recipient, topic, recipients } = message
    const senderId = payerOfId(state.user, message.senderId)
    const isMeant = pushRuleFor(realm, message)
    const hostOf = listedHosts(found.hosts)
    let last: { userId: number; isMeant: boolean } | undefined
    for (const { userId, keyId, endpoint } of webPushAmong(realm, recipients)) {
      if (last?.userId !== userId) {
        const user = state.user.get(userId)
        last = { userId, isMeant: user !== undefined && isMeant(user) }
      }
      const host = last.isMeant ? hostOf(endpoint) : null
      if (host !== null) queue.add({ userId, keyId, recipient, topic }, id, { senderId, host })
      yield
    }
  }

  /** The subscription of a session that goes on. */
  function subscriptionOf(userId: number, keyId: number): WebPushSubscription | undefined {
    const user = state.user.get(userId)
    if (!user?.isActive) return undefined
    const key = keysOf(realm, user).find(({ id }) => id === keyId)
    return key === undefined || isOver(realm, key) ? undefined : state.webPush.get(keyId)
  }

  async function send(slot: PushSlot, messageId: number, tries: number): Promise<PushResult> {
    try {
      const failure = await attempt(slot, messageId)
      if (failure === null || stopped.signal.aborted) return DONE
      report(failure.problem)
      if (failure.isFinal) return DONE
      const waitS = failure.retryAfterS ?? RETRY_S[tries] ?? HOST_PAUSE_S_MAX
      const isLast = tries >= RETRY_S.length || waitS > RETRY_S_MAX
      return { againMs: isLast ? null : waitS * 1000, hostPauseMs: Math.min(waitS, failure.hostPauseSMax) * 1000 }
    } catch (error) {
      if (!stopped.signal.aborted) report((error as Error).message)
      return DONE
    }
  }

  /** Resolves to null if there is nothing to try again. */
  async function attempt({ userId, keyId, recipient, topic }: PushSlot, messageId: number): Promise<Failure | null> {
    const found = settingsNow()
    const subscription = subscriptionOf(userId, keyId)
    const row = store.messages.get(messageId)
    if (found === null || subscription === undefined || row === undefined) return null
    const host = pushHostOf(subscription.endpoint, found.hosts)
    if (host === null) return null // not listed any more
    const text = textOfPush(realm, state.user.require(userId), row, found.content)
    if (text === null) return null
    const ended = new AbortController()
    const checking = setInterval(() => {
      if (subscriptionOf(userId, keyId) !== subscription) ended.abort()
    }, RECHECK_MS).unref()
    try {
      const conversation = `${recipient} ${topic}`
      const signal = AbortSignal.any([stopped.signal, ended.signal])
      const { status, retryAfterS } = await sendText(found, subscription, text, conversation, signal)
      if ((status >= 200 && status < 300) || isGone(status)) return null
      const problem = `${host} answered with the status ${status}`
      const hostPauseSMax = status === 429 ? HOST_PAUSE_S_MAX_429 : HOST_PAUSE_S_MAX
      const isFinal = status !== 429 && status < 500
      return { problem, isFinal, retryAfterS, hostPauseSMax }
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      if (ended.signal.aborted) return null
      return { problem: `${host}: ${error.message}`, isFinal: error.isFinal, hostPauseSMax: HOST_PAUSE_S_MAX }
    } finally {
      clearInterval(checking)
    }
  }

  /** Removes a subscription that its push service does not accept any more. Throws `OutgoingError`. */
  async function sendText(
    { contact }: WebPushSettings,
    subscription: WebPushSubscription,
    text: Uint8Array,
    conversation: string,
    signal: AbortSignal,
  ): ReturnType<SendPush> {
    const { endpoint: url, keyId } = subscription
    const topic = createHmac('sha256', topicKey).update(`${keyId} ${conversation}`).digest('base64url')
    const answer = await push({
      url,
      body: encryptPush(text, subscription, realm.random),
      authorization: tokens.authorization(url, contact),
      topic: topic.slice(0, TOPIC_CHARACTERS),
      signal,
    })
    const isCurrent = !stopped.signal.aborted && state.webPush.get(keyId) === subscription
    if ((isGone(answer.status) || isOfOtherKey(answer.status)) && isCurrent) removeWebPush(realm, keyId)
    return answer
  }

  /** Not with the endpoint: it lets anyone send to the browser. */
  function report(problem: string): void {
    const now = nowOf(realm)
    if (Math.abs(now - loggedS) < LOG_EVERY_S) return
    loggedS = now
    log.warning('chat', `cannot send a notification: ${problem}`)
  }

  function countTest(userId: number): void {
    const now = nowOf(realm)
    const recent = (testsOf.get(userId) ?? []).filter((time) => Math.abs(now - time) < 60)
    if (recent.length >= TESTS_PER_MINUTE)
      throw new ChatError('RATE_LIMIT_HIT', 'Too many tests, try again later', {
        'retry-after': (recent[0] ?? now) + 60 - now,
      })
    testsOf.set(userId, [...recent, now])
  }

  realm.onDelivered = (message) => {
    if (state.webPush.size === 0 || settings() === null) return
    // The answer to the sender goes first, requests of others go between, and messages stay in their order.
    const answered = runDetached(() => wait(ANSWER_MS))
    const run = async () => {
      await answered
      await nextTurn()
      await runInSlices(tell(message), () => !stopped.signal.aborted)
    }
    telling = telling.then(() => runDetached(run))
  }

  return {
    get settings() {
      return settingsNow()
    },
    publicKey: tokens.publicKey,
    expectAccepted({ endpoint, p256dh, auth }) {
      const { hosts } = expectSettings()
      expectEndpoint(endpoint, hosts)
      if (!isPoint(p256dh)) throw invalidParameter('p256dh', 'p256dh must be a point of P-256 in base64url')
      if (!isAuthSecret(auth)) throw invalidParameter('auth', 'auth must be 16 bytes in base64url')
    },
    async test(user, keyId) {
      const found = expectSettings()
      const subscription = subscriptionOf(user.id, keyId)
      if (subscription === undefined) throw badRequest('This session has no subscription')
      if (testing.has(user.id) || testing.size >= TESTS_AT_ONCE)
        throw new ChatError('RATE_LIMIT_HIT', 'Other tests are under way, try again later', { 'retry-after': 1 })
      countTest(user.id)
      testing.add(user.id)
      const text = new TextEncoder().encode(JSON.stringify({ test: true }))
      try {
        return (await sendText(found, subscription, text, 'test', stopped.signal)).status
      } catch (error) {
        if (!(error instanceof OutgoingError)) throw error
        throw badRequest(`The push service cannot be reached: ${error.message}`)
      } finally {
        testing.delete(user.id)
      }
    },
    async quiet() {
      await telling
      await queue.quiet()
    },
    stop() {
      stopped.abort()
      queue.stop()
    },
  }
}

interface Failure {
  readonly problem: string
  readonly isFinal: boolean
  readonly retryAfterS?: number | undefined
  readonly hostPauseSMax: number
}

const DONE: PushResult = { againMs: null, hostPauseMs: 0 }

/** As `pushHostOf`, but parses each origin once: most endpoints share a few. */
function listedHosts(hosts: readonly string[]): (endpoint: string) => string | null {
  const known = new Map<string, string | null>()
  return (endpoint) => {
    const origin = endpoint.slice(0, endpoint.indexOf('/', 'https://'.length))
    let host = known.get(origin)
    if (host === undefined) {
      host = pushHostOf(origin, hosts)
      known.set(origin, host)
    }
    return host
  }
}

/** The browser has unsubscribed, or the push service has forgotten it: RFC 8030 section 7.3. */
const isGone = (status: number): boolean => status === 404 || status === 410

/** The push service does not accept our key for the subscription: RFC 8292 section 4.2. The page subscribes again when it is opened. */
const isOfOtherKey = (status: number): boolean => status === 401 || status === 403

function expectEndpoint(endpoint: string, hosts: readonly string[]): void {
  const url = endpoint.length <= ENDPOINT_CHARACTERS_MAX ? URL.parse(endpoint) : null
  const isPlain = url?.href === endpoint && url.username === '' && url.password === '' && url.hash === ''
  if (url?.protocol !== 'https:' || !isPlain)
    throw invalidParameter('endpoint', `endpoint must be an https URL of at most ${ENDPOINT_CHARACTERS_MAX} characters`)
  const name = url.hostname.replace(/^\[|\]$/g, '')
  const isLocal = /(?:^|\.)localhost\.?$/.test(name) || (isIP(name) !== 0 && !mayAsk(name, []))
  if (isLocal || pushHostOf(endpoint, hosts) === null)
    throw invalidParameter('endpoint', `The administrator of the server has not listed the push service ${url.host}`)
}
