/** Random operations in a chat: each may be refused, none may fail. Contract section 3. */

import assert from 'node:assert/strict'
import type { Answer, Client } from '../support/chat.ts'

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** A whole number below `bound`; mulberry32. */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * bound)
  }

  chance(part: number): boolean {
    return this.below(1000) < part * 1000
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  some<T>(list: readonly T[]): T[] {
    return list.filter(() => this.chance(0.4))
  }
}

export interface World {
  random: Random
  clients: Client[]
  /** Ids of messages that were sent, of channels and of all accounts; some are gone. */
  messages: number[]
  channels: number[]
  users: number[]
  done: Map<string, number>
  refused: Map<string, number>
  log: string[]
}

type Operation = (world: World, me: Client, random: Random) => Promise<Answer>

const TOPICS = ['', 'plans', 'Plans', 'lunch', '✔ plans', 'a.b']
const CHANNELS = ['general', 'secret', 'random', 'announce', 'Ünder']
const EMOJI = ['smile', 'heart', 'tada', '+1']

const RIGHTS = [
  'can_delete_any_message_group',
  'can_delete_own_message_group',
  'can_create_public_channel_group',
  'can_move_messages_between_topics_group',
  'can_resolve_topics_group',
  'direct_message_initiator_group',
]

const GROUP_IDS = [1, 2, 3, 4, 5, 6, 7, 8]

const flag = (random: Random) => random.of(['true', 'false'])
const message = ({ messages }: World, random: Random) => (messages.length === 0 ? 1 : random.of(messages.slice(-40)))

const OPERATIONS: Record<string, [weight: number, Operation]> = {
  'send to a channel': [
    12,
    async ({ messages, channels, users }, me, random) => {
      const content = random.of([
        'hello',
        '@**all** come',
        `@**|${random.of(users)}** see`,
        'lunch in the kitchen',
        '# a\n* b',
      ])
      const answer = await me.call('POST', '/messages', {
        type: 'channel',
        to: random.of(channels.length === 0 ? [1] : channels),
        topic: random.of(TOPICS),
        content,
        read_by_sender: random.chance(0.5),
      })
      if (answer.body.id !== undefined) messages.push(answer.body.id)
      return answer
    },
  ],
  'send to people': [
    6,
    async ({ messages, users }, me, random) => {
      const to = random.some(users)
      const answer = await me.call('POST', '/messages', {
        type: 'direct',
        to: to.length === 0 ? [me.user.id] : to,
        content: 'psst',
      })
      if (answer.body.id !== undefined) messages.push(answer.body.id)
      return answer
    },
  ],
  'edit a message': [
    5,
    (world, me, random) =>
      me.call('PATCH', `/messages/${message(world, random)}`, {
        content: random.of(['better', '@**all** now', 'lunch', `@**|${random.of(world.users)}**`]),
      }),
  ],
  'move messages': [
    5,
    (world, me, random) =>
      me.call('PATCH', `/messages/${message(world, random)}`, {
        topic: random.of(TOPICS),
        ...(random.chance(0.5) && world.channels.length > 0 ? { stream_id: random.of(world.channels) } : {}),
        propagate_mode: random.of(['change_one', 'change_later', 'change_all']),
        send_notification_to_old_thread: random.chance(0.3),
        send_notification_to_new_thread: random.chance(0.3),
      }),
  ],
  'delete a message': [3, (world, me, random) => me.call('DELETE', `/messages/${message(world, random)}`)],
  react: [
    3,
    (world, me, random) =>
      me.call(random.of(['POST', 'DELETE']), `/messages/${message(world, random)}/reactions`, {
        emoji_name: random.of(EMOJI),
      }),
  ],
  'mark messages': [
    8,
    (world, me, random) =>
      me.call('POST', '/messages/flags', {
        messages: random.some(world.messages.slice(-20)),
        op: random.of(['add', 'remove']),
        flag: random.of(['read', 'starred', 'collapsed']),
      }),
  ],
  'mark a narrow': [
    2,
    (_, me, random) =>
      me.call('POST', '/messages/flags/narrow', {
        anchor: 'newest',
        num_before: 20,
        num_after: 0,
        narrow: [{ operator: 'is', operand: 'unread' }],
        op: random.of(['add', 'remove']),
        flag: random.of(['read', 'starred']),
      }),
  ],
  'mark all': [1, (_, me) => me.call('POST', '/mark_all_as_read')],
  'mark a topic': [
    2,
    ({ channels }, me, random) =>
      me.call('POST', '/mark_topic_as_read', { stream_id: random.of([1, ...channels]), topic_name: random.of(TOPICS) }),
  ],
  subscribe: [
    6,
    async (world, me, random) => {
      const names = random.some(CHANNELS).map((name) => ({ name }))
      const answer = await me.call('POST', '/users/me/subscriptions', {
        subscriptions: names,
        ...(random.chance(0.4) ? { principals: random.some(world.users) } : {}),
        ...(random.chance(0.3) ? { invite_only: true, history_public_to_subscribers: random.chance(0.5) } : {}),
        is_default_stream: random.chance(0.1),
      })
      await learnChannels(world)
      return answer
    },
  ],
  unsubscribe: [
    4,
    ({ users }, me, random) =>
      me.call('DELETE', '/users/me/subscriptions', {
        subscriptions: random.some(CHANNELS),
        ...(random.chance(0.3) ? { principals: random.some(users) } : {}),
      }),
  ],
  'set a subscription': [
    4,
    ({ channels }, me, random) => {
      const [property, value] = random.of<[string, unknown]>([
        ['color', random.of(['#76ce90', '#123456'])],
        ['is_muted', random.chance(0.5)],
        ['in_home_view', random.chance(0.5)],
        ['pin_to_top', random.chance(0.5)],
        ['desktop_notifications', random.chance(0.5)],
        ['wildcard_mentions_notify', random.chance(0.5)],
      ])
      const stream_id = random.of([1, ...channels])
      return me.call('POST', '/users/me/subscriptions/properties', {
        subscription_data: [{ stream_id, property, value }],
      })
    },
  ],
  'set a topic': [
    3,
    ({ channels }, me, random) =>
      me.call('POST', '/user_topics', {
        stream_id: random.of([1, ...channels]),
        topic: random.of(TOPICS),
        visibility_policy: random.below(4),
      }),
  ],
  'change a channel': [
    5,
    ({ channels, users }, me, random) => {
      const group = random.of([5, 6, 7, { direct_members: random.some(users), direct_subgroups: [] }, 9, 10])
      const values = random.of<Record<string, unknown>>([
        { new_name: random.of(CHANNELS) },
        { new_name: `Name ${random.below(5)}`, description: random.of(['', 'of *all*', 'other']) },
        { is_private: random.chance(0.5) },
        { is_private: random.chance(0.5), history_public_to_subscribers: random.chance(0.5) },
        { is_default_stream: random.chance(0.5) },
        { is_archived: false },
        { is_archived: random.chance(0.2) },
        { folder_id: random.of([null, 1, 2]) },
        { topics_policy: random.of(['inherit', 'disable_empty_topic']) },
        { can_subscribe_group: { new: group } },
        { can_add_subscribers_group: { new: group } },
        { can_administer_channel_group: { new: group } },
        { can_send_message_group: { new: group } },
        { can_remove_subscribers_group: { new: group } },
        { message_retention_days: random.of(['realm_default', 'unlimited', 5]) },
      ])
      return me.call('PATCH', `/streams/${random.of([1, ...channels])}`, values)
    },
  ],
  'change a folder': [
    2,
    (_, me, random) => {
      const name = random.of(['Plays', 'Poems', 'Others'])
      if (random.chance(0.5)) return me.call('POST', '/channel_folders/create', { name })
      if (random.chance(0.3))
        return me.call('PATCH', '/channel_folders', { order: random.of([[1], [2, 1], [1, 2], [2, 3, 1]]) })
      const changes = random.of([{ name }, { description: name }, { is_archived: random.chance(0.5) }])
      return me.call('PATCH', `/channel_folders/${random.of([1, 2, 3])}`, changes)
    },
  ],
  'change channels for new people': [
    2,
    ({ channels }, me, random) => {
      const stream_names = random.some(CHANNELS)
      const path = '/default_stream_groups'
      if (random.chance(0.3))
        return me.call(random.of(['POST', 'DELETE']), '/default_streams', { stream_id: random.of([1, ...channels]) })
      if (random.chance(0.4))
        return me.call('POST', `${path}/create`, {
          group_name: `Set ${random.below(4)}`,
          description: '',
          stream_names,
        })
      if (random.chance(0.2)) return me.call('DELETE', `${path}/${random.of([1, 2, 3])}`)
      const values = { op: random.of(['add', 'remove']), stream_names }
      return me.call('PATCH', `${path}/${random.of([1, 2, 3])}/streams`, values)
    },
  ],
  'delete a topic': [
    1,
    ({ channels }, me, random) =>
      me.call('POST', `/streams/${random.of([1, ...channels])}/delete_topic`, { topic_name: random.of(TOPICS) }),
  ],
  'mark a channel': [
    1,
    ({ channels }, me, random) => me.call('POST', '/mark_stream_as_read', { stream_id: random.of([1, ...channels]) }),
  ],
  'change a group': [
    5,
    ({ users }, me, random) => {
      const [id, other] = [random.of([9, 10, 11]), random.of([2, 5, 9, 10, 11])]
      const name = `Group ${random.below(6)}`
      return random.of([
        () => me.call('POST', '/user_groups/create', { name, description: '', members: random.some(users) }),
        () => me.call('PATCH', `/user_groups/${id}`, { name }),
        () => me.call('PATCH', `/user_groups/${id}`, { deactivated: false }),
        () => me.call('PATCH', `/user_groups/${id}`, { can_join_group: { new: other } }),
        () => me.call('POST', `/user_groups/${id}/members`, { [random.of(['add', 'delete'])]: [random.of(users)] }),
        () => me.call('POST', `/user_groups/${id}/subgroups`, { [random.of(['add', 'delete'])]: [other] }),
        () => me.call('POST', `/user_groups/${id}/deactivate`),
      ])()
    },
  ],
  'archive a channel': [1, ({ channels }, me, random) => me.call('DELETE', `/streams/${random.of([1, ...channels])}`)],
  'change a user': [
    2,
    ({ users }, me, random) =>
      me.call(
        'PATCH',
        `/users/${random.of(users)}`,
        random.chance(0.5)
          ? { full_name: `Name ${random.of(['One', 'Two', 'Three'])} ${random.below(50)}` }
          : { role: random.of([100, 200, 300, 400, 600]) },
      ),
  ],
  'deactivate a user': [1, ({ users }, me, random) => me.call('DELETE', `/users/${random.of(users)}`)],
  'reactivate a user': [2, ({ users }, me, random) => me.call('POST', `/users/${random.of(users)}/reactivate`)],
  'make a user': [
    1,
    async ({ users }, me, random) => {
      if (users.length > 12) return me.call('GET', '/users/me')
      const name = `user${random.below(1e6)}`
      const answer = await me.call('POST', '/users', {
        email: `${name}@example.com`,
        password: 'long enough text',
        full_name: `New ${name}`,
      })
      if (answer.body.user_id !== undefined) users.push(answer.body.user_id)
      return answer
    },
  ],
  'set a status': [
    2,
    (_, me, random) =>
      me.call(
        'POST',
        '/users/me/status',
        random.of([
          { status_text: 'out' },
          { status_text: '' },
          { emoji_name: 'smile' },
          { away: true },
          { away: false },
        ]),
      ),
  ],
  'be present': [
    2,
    (_, me, random) =>
      me.call('POST', '/users/me/presence', { status: random.of(['active', 'idle']), last_update_id: -1 }),
  ],
  'set alert words': [
    1,
    (_, me, random) =>
      me.call(random.of(['POST', 'DELETE']), '/users/me/alert_words', { alert_words: random.some(['lunch', 'psst']) }),
  ],
  'mute a user': [
    1,
    ({ users }, me, random) => me.call(random.of(['POST', 'DELETE']), `/users/me/muted_users/${random.of(users)}`),
  ],
  'change a setting': [
    3,
    (_, me, random) =>
      me.call('PATCH', '/settings', {
        ...random.of<Record<string, unknown>>([
          { enter_sends: flag(random) },
          { presence_enabled: flag(random) },
          { color_scheme: random.of([1, 2, 3]) },
          { timezone: random.of(['', 'Europe/Berlin']) },
          { enable_stream_desktop_notifications: flag(random) },
          { email_address_visibility: random.of([1, 2, 3, 4, 5]) },
          { full_name: `Own ${random.below(50)}` },
        ]),
      }),
  ],
  'take a step': [
    1,
    (_, me) => me.call('POST', '/users/me/onboarding_steps', { onboarding_step: 'intro_inbox_view_modal' }),
  ],
  'make a bot': [
    1,
    async ({ users }, me, random) => {
      if (users.length > 12) return me.call('GET', '/bots')
      const answer = await me.call('POST', '/bots', {
        full_name: `Bot ${random.below(1e6)}`,
        short_name: `b${random.below(1e6)}`,
      })
      if (answer.body.user_id !== undefined) users.push(answer.body.user_id)
      return answer
    },
  ],
  'change a bot': [
    1,
    ({ users }, me, random) =>
      me.call(
        'PATCH',
        `/bots/${random.of(users)}`,
        random.of<Record<string, unknown>>([
          { full_name: `Robot ${random.below(50)}` },
          { bot_owner_id: random.of(users) },
        ]),
      ),
  ],
  'deactivate a bot': [1, ({ users }, me, random) => me.call('DELETE', `/bots/${random.of(users)}`)],
  'delete what somebody wrote': [
    1,
    ({ users }, me, random) =>
      me.call('DELETE', `/users/${random.of(users)}`, {
        actions: {
          delete_public_channel_messages: random.chance(0.5),
          delete_private_channel_messages: random.chance(0.5),
          delete_direct_messages: random.chance(0.5),
        },
      }),
  ],
  'set the organization': [
    3,
    ({ channels }, me, random) =>
      me.call(
        'PATCH',
        '/realm',
        random.of<Record<string, unknown>>([
          { name: `Castle ${random.below(9)}` },
          { description: random.of(['', 'old']) },
          { topics_policy: random.of(['allow_empty_topic', 'disable_empty_topic']) },
          { message_content_edit_limit_seconds: random.of(['unlimited', 60]) },
          { message_edit_history_visibility_policy: random.of(['all', 'moves', 'none']) },
          { new_stream_announcements_stream_id: random.of([-1, ...channels]) },
          { waiting_period_threshold: random.of([0, 3]) },
          { require_unique_names: flag(random) },
        ]),
      ),
  ],
  'set a right': [
    2,
    ({ users }, me, random) =>
      me.call('PATCH', '/realm', {
        [random.of(RIGHTS)]: {
          new: random.of<unknown>([...GROUP_IDS, { direct_members: random.some(users), direct_subgroups: [] }]),
        },
      }),
  ],
  'set what others begin with': [
    1,
    (_, me, random) => me.call('PATCH', '/realm/user_settings_defaults', { color_scheme: random.of([1, 2, 3]) }),
  ],
  'change linkifiers': [
    1,
    (_, me, random) =>
      random.chance(0.6)
        ? me.call('POST', '/realm/filters', { pattern: `k${random.below(9)}`, url_template: 'https://x.example' })
        : me.call('DELETE', `/realm/filters/${1 + random.below(9)}`),
  ],
  'change domains': [
    1,
    (_, me, random) =>
      me.call(random.of(['POST', 'PATCH', 'DELETE']), '/realm/domains', {
        domain: random.of(['a.example', 'b.example']),
        allow_subdomains: flag(random),
      }),
  ],
  'change profile fields': [
    1,
    (_, me, random) =>
      random.chance(0.6)
        ? me.call('POST', '/realm/profile_fields', { field_type: 1, name: `Field ${random.below(5)}` })
        : me.call('DELETE', `/realm/profile_fields/${1 + random.below(5)}`),
  ],
  'tell of oneself': [
    2,
    (_, me, random) =>
      me.call('PATCH', '/users/me/profile_data', {
        data: [{ id: 1 + random.below(5), value: random.of(['', 'a', '*b*']) }],
      }),
  ],
  vote: [
    1,
    async (world, me, random) => {
      const message_id = message(world, random)
      const widget = { widget_type: 'poll', extra_data: { question: 'Lunch?', options: [] } }
      const vote = { type: 'vote', key: 'canned,0', vote: 1 }
      const content = JSON.stringify(random.of<unknown>([widget, vote]))
      return me.call('POST', '/submessage', { message_id, msg_type: 'widget', content })
    },
  ],
  type: [
    1,
    ({ users }, me, random) => me.call('POST', '/typing', { op: random.of(['start', 'stop']), to: [random.of(users)] }),
  ],
}

const CHOICES = Object.entries(OPERATIONS).flatMap(([name, [weight, run]]) =>
  Array.from({ length: weight }, () => ({ name, run })),
)

export const OPERATION_NAMES = Object.keys(OPERATIONS)

export async function step(world: World): Promise<void> {
  const { name, run } = world.random.of(CHOICES)
  const me = world.random.of(world.clients)
  const calls: string[] = []
  const noting: Client = {
    ...me,
    call: (method, path, values) => {
      calls.push(`${method} ${path} ${JSON.stringify(values ?? {})}`)
      return me.call(method, path, values)
    },
  }
  const { status, body } = await run(world, noting, world.random)
  world.log.push(`${me.user.fullName} (${me.user.id}) ${calls[0]} ${status}`)
  assert.ok(status < 500, `${name} by ${me.user.fullName}: ${JSON.stringify(body)}`)
  const counted = status === 200 ? world.done : world.refused
  counted.set(name, (counted.get(name) ?? 0) + 1)
}

export async function learnChannels(world: World): Promise<void> {
  const { body } = await world.clients[0]!.call('GET', '/streams', { include_all: true })
  for (const { stream_id } of body.streams ?? [])
    if (!world.channels.includes(stream_id)) world.channels.push(stream_id)
}
