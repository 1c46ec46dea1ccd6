// @test short slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CAPABILITIES } from '../../../firmware/chat/events/shapes.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { visibilityOf } from '../../../firmware/chat/realm/permissions/visibility.ts'
import { type Client, openTestChat, type TestChat } from '../support/chat.ts'
import { type Capabilities, ModelClient } from './client.ts'
import { learnChannels, OPERATION_NAMES, Random, step, type World } from './operations.ts'

/** In all; each run has one set of capabilities. */
const OPERATIONS = process.env.COFFER_SLOW === undefined ? 600 : 10_000
const BETWEEN_CHECKS = 15

const all = (on: boolean): Capabilities => Object.fromEntries(CAPABILITIES.map((name) => [name, on]))
const SETS: [name: string, capabilities: Capabilities, isLimited: boolean][] = [
  ['all', all(true), false],
  ['none', all(false), false],
  ['all, guests limited', all(true), true],
  ['none, guests limited', all(false), true],
  ...(process.env.COFFER_SLOW === undefined ? ['archived_channels', 'empty_topic_name'] : CAPABILITIES).flatMap(
    (name): [string, Capabilities, boolean][] => [[`all but ${name}`, { ...all(true), [name]: false }, false]],
  ),
]

const tried = new Set<string>()

const seed = Number(process.env.COFFER_SEED ?? 300)

SETS.forEach(([name, capabilities, isLimited], index) => {
  test(`what a client is told adds up to what it would be told anew; capabilities: ${name}`, async () => {
    const rig = await openTestChat()
    try {
      const clients = [
        rig.owner,
        rig.account('moderator', ROLES.moderator),
        rig.account('member'),
        rig.account('guest', ROLES.guest),
        await botOf(rig),
      ]
      const random = new Random(seed + index)
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
      const watch = (client: Client) => watchAs(client, capabilities, readableBy(rig, client))
      for (const name of ['general', 'random'])
        await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name }] })
      await learnChannels(world)
      if (isLimited) await limitGuests(rig)
      let watched = await Promise.all(clients.map(watch))
      for (let count = 1; count <= OPERATIONS / SETS.length; count += 1) {
        await step(world)
        rig.advance(random.below(20))
        if (count % BETWEEN_CHECKS !== 0) continue
        for (const watcher of watched) found.push(...(await watcher.differences()))
        assert.deepEqual(found, [], `after ${world.log.slice(-BETWEEN_CHECKS).join('\n')}`)
        watched = await Promise.all(clients.map(watch))
      }
      for (const name of [...world.done.keys(), ...world.refused.keys()]) tried.add(name)
    } finally {
      rig.close()
    }
  })
})

/** Contract section 7.7. */
async function limitGuests({ chat, owner }: TestChat): Promise<void> {
  const members = chat.realm.state.groupByName.get('role:members')!.id
  await owner.patch('/realm', { can_access_all_users_group: { new: members } })
}

if (OPERATIONS >= 10_000)
  test('every operation was tried', () => {
    assert.deepEqual(
      OPERATION_NAMES.filter((name) => !tried.has(name)),
      [],
    )
  })

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

async function watchAs(client: Client, capabilities: Capabilities, isReadable: Readable): Promise<Watcher> {
  const register = () =>
    client.call('POST', '/register', {
      client_capabilities: capabilities,
      include_subscribers: true,
      slim_presence: true,
    })
  const { body: before, status } = await register()
  // A deactivated account cannot register; it is watched again once it is reactivated.
  if (status === 401) return { differences: async () => [] }
  assert.equal(status, 200, JSON.stringify(before))
  // Of what somebody starred and cannot read nothing is told, nor that it is deleted or can be read again.
  const hidden = new Set(before.starred_messages.filter((id: number) => isReadable(id) !== true))
  before.starred_messages = before.starred_messages.filter((id: number) => !hidden.has(id))
  const model = new ModelClient(before, capabilities)
  return {
    async differences() {
      const answer = await client.call('GET', '/events', {
        queue_id: before.queue_id,
        last_event_id: -1,
        dont_block: true,
      })
      // Whoever was deactivated in between has no queue any more.
      if (answer.status !== 200) return []
      const { body: now, status } = await register()
      if (status === 401) return []
      for (const event of answer.body.events) model.apply(event)
      const isCompared = (id: number) => isReadable(id) !== false && !hidden.has(id)
      for (const state of [now, model.state]) state.starred_messages = state.starred_messages.filter(isCompared)
      await client.call('DELETE', '/events', { queue_id: before.queue_id })
      await client.call('DELETE', '/events', { queue_id: now.queue_id })
      return model.differences(now).map((text) => `${client.user.fullName} ${text}`)
    },
  }
}
