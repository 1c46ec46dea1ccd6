/** Random operations in a chat, and clients that must know by events what a new registration answers. */

import assert from 'node:assert/strict'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { visibilityOf } from '../../../firmware/chat/realm/permissions/visibility.ts'
import { type Client, openTestChat, type TestChat } from '../support/chat.ts'
import { learnChannels, Random, step, type World } from './operations.ts'

const BETWEEN_CHECKS = 15

// biome-ignore lint/suspicious/noExplicitAny: an answer of JSON, whose members are looked at by name
export type Json = any

export interface Model {
  apply(event: Json): void
  /** Where what it was told is not what a new registration answers. Nothing tells of starred messages that are not compared. */
  differences(snapshot: Json, isCompared: (messageId: number) => boolean): string[]
}

interface Script {
  seed: number
  operations: number
  isLimited: boolean
  /** Parameters of POST /register. */
  registration: Readonly<Record<string, unknown>>
  withBot: boolean
  create: (snapshot: Json) => Model
}

/** Throws at the first difference. Returns what was tried. */
export async function run({ seed, operations, isLimited, registration, withBot, create }: Script): Promise<World> {
  const rig = await openTestChat()
  try {
    const people = [
      rig.owner,
      rig.account('moderator', ROLES.moderator),
      rig.account('member'),
      rig.account('guest', ROLES.guest),
    ]
    const clients = [...people, await botOf(rig)]
    const random = new Random(seed)
    const world: World = {
      random,
      clients,
      messages: [],
      channels: [],
      users: clients.map(({ user }) => user.id),
      done: new Map(),
      refused: new Map(),
      log: [],
    }
    const found: string[] = []
    const watchAll = () =>
      Promise.all(
        (withBot ? clients : people).map((client) => watchAs(client, registration, create, readableBy(rig, client))),
      )
    for (const name of ['general', 'random'])
      await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name }] })
    await learnChannels(world)
    if (isLimited) await limitGuests(rig)
    let watched = await watchAll()
    for (let count = 1; count <= operations; count += 1) {
      await step(world)
      rig.advance(random.below(20))
      if (count % BETWEEN_CHECKS !== 0) continue
      for (const watcher of watched) found.push(...(await watcher.differences()))
      assert.deepEqual(found, [], `after ${world.log.slice(-BETWEEN_CHECKS).join('\n')}`)
      watched = await watchAll()
    }
    return world
  } finally {
    rig.close()
  }
}

/** Contract section 7.7. */
async function limitGuests({ chat, owner }: TestChat): Promise<void> {
  const members = chat.realm.state.groupByName.get('role:members')!.id
  await owner.patch('/realm', { can_access_all_users_group: { new: members } })
}

async function botOf(rig: TestChat): Promise<Client> {
  const { user_id } = await rig.owner.post('/bots', { full_name: 'Robot', short_name: 'robot' })
  return rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
}

interface Watcher {
  /** Where the snapshot of before with the events since is not the one of now. */
  differences(): Promise<string[]>
}

/** Null of a message that is not there. */
type Readable = (id: number) => boolean | null

function readableBy({ chat: { realm } }: TestChat, { user }: Client): Readable {
  return (id) => {
    const row = realm.store.messages.get(id)
    return row === undefined ? null : visibilityOf(realm, realm.state.user.get(user.id)!).canRead(row)
  }
}

async function watchAs(
  client: Client,
  registration: Script['registration'],
  create: Script['create'],
  isReadable: Readable,
): Promise<Watcher> {
  const register = () => client.call('POST', '/register', registration)
  const { body: before, status } = await register()
  // A deactivated account cannot register; it is watched again once it is reactivated.
  if (status === 401) return { differences: async () => [] }
  assert.equal(status, 200, JSON.stringify(before))
  // Users learn nothing about starred messages that they cannot read: neither a deletion nor that they can read them again.
  const starred: number[] = before.starred_messages ?? []
  const hidden = new Set(starred.filter((id) => isReadable(id) !== true))
  const isCompared = (id: number) => isReadable(id) !== false && !hidden.has(id)
  const model = create(before)
  return {
    async differences() {
      const answer = await client.call('GET', '/events', {
        queue_id: before.queue_id,
        last_event_id: -1,
        dont_block: true,
      })
      // Users who were deactivated in between have no queue any more.
      if (answer.status !== 200) return []
      const { body: now, status } = await register()
      if (status === 401) return []
      for (const event of answer.body.events) model.apply(event)
      await client.call('DELETE', '/events', { queue_id: before.queue_id })
      await client.call('DELETE', '/events', { queue_id: now.queue_id })
      return model.differences(now, isCompared).map((text) => `${client.user.fullName} ${text}`)
    },
  }
}
