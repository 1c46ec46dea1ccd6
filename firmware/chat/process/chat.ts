/** The chat: one organization on its sealed database, and the API for its clients. */

import type { Clock } from '../../base/clock.ts'
import { createClock } from '../../base/clock.ts'
import { defined } from '../../base/defined.ts'
import { createDiskSpace, type DiskUsage, readDiskUsage } from '../../base/disk-space.ts'
import { CofferError } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import { MIB, memoryFor } from '../../base/memory.ts'
import { wipe } from '../../base/secret.ts'
import { type Random, systemRandom } from '../../crypto/random.ts'
import { deriveSealKey } from '../../crypto/seal.ts'
import type { ScryptCost } from '../../crypto/types.ts'
import type { BasicCredentials } from '../../http/endpoint/basic.ts'
import { OutgoingError } from '../../outgoing/error.ts'
import { storageFailure } from '../../store/failure.ts'
import { DECLARATIONS, OTHER_DECLARATIONS } from '../api/declarations.ts'
import type { Services } from '../api/declare.ts'
import { ChatError } from '../base/error.ts'
import { VERSION } from '../base/version.ts'
import { createEventHub, type EventHub } from '../events/hub.ts'
import { createLevels } from '../levels/levels.ts'
import type { ChatAuditEvent } from '../link/chat-audit-event.ts'
import type { WebPushSettings } from '../link/web-push.ts'
import { type Post, startBotCalls } from '../outgoing/bot-calls.ts'
import { type SendPush, startWebPush } from '../outgoing/web-push.ts'
import type { AuthenticatedCaller } from '../pipeline/callers.ts'
import type { Who } from '../pipeline/declaration.ts'
import { type Api, createApi } from '../pipeline/pipeline.ts'
import type { RateLimits } from '../pipeline/rate-limit.ts'
import { sessionCookie } from '../pipeline/session-cookie.ts'
import { createOwnerNotices } from '../realm/bots/owner-notices.ts'
import { limitBotsToOwners } from '../realm/bots/owners.ts'
import { createExportKey } from '../realm/export/archive.ts'
import { createExports } from '../realm/export/exports.ts'
import { startDeliveries } from '../realm/messages/deliveries.ts'
import { startRetention } from '../realm/messages/retention.ts'
import { createUrlSigner } from '../realm/messages/signed-url.ts'
import { removeOrphans } from '../realm/messages/upload-receive.ts'
import { expectRoomForFiles, expectRoomForMessages } from '../realm/model/disk-room.ts'
import { noteHost } from '../realm/model/organization-url.ts'
import { payerOf, payerOfId } from '../realm/model/owners.ts'
import { nowOf, openRealm, type Realm } from '../realm/model/realm.ts'
import type { ApiKey, User } from '../realm/model/records.ts'
import { atLeast, ROLES } from '../realm/model/roles.ts'
import { BOT_TYPES } from '../realm/objects/bot-services.ts'
import { startFullMembers } from '../realm/objects/full-members.ts'
import { findByKey, isOver, noteUse, SESSION_DAYS } from '../realm/objects/keys.ts'
import { createOrganization, ensureUuid, type OrganizationDraft } from '../realm/objects/organization.ts'
import { hideQueuedPictures } from '../realm/objects/rendering.ts'
import { findBySession } from '../realm/objects/sessions.ts'
import { isDeactivated } from '../realm/objects/users.ts'
import { findWebhookByKey, isWebhookBot } from '../realm/objects/webhook-keys.ts'
import { recoverOwner } from '../realm/organization/operator/operator.ts'
import { withOwnIcon } from '../realm/organization/settings/pictures.ts'
import { erase } from '../realm/organization/users/erasing.ts'
import { createPasswords, type Derive } from '../realm/organization/users/passwords.ts'
import { releaseReservedAddresses } from '../realm/organization/users/reserved-addresses.ts'
import { type ChatStore, type Commits, DATABASES, databasePath, openStore } from '../store/store.ts'
import { createAuditor } from './audit.ts'

const QUEUE_BYTES_MAX = memoryFor(1 / 4, 24 * MIB, 256 * MIB)
const SAVED_AT = 'queues saved at' // a counter: Unix time in seconds
const SAVED_CHARACTER_BYTES = 6 // three in UTF-8, in the log of the database and in the database

export interface ChatOptions {
  directory: string
  /** 32 bytes. The caller wipes them. */
  chatKey: Uint8Array
  log: Log
  derive: Derive
  /** Sends an event to the audit log of the appliance. By default none are sent. */
  record?: (act: ChatAuditEvent) => Promise<void> | undefined
  clock?: Clock
  random?: Random
  passwordCost?: ScryptCost
  rateLimits?: Partial<RateLimits>
  heartbeatMs?: () => number
  /** Must be monotonic. */
  nowMs?: () => number
  nativeBinding?: string
  /** Usage of the disk that contains `directory`. Throws an error of the file system. */
  readDisk?: () => DiskUsage
  auditGrowthBytes?: () => number
  /** By default no host is reached. */
  post?: Post
  botRetryMs?: number
  /** By default no push service is reached. */
  push?: SendPush
  /** Settings of the operator. By default Web Push is off. */
  webPush?: () => WebPushSettings | null
  pushPauseMs?: number
}

export interface Chat {
  readonly api: Api
  readonly realm: Realm
  readonly hasOrganization: boolean
  /** Throws `conflict` if there is an organization, and `REQUEST_VARIABLE_INVALID`. */
  createOrganization(organization: OrganizationDraft, password: string): Promise<User>
  /** Throws `notFound`, and `REQUEST_VARIABLE_INVALID`. */
  recoverOwner(email: string, password: string): Promise<void>
  /** Sends all messages that are due. The chat itself calls it every second. */
  deliverDue(): Promise<void>
  makeExports(): Promise<void>
  /** Public key for the signatures of exports, hexadecimal. */
  readonly exportKey: string
  /** Publishes the members whose waiting period is over. The chat itself calls it every minute. */
  publishFullMembers(): Promise<void>
  /** Deletes all expired data. The chat itself calls it every ten minutes. */
  expireOld(): Promise<void>
  /** Resolves when no bot call is pending. */
  botsAnswered(): Promise<void>
  /** Resolves when no notification is being sent, or could be. */
  pushesSent(): Promise<void>
  /** Ends polls with an empty list and saves the queues for the next start. Returns the commit counts; null if it was already closed. */
  close(): Commits | null
}

/** Throws `storage` with the reason. */
export function createChat(options: ChatOptions): Chat {
  const { directory, chatKey, nativeBinding } = options
  const store = openStore({ directory, chatKey, nativeBinding })
  try {
    return chatOver(store, options)
  } catch (error) {
    store.close()
    throw storageFailure(error)
  }
}

function chatOver(store: ChatStore, options: ChatOptions): Chat {
  const { chatKey, log, derive, nowMs } = options
  const { clock = createClock(), random = systemRandom } = options
  const secretsKey = deriveSealKey(chatKey, 'secrets')
  const levels = createLevels(() => realm)
  const events = createEventHub({
    oldEvents: levels.events,
    newQueueId: () => Buffer.from(random(16)).toString('base64url'),
    ...(nowMs && { nowMs }),
    ...(options.heartbeatMs && { heartbeatMs: options.heartbeatMs }),
    bytesMax: QUEUE_BYTES_MAX,
    ownerOf: (userId) => payerOfId(realm.state.user, userId),
  })
  const readDisk = options.readDisk ?? (() => readDiskUsage(databasePath(options.directory)))
  const space = createDiskSpace(readDisk, options.auditGrowthBytes)
  const realm: Realm = openRealm({ store, space, events, clock, random, secretsKey })
  const passwords = createPasswords({
    derive,
    random,
    ...(nowMs && { nowMs }),
    ...(options.passwordCost && { cost: options.passwordCost }),
  })
  const generation = Math.floor(clock.now() / 1000)
  const savedAt = resume(realm, generation, log)
  ensureUuid(realm)
  releaseReservedAddresses(realm)
  const limited = limitBotsToOwners(realm)
  if (limited > 0) log.warning('chat', `bots limited to the rights of their owners: ${limited}`)
  tellOfLogs(store, log)
  store.inspectAfterKill((problem) => log.error('chat', `the chat's database is damaged: ${problem}`))
  let isOpen = true
  removeOrphans(realm, () => isOpen).catch((error) =>
    log.error('chat', `cannot delete incomplete files: ${error.name}`),
  )
  erase(realm).catch((error) => {
    if (isOpen) log.error('chat', `cannot delete the messages of deactivated accounts: ${error.message}`)
  })

  const fullMembers = startFullMembers(realm, savedAt, log)
  const deliveries = startDeliveries(realm, log)
  const retention = startRetention(realm, log)
  const botCalls = startBotCalls(realm, options.post ?? noConnection, log, options.botRetryMs)
  const webPush = startWebPush({
    ...{ realm, log, push: options.push ?? noConnection, settings: options.webPush ?? (() => null) },
    ...(options.pushPauseMs !== undefined && { pauseMs: options.pushPauseMs }),
  })

  const uploadUrls = createUrlSigner(random(32)) // links of earlier runs are no longer valid
  const auditor = createAuditor(realm, options)
  const exportKey = createExportKey(chatKey)
  const exports = createExports({ realm, key: exportKey, urls: uploadUrls, log })
  const services: Services = {
    realm,
    passwords,
    log,
    uploadUrls,
    exports,
    webPush,
    generation,
    expectBudget: auditor.expectBudget,
    tellBotOwner: createOwnerNotices(realm),
  }
  const api = createApi<Services, User>({
    declarations: DECLARATIONS,
    others: OTHER_DECLARATIONS,
    services,
    isReady: () => isOpen && realm.state.organization.size > 0,
    authenticate: (credentials, host) => authenticate(realm, credentials, host),
    authenticateSession: (secret, host) => authenticateSession(realm, secret, host),
    authenticateWebhook: (key, host) => authenticateWebhook(realm, key, host),
    authorize,
    auditor,
    formOf: levels.formOf,
    expectRoom: (what) => (what === 'files' ? expectRoomForFiles(realm, 0) : expectRoomForMessages(realm)),
    timeS: () => clock.now() / 1000,
    log,
    ...(nowMs && { nowMs }),
    ...(options.rateLimits && { rateLimits: options.rateLimits }),
  })

  return {
    api,
    realm,
    get hasOrganization() {
      return realm.state.organization.size > 0
    },
    async createOrganization(organization, password) {
      return createOrganization(realm, organization, await passwords.digest(0, password))
    },
    recoverOwner: (email, password) => recoverOwner(realm, passwords, email, password),
    deliverDue: deliveries.now,
    publishFullMembers: fullMembers.now,
    expireOld: retention.now,
    makeExports: exports.now,
    exportKey: exportKey.publicKey,
    botsAnswered: botCalls.quiet,
    pushesSent: webPush.quiet,
    close() {
      if (!isOpen) return null
      isOpen = false
      fullMembers.stop()
      deliveries.stop()
      retention.stop()
      exports.stop()
      exportKey.close()
      botCalls.stop()
      webPush.stop()
      events.close()
      try {
        store.transaction(() => {
          const room = space.roomFor('messages', store.reusableBytes['chat.db']) / SAVED_CHARACTER_BYTES
          const isGone = (messageId: number): boolean => store.messages.get(messageId) === undefined
          for (const { id, json } of events.save(isGone, room)) store.queues.add(id, json)
          store.things.setCounter(SAVED_AT, nowOf(realm))
        })
        return store.commitsOfEach()
      } catch (error) {
        if (!(error instanceof CofferError)) throw error
        log.error('chat', `cannot save event queues: ${error.message}`)
        return null
      } finally {
        store.close()
        wipe(secretsKey)
      }
    },
  }
}

function tellOfLogs({ logEnds }: ChatStore, log: Log): void {
  for (const name of DATABASES) {
    if (logEnds[name] === 'damaged') log.error('chat', `the log of ${name} is damaged: acknowledged changes are lost`)
    if (logEnds[name] === 'cut off') log.warning('chat', `the log of ${name} ends in an incomplete change: skipped`)
  }
}

/**
 * Restores the queues of the last run and announces the restart to them. After a crash there are none; their events are lost. Returns the
 * time at which they were saved; undefined if there are none.
 */
function resume(realm: Realm, generation: number, log: Log): number | undefined {
  const { store, events } = realm
  store.transaction(() => {
    try {
      events.restore(store.queues.all())
      if (events.size > 0) {
        events.revise(withOwnIcon)
        hideQueuedPictures(realm)
      }
    } catch (error) {
      log.error('chat', `cannot restore event queues: ${(error as Error).name}`) // the message may quote a queue
    }
    store.queues.clear()
  })
  if (events.size === 0) return undefined
  announceRestart(events, generation)
  return store.things.counter(SAVED_AT) || undefined
}

function announceRestart(events: EventHub, generation: number): void {
  const batch = events.begin()
  const body = { ...VERSION, server_generation: generation }
  batch.add({ type: 'restart', to: 'everyone', make: () => body, merge: { key: 'restart', join: (_, after) => after } })
  batch.deliver()
}

function authenticate(
  realm: Realm,
  { user: email, withSecret }: BasicCredentials,
  host: string | undefined,
): AuthenticatedCaller<User> {
  const { user, apiKey } = withSecret((key) => findByKey(realm, email, key, host))
  const session = sessionOf(realm, user, apiKey, `user ${payerOf(user)}`)
  noteUse(realm, apiKey)
  noteHost(realm, user, host)
  return session
}

function authenticateSession(
  realm: Realm,
  secret: string,
  host: string | undefined,
): { session: AuthenticatedCaller<User>; cookie: string | null } {
  const { user, apiKey, session } = findBySession(realm, secret)
  const caller = sessionOf(realm, user, apiKey, `user ${payerOf(user)}`)
  const isFirstOfDay = noteUse(realm, apiKey)
  noteHost(realm, user, host)
  return { session: caller, cookie: isFirstOfDay && session.remember ? sessionCookie(secret, SESSION_DAYS) : null }
}

/** Webhooks have their own rate limit, so that a flood of alerts does not use up that of the bot's owner. */
function authenticateWebhook(realm: Realm, key: string, host: string | undefined): AuthenticatedCaller<User> {
  const { user, apiKey } = findWebhookByKey(realm, key)
  const session = sessionOf(realm, user, apiKey, `webhooks of ${payerOf(user)}`)
  noteUse(realm, apiKey)
  noteHost(realm, user, host)
  return session
}

/** `name`: the caller in the rate limiter. Throws if the account or the organization is deactivated. */
function sessionOf(realm: Realm, user: User, apiKey: ApiKey, name: string): AuthenticatedCaller<User> {
  const current = (): User => {
    const now = realm.state.user.get(user.id)
    const stored = realm.state.apiKey.get(apiKey.hash)
    if (now === undefined || stored === undefined || isOver(realm, stored))
      throw new ChatError('INVALID_API_KEY', 'Invalid API key')
    if (isDeactivated(realm)) throw new ChatError('REALM_DEACTIVATED', 'This organization has been deactivated')
    if (!now.isActive) throw new ChatError('USER_DEACTIVATED', 'Account is deactivated')
    return now
  }
  current()
  const credential = { id: apiKey.id, isSession: apiKey.session !== undefined }
  return { name, account: user.id, payer: `user ${payerOf(user)}`, credential, current }
}

const WHO: Readonly<Record<Who, (me: User) => boolean>> = {
  nobody: () => true,
  anyone: () => true,
  sender: () => true,
  webhook: (me) => isWebhookBot(me),
  account: () => true,
  human: (me) => me.bot === null,
  member: (me) => atLeast(me.role, ROLES.member),
  moderator: (me) => atLeast(me.role, ROLES.moderator),
  administrator: (me) => atLeast(me.role, ROLES.administrator),
  owner: (me) => atLeast(me.role, ROLES.owner),
}

const MEANT: Partial<Record<Who, string>> = {
  webhook: 'This endpoint accepts incoming webhook bots only',
  human: 'This endpoint does not accept bot requests',
  member: 'Not allowed for guest users',
  moderator: 'Must be an organization moderator',
  administrator: 'Must be an organization administrator',
  owner: 'Must be an organization owner',
}

function authorize(who: Who, me: User | null): void {
  if (me === null) {
    if (who !== 'nobody' && who !== 'anyone')
      throw new ChatError('UNAUTHENTICATED_USER', 'Not logged in: API authentication or user session required')
    return
  }
  if (me.bot?.type === BOT_TYPES.incomingWebhook && !['nobody', 'sender', 'webhook'].includes(who))
    throw new ChatError('UNAUTHORIZED', 'This API is not available to incoming webhook bots.')
  if (!WHO[who](me)) throw new ChatError('BAD_REQUEST', defined(MEANT[who]))
}

const noConnection = async (): Promise<never> => {
  throw new OutgoingError('this chat has no connections to others', true)
}
