/**
 * Manages the organization on disk. Each generation has a directory, and the appliance decides which one is current. A generation that is
 * being restored or created is therefore next to the current one until the appliance switches, which is atomic.
 */

import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { defined } from '../../base/defined.ts'
import { createDiskSpace, readDiskUsage } from '../../base/disk-space.ts'
import { CofferError } from '../../base/error.ts'
import type { Log } from '../../base/log.ts'
import { type Random, systemRandom } from '../../crypto/random.ts'
import type { CryptoPool } from '../../crypto/types.ts'
import { onDisk } from '../../store/failure.ts'
import type { ChatAuditEvent } from '../link/chat-audit-event.ts'
import { type Ask, GENERATION, type Statistics } from '../link/link.ts'
import type { WebPushSettings } from '../link/web-push.ts'
import type { Post } from '../outgoing/bot-calls.ts'
import type { SendPush } from '../outgoing/web-push.ts'
import { organizationOf } from '../realm/model/state.ts'
import { changeOperatorSettings, operatorSettings } from '../realm/organization/operator/operator.ts'
import { createIncomingGeneration } from '../store/incoming.ts'
import { type Commits, DATABASES } from '../store/store.ts'
import { type Chat, createChat } from './chat.ts'
import { type CommitCounter, openCommitCounter } from './commit-counter.ts'

interface OrganizationsOptions {
  directory: string
  pool: Pick<CryptoPool, 'scrypt'>
  clock: Clock
  log: Log
  record: (act: ChatAuditEvent) => Promise<void> | undefined
  post: Post
  push: SendPush
  webPush: () => WebPushSettings | null
  /** Sends the sealed commit counts, which the appliance stores and passes to `open`. */
  keep: (generation: string, sealed: Uint8Array) => void
  auditGrowthBytes: () => number
  random?: Random
}

/** The listener answers the others. */
export type OrganizationAsk = Exclude<Ask, { do: 'challenges' }>

export interface Organizations {
  readonly current: Chat | undefined
  readonly name: string | null
  /** Executes a request of the appliance and returns its answer. Throws a CofferError or a ChatError. */
  take(ask: OrganizationAsk): Promise<unknown>
  /** Saves the queues and wipes the key. */
  close(): void
}

const KEEP_INTERVAL_MS = 60_000

export function createOrganizations(options: OrganizationsOptions): Organizations {
  const { directory, pool, clock, log, record, keep, auditGrowthBytes, random = systemRandom } = options
  let open: { chat: Chat; generation: string; keeper: CommitCounter; timer: NodeJS.Timeout } | undefined
  const incoming = createIncomingGeneration(directory)
  const space = createDiskSpace(() => readDiskUsage(directory), auditGrowthBytes)

  const pathOf = (generation: string): string => {
    if (!GENERATION.test(generation)) throw new CofferError('invalid', 'That is not a generation')
    return join(directory, generation)
  }
  const expectOpen = (): Chat => {
    if (open === undefined) throw new CofferError('unavailable', 'The chat is not open')
    return open.chat
  }
  const close = () => {
    const closing = open
    open = undefined
    if (closing === undefined) return
    const { chat, generation, keeper, timer } = closing
    clearInterval(timer)
    try {
      const commits = chat.close()
      if (commits !== null) keepCommits(generation, keeper, commits)
    } finally {
      keeper.close()
    }
  }
  const keepCommits = (generation: string, keeper: CommitCounter, commits: Commits) => {
    const sealed = keeper.seal(commits)
    if (sealed !== null) keep(generation, sealed)
  }
  const begin = (chat: Chat, generation: string, chatKey: Uint8Array, kept: Uint8Array | null) => {
    const { store } = chat.realm
    const report = (problem: string) => log.error('chat', problem)
    const commits = commitsOf(chat)
    const damaged = DATABASES.filter((name) => store.logEnds[name] === 'damaged')
    const keeper = openCommitCounter({ generation, chatKey, random, kept, commits, damaged, report })
    const keepNow = () => {
      try {
        keepCommits(generation, keeper, store.commitsOfEach())
      } catch (error) {
        if (!(error instanceof CofferError)) throw error
        report(`cannot store the commit counts: ${error.message}`)
      }
    }
    open = { chat, generation, keeper, timer: setInterval(keepNow, KEEP_INTERVAL_MS).unref() }
    keepNow()
  }
  const clear = (generation?: string) =>
    onDisk(() => {
      for (const name of readdirSync(directory))
        if (name !== generation) rmSync(join(directory, name), { recursive: true, force: true })
    })
  const openGeneration = (generation: string, chatKey: Uint8Array): Chat =>
    createChat({
      directory: pathOf(generation),
      chatKey,
      log,
      clock,
      derive: (password, salt, cost) => pool.scrypt(password, salt, cost),
      record,
      auditGrowthBytes,
      post: options.post,
      push: options.push,
      webPush: options.webPush,
    })

  async function take(ask: OrganizationAsk): Promise<unknown> {
    switch (ask.do) {
      case 'open':
        close()
        for (const name of DATABASES)
          if (!existsSync(join(pathOf(ask.generation), name))) throw new CofferError('storage', `${name} is missing`)
        clear(ask.generation)
        begin(openGeneration(ask.generation, ask.chatKey), ask.generation, ask.chatKey, ask.kept)
        return undefined
      case 'create': {
        close()
        clear()
        const chat = openGeneration(ask.generation, ask.chatKey)
        try {
          await chat.createOrganization(ask.organization, new TextDecoder().decode(ask.password))
        } catch (error) {
          chat.close()
          clear()
          throw error
        }
        begin(chat, ask.generation, ask.chatKey, null)
        return undefined
      }
      case 'erase':
        close()
        clear()
        return undefined
      case 'figures':
        return { ...figuresOf(expectOpen(), pathOf(defined(open).generation)), older: [...defined(open).keeper.older] }
      case 'settings':
        return operatorSettings(expectOpen().realm)
      case 'changeSettings':
        return changeOperatorSettings(expectOpen().realm, ask.changes)
      case 'recoverOwner':
        return expectOpen().recoverOwner(ask.email, new TextDecoder().decode(ask.password))
      case 'beginCopy':
        return expectOpen().realm.store.copying.begin()
      case 'readCopy':
        return expectOpen().realm.store.copying.read(ask.name, ask.offset, ask.bytes)
      case 'endCopy':
        return open?.chat.realm.store.copying.end()
      case 'receive':
        pathOf(ask.generation)
        return incoming.begin(ask.generation)
      case 'write':
        space.expectRoom('records', ask.bytes.length) // a restore may not use the reserve either
        return incoming.write(ask.name, ask.bytes)
      case 'received':
        return incoming.finish()
    }
  }

  return {
    get current() {
      return open?.chat
    },
    get name() {
      const organization = open?.chat.hasOrganization ? organizationOf(open.chat.realm.state) : undefined
      return organization?.name ?? null
    },
    take,
    close,
  }
}

/** Closes the chat if its counts cannot be read. Throws `storage`. */
function commitsOf(chat: Chat): Commits {
  try {
    return chat.realm.store.commitsOfEach()
  } catch (error) {
    chat.close()
    throw error
  }
}

function figuresOf({ realm, exportKey }: Chat, directory: string): Omit<Statistics, 'older'> {
  const { name, url } = organizationOf(realm.state)
  const sizes = readdirSync(directory).map((file) => statSync(join(directory, file)).size)
  return {
    name,
    url,
    users: [...realm.state.user.all()].filter(({ isActive, isSystemBot }) => isActive && !isSystemBot).length,
    messages: realm.store.messages.count(),
    bytes: sizes.reduce((a, b) => a + b, 0),
    queues: realm.events.size,
    commits: realm.store.commits,
    exportKey,
  }
}
