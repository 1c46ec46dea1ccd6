/**
 * A client that keeps what it was told when it registered up to date by events alone, as published clients do.
 * Contract 4.2 and 4.4.
 */

import assert from 'node:assert/strict'

// biome-ignore lint/suspicious/noExplicitAny: an answer of JSON, whose members are looked at by name
type Json = any

/** Members that no event reports, or that change by themselves. */
const UNTOLD = new Set([
  'queue_id',
  'last_event_id',
  'server_timestamp',
  'presence_last_update_id', // asked for with a presence, contract E79
  'server_generation',
  'msg',
  'result',
  // What follows from settings that are told; nobody is told of it any more.
  'realm_allow_edit_history',
  'realm_wildcard_mention_policy',
  'realm_create_public_stream_policy',
  'realm_create_private_stream_policy',
  'realm_create_web_public_stream_policy',
  'server_web_public_streams_enabled',
])

const UNTOLD_OF_CHANNELS = ['stream_weekly_traffic', 'is_recently_active']

/** Where clients do not know of inheriting, what is inherited changes with a setting of the account. */
const INHERITED = [
  'desktop_notifications',
  'audible_notifications',
  'push_notifications',
  'email_notifications',
  'wildcard_mentions_notify',
]

export interface Capabilities {
  [name: string]: boolean
}

export class ModelClient {
  readonly state: Json
  readonly #capabilities: Capabilities
  readonly #me: number
  #hasOtherSight = false

  constructor(snapshot: Json, capabilities: Capabilities) {
    this.state = structuredClone(snapshot)
    this.#capabilities = capabilities
    this.#me = snapshot.user_id
  }

  apply(event: Json): void {
    const handler = HANDLERS[event.type]
    assert.ok(handler !== undefined, `no client knows the event ${JSON.stringify(event)}`)
    if (event.type === 'stream' && event.op !== 'update') this.#hasOtherSight = true
    handler(this.state, event, this.#me, this.#capabilities)
  }

  /** Where what it was told is not what a new registration answers. */
  differences(snapshot: Json): string[] {
    const [told, asked] = [this.state, snapshot].map((state) => comparable(state, this.#capabilities))
    // What is starred in a channel that goes out of sight or comes back is not told.
    if (this.#hasOtherSight) told.starred_messages = asked.starred_messages
    return differences(told, asked)
  }
}

type Handler = (state: Json, event: Json, me: number, capabilities: Capabilities) => void

const byId = (list: Json[], name: string, id: unknown): Json | undefined => list.find((item) => item[name] === id)
const without = (list: Json[], name: string, ids: unknown[]) => list.filter((item) => !ids.includes(item[name]))

const HANDLERS: Record<string, Handler> = {
  alert_words: (state, { alert_words }) => {
    state.alert_words = alert_words
  },
  attachment: () => {},
  custom_profile_fields(state, { fields }) {
    const ids = fields.map(({ id }: Json) => String(id))
    for (const { profile_data } of [...state.realm_users, ...state.realm_non_active_users])
      for (const id of Object.keys(profile_data ?? {})) if (!ids.includes(id)) delete profile_data[id]
    state.custom_profile_fields = fields
  },
  channel_folder(state, { op, channel_folder, channel_folder_id, data, order }) {
    if (op === 'add') {
      state.channel_folders = without(state.channel_folders, 'id', [channel_folder.id])
      state.channel_folders.push(channel_folder)
    } else if (op === 'update') Object.assign(byId(state.channel_folders, 'id', channel_folder_id) ?? {}, data)
    else for (const folder of state.channel_folders) folder.order = order.indexOf(folder.id)
  },
  default_stream_groups: (state, { default_stream_groups }) => {
    state.realm_default_stream_groups = default_stream_groups
  },
  default_streams: (state, { default_streams }) => {
    state.realm_default_streams = default_streams
  },
  delete_message(state, event) {
    const ids: number[] = event.message_ids ?? [event.message_id]
    dropUnread(state, ids)
    state.starred_messages = state.starred_messages.filter((id: number) => !ids.includes(id))
  },
  message(state, { message, flags }, me) {
    state.max_message_id = Math.max(state.max_message_id, message.id)
    if (!flags.includes('read')) addUnread(state, message, flags, me)
    if (message.type === 'private') noteConversation(state, message, me)
  },
  muted_users: (state, { muted_users }) => {
    state.muted_users = muted_users
  },
  onboarding_steps: (state, { onboarding_steps }) => {
    state.onboarding_steps = onboarding_steps
  },
  presence(state, event) {
    if (event.presences !== undefined) Object.assign(state.presences, event.presences)
    else state.presences[event.email] = 'told'
  },
  reaction: () => {},
  realm(state, event) {
    const changed = event.op === 'update' ? { [event.property]: event.value } : event.data
    // Beside the description; a snapshot has the description alone.
    for (const [name, value] of Object.entries(changed))
      if (name !== 'rendered_description') state[`realm_${name}`] = value
  },
  realm_bot(state, { op, bot }) {
    if (op === 'add') state.realm_bots.push(bot)
    else if (op === 'delete') state.realm_bots = without(state.realm_bots, 'user_id', [bot.user_id])
    else Object.assign(byId(state.realm_bots, 'user_id', bot.user_id) ?? {}, bot)
  },
  realm_domains(state, { op, realm_domain, domain }) {
    state.realm_domains = without(state.realm_domains, 'domain', [domain ?? realm_domain.domain])
    if (op !== 'remove') state.realm_domains.push(realm_domain)
  },
  realm_emoji: (state, { realm_emoji }) => {
    state.realm_emoji = realm_emoji
  },
  realm_linkifiers: (state, { realm_linkifiers }) => {
    state.realm_linkifiers = realm_linkifiers
  },
  realm_playgrounds: (state, { realm_playgrounds }) => {
    state.realm_playgrounds = realm_playgrounds
  },
  realm_user: changeUser,
  realm_user_settings_defaults(state, { property, value }) {
    state.realm_user_settings_defaults[property] = value
  },
  stream: changeChannel,
  subscription: changeSubscription,
  submessage: () => {},
  typing: () => {},
  typing_edit_message: () => {},
  update_message: moveUnread,
  update_message_flags: changeFlags,
  user_group: changeGroup,
  user_settings(state, { property, value }) {
    state.user_settings[property] = value
    if (property in state) state[property] = value
  },
  user_status(state, event) {
    const { type: _, id: __, user_id, ...changed } = event
    const status = { ...state.user_status[user_id], ...changed }
    for (const name of Object.keys(status)) if (status[name] === '' || status[name] === false) delete status[name]
    if (status.emoji_name === undefined) {
      delete status.emoji_code
      delete status.reaction_type
    }
    if (Object.keys(status).length === 0) delete state.user_status[user_id]
    else state.user_status[user_id] = status
  },
  user_topic(state, { stream_id, topic_name, last_updated, visibility_policy }) {
    const same = (item: Json) =>
      item.stream_id === stream_id && item.topic_name.toLowerCase() === topic_name.toLowerCase()
    state.user_topics = state.user_topics.filter((item: Json) => !same(item))
    if (visibility_policy !== 0) state.user_topics.push({ stream_id, topic_name, last_updated, visibility_policy })
  },
}

function changeUser(state: Json, { op, person }: Json, me: number): void {
  const lists = ['realm_users', 'realm_non_active_users']
  if (op === 'add') {
    for (const list of lists) state[list] = without(state[list], 'user_id', [person.user_id])
    const { is_active: _, ...listed } = person
    state.realm_users.push(listed)
    return
  }
  if (op === 'remove') {
    for (const list of lists) state[list] = without(state[list], 'user_id', [person.user_id])
    delete state.user_status[person.user_id]
    return
  }
  const known = lists.map((list) => byId(state[list], 'user_id', person.user_id)).find((user) => user !== undefined)
  assert.ok(known !== undefined, `an unknown user changed: ${JSON.stringify(person)}`)
  const {
    user_id: _,
    is_active,
    new_email,
    avatar_url_medium,
    avatar_source,
    custom_profile_field,
    ...changed
  } = person
  Object.assign(known, changed, new_email === undefined ? {} : { email: new_email })
  if (custom_profile_field !== undefined) {
    const { id, ...value } = custom_profile_field
    if (value.value === null) delete known.profile_data[id]
    else known.profile_data[id] = value
  }
  if (person.role !== undefined)
    Object.assign(known, {
      is_owner: person.role === 100,
      is_admin: person.role <= 200,
      is_guest: person.role === 600,
    })
  if (is_active !== undefined) {
    for (const list of lists) state[list] = without(state[list], 'user_id', [person.user_id])
    state[is_active ? 'realm_users' : 'realm_non_active_users'].push(known)
  }
  if (person.user_id === me) {
    const own = {
      ...changed,
      email: known.email,
      is_owner: known.is_owner,
      is_admin: known.is_admin,
      is_guest: known.is_guest,
    }
    for (const [name, value] of Object.entries({
      ...own,
      avatar_url_medium,
      avatar_source,
      is_moderator: known.role <= 300,
    }))
      if (value !== undefined && name in state) state[name] = value
  }
  for (const bot of state.realm_bots)
    if (bot.user_id === person.user_id)
      for (const [name, value] of Object.entries({
        ...changed,
        ...(new_email === undefined ? {} : { email: new_email }),
      }))
        if (name in bot) bot[name] = value
}

/** Subscriptions, present and past, and channels never subscribed to. */
const CHANNEL_LISTS = ['streams', 'subscriptions', 'unsubscribed', 'never_subscribed']

function changeChannel(state: Json, event: Json): void {
  if (event.op === 'create') {
    for (const channel of event.streams) {
      if (byId(state.streams, 'stream_id', channel.stream_id) === undefined)
        state.streams.push(withoutSubscribers(channel))
      if (
        !['subscriptions', 'unsubscribed'].some(
          (list) => byId(state[list], 'stream_id', channel.stream_id) !== undefined,
        )
      ) {
        state.never_subscribed = without(state.never_subscribed, 'stream_id', [channel.stream_id])
        // Subscribers get another event after it.
        state.never_subscribed.push({ ...channel, subscribers: [] })
      }
    }
  } else if (event.op === 'delete') {
    for (const list of CHANNEL_LISTS) state[list] = without(state[list], 'stream_id', event.stream_ids)
    state.user_topics = without(state.user_topics, 'stream_id', event.stream_ids)
    forgetUnread(state, event.stream_ids)
  } else
    for (const list of CHANNEL_LISTS) {
      const channel = byId(state[list], 'stream_id', event.stream_id)
      if (channel === undefined) continue
      channel[event.property] = event.value
      for (const name of ['rendered_description', 'history_public_to_subscribers', 'is_web_public'])
        if (name in event) channel[name] = event[name]
      // The old name of this one goes with a group that has no id.
      if (typeof channel.can_remove_subscribers_group !== 'number') delete channel.can_remove_subscribers_group_id
    }
}

function forgetUnread(state: Json, channelIds: number[]): void {
  const gone = state.unread_msgs.streams.filter(({ stream_id }: Json) => channelIds.includes(stream_id))
  dropUnread(
    state,
    gone.flatMap(({ unread_message_ids }: Json) => unread_message_ids),
  )
}

function withoutSubscribers({ subscribers: _, partial_subscribers: __, ...channel }: Json): Json {
  return channel
}

function changeSubscription(state: Json, event: Json, me: number): void {
  if (event.op === 'add') {
    for (const added of event.subscriptions) {
      for (const list of ['subscriptions', 'unsubscribed', 'never_subscribed'])
        state[list] = without(state[list], 'stream_id', [added.stream_id])
      state.subscriptions.push({ ...added })
      const channel = byId(state.streams, 'stream_id', added.stream_id)
      if (channel !== undefined) channel.subscriber_count = added.subscriber_count
    }
  } else if (event.op === 'remove') {
    const ids = event.subscriptions.map(({ stream_id }: Json) => stream_id)
    for (const gone of state.subscriptions.filter(({ stream_id }: Json) => ids.includes(stream_id))) {
      gone.subscribers = gone.subscribers?.filter((id: number) => id !== me)
      gone.subscriber_count -= 1
      const channel = byId(state.streams, 'stream_id', gone.stream_id)
      if (channel !== undefined) channel.subscriber_count = gone.subscriber_count
      state.unsubscribed.push(gone)
    }
    state.subscriptions = without(state.subscriptions, 'stream_id', ids)
    forgetUnread(state, ids)
  } else if (event.op === 'update') {
    const own = [...state.subscriptions, ...state.unsubscribed].find(({ stream_id }) => stream_id === event.stream_id)
    assert.ok(own !== undefined, `an unknown subscription changed: ${JSON.stringify(event)}`)
    own[event.property] = event.value
  } else for (const id of event.stream_ids) changePeers(state, id, event)
}

function changePeers(state: Json, id: number, { op, user_ids }: Json): void {
  const channel = ['subscriptions', 'unsubscribed', 'never_subscribed']
    .map((list) => byId(state[list], 'stream_id', id))
    .find((item) => item !== undefined)
  assert.ok(channel !== undefined, `subscribers of an unknown channel ${id}: ${op}`)
  const now = new Set<number>(channel.subscribers)
  for (const user of user_ids) op === 'peer_add' ? now.add(user) : now.delete(user)
  channel.subscribers = [...now]
  channel.subscriber_count = now.size
  byId(state.streams, 'stream_id', id).subscriber_count = now.size
}

function changeGroup(state: Json, event: Json): void {
  if (event.op === 'add') state.realm_user_groups.push(event.group)
  else if (event.op === 'remove') state.realm_user_groups = without(state.realm_user_groups, 'id', [event.group_id])
  else {
    const group = byId(state.realm_user_groups, 'id', event.group_id)
    if (group === undefined) return
    if (event.op === 'update') Object.assign(group, event.data)
    const [action, what] = event.op.split('_')
    const list = what === 'members' ? 'members' : 'direct_subgroup_ids'
    const ids: number[] = event.user_ids ?? event.direct_subgroup_ids ?? []
    if (action === 'add') group[list] = [...new Set([...group[list], ...ids])]
    if (action === 'remove') group[list] = group[list].filter((id: number) => !ids.includes(id))
  }
}

function addUnread(state: Json, message: Json, flags: string[], me: number): void {
  const unread = state.unread_msgs
  // Of an archived channel a client may know nothing.
  if (message.type === 'stream' && byId(state.streams, 'stream_id', message.stream_id) === undefined) return
  if (flags.includes('mentioned') || flags.some((flag) => /^(stream|topic)_wildcard_mentioned$/.test(flag)))
    unread.mentions.push(message.id)
  if (message.type === 'stream')
    addTo(unread.streams, { stream_id: message.stream_id, topic: message.subject }, message.id)
  else {
    const ids: number[] = message.display_recipient.map(({ id }: Json) => id)
    const others = ids.filter((id) => id !== me)
    if (ids.length > 2) addTo(unread.huddles, { user_ids_string: ids.sort((a, b) => a - b).join(',') }, message.id)
    else addTo(unread.pms, { other_user_id: others[0] ?? me }, message.id)
  }
}

function addTo(list: Json[], key: Json, id: number): void {
  const same = list.find((item) => Object.entries(key).every(([name, value]) => fold(item[name]) === fold(value)))
  if (same === undefined) list.push({ ...key, unread_message_ids: [id] })
  else if (!same.unread_message_ids.includes(id)) same.unread_message_ids.push(id)
}

const fold = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value)

function dropUnread(state: Json, ids: number[]): void {
  const unread = state.unread_msgs
  unread.mentions = unread.mentions.filter((id: number) => !ids.includes(id))
  for (const list of ['pms', 'streams', 'huddles']) {
    for (const item of unread[list])
      item.unread_message_ids = item.unread_message_ids.filter((id: number) => !ids.includes(id))
    unread[list] = unread[list].filter((item: Json) => item.unread_message_ids.length > 0)
  }
}

function noteConversation(state: Json, message: Json, me: number): void {
  const user_ids = message.display_recipient.map(({ id }: Json) => id).filter((id: number) => id !== me)
  const same = state.recent_private_conversations.find((item: Json) => item.user_ids.join() === user_ids.join())
  if (same === undefined) state.recent_private_conversations.push({ user_ids, max_message_id: message.id })
  else same.max_message_id = Math.max(same.max_message_id, message.id)
}

function changeFlags(state: Json, { op, flag, messages, message_details }: Json, me: number): void {
  if (flag === 'starred')
    state.starred_messages =
      op === 'add'
        ? [...new Set([...state.starred_messages, ...messages])]
        : state.starred_messages.filter((id: number) => !messages.includes(id))
  if (flag !== 'read') return
  if (op === 'add') dropUnread(state, messages)
  else
    for (const [id, details] of Object.entries<Json>(message_details)) {
      const message =
        details.type === 'stream'
          ? { id: Number(id), type: 'stream', stream_id: details.stream_id, subject: details.topic }
          : {
              id: Number(id),
              type: 'private',
              display_recipient: [...details.user_ids, me].map((user) => ({ id: user })),
            }
      addUnread(state, message, details.mentioned ? ['mentioned'] : [], me)
    }
}

function moveUnread(state: Json, event: Json): void {
  const unread = state.unread_msgs
  const isUnread = (id: number) =>
    ['pms', 'streams', 'huddles'].some((list) =>
      unread[list].some((item: Json) => item.unread_message_ids.includes(id)),
    )
  if (event.content !== undefined && !event.rendering_only) {
    unread.mentions = unread.mentions.filter((id: number) => id !== event.message_id)
    const mentioned = event.flags.some((flag: string) =>
      /^(mentioned|stream_wildcard_mentioned|topic_wildcard_mentioned)$/.test(flag),
    )
    if (mentioned && isUnread(event.message_id)) unread.mentions.push(event.message_id)
    // A bot that an edit mentions gets a message that was not sent to it.
    else if (mentioned && event.stream_id !== undefined && !event.flags.includes('read'))
      addUnread(
        state,
        { id: event.message_id, type: 'stream', stream_id: event.stream_id, subject: event.topic },
        event.flags,
        0,
      )
  }
  if (event.new_stream_id === undefined && event.subject === undefined) return
  for (const id of event.message_ids) {
    const from = unread.streams.find((item: Json) => item.unread_message_ids.includes(id))
    if (from === undefined) continue
    from.unread_message_ids = from.unread_message_ids.filter((other: number) => other !== id)
    const stream_id = event.new_stream_id ?? from.stream_id
    // Moved out of the topics that the user follows: it is marked read.
    const isFollowed = (channel: number) => byId(state.subscriptions, 'stream_id', channel) !== undefined
    if (isFollowed(from.stream_id) && !isFollowed(stream_id)) {
      unread.mentions = unread.mentions.filter((other: number) => other !== id)
      continue
    }
    addTo(unread.streams, { stream_id, topic: event.subject ?? from.topic }, id)
  }
  unread.streams = unread.streams.filter((item: Json) => item.unread_message_ids.length > 0)
}

/** A snapshot without what no event tells, its lists in one order. */
function comparable(snapshot: Json, capabilities: Capabilities): Json {
  const copy = structuredClone(snapshot)
  for (const name of UNTOLD) delete copy[name]
  // Rights of the account itself follow from groups, and clients compute them.
  for (const name of Object.keys(copy)) if (name.startsWith('can_')) delete copy[name]
  for (const list of CHANNEL_LISTS)
    for (const channel of copy[list] ?? [])
      for (const name of [...UNTOLD_OF_CHANNELS, ...(capabilities.notification_settings_null ? [] : INHERITED)])
        delete channel[name]
  // Of a channel that comes into sight again nobody tells whether it was left before.
  copy.never_subscribed.push(
    ...copy.unsubscribed.map((channel: Json) => pick(channel, copy.streams, channel.stream_id)),
  )
  delete copy.unsubscribed
  // Deleting the newest message of a conversation is not told there.
  delete copy.recent_private_conversations
  // Guests keep the folders of channels that they no longer see.
  if (copy.is_guest) delete copy.channel_folders
  delete copy.max_message_id
  // Clients ask for it again and again; events only tell who came back.
  delete copy.presences
  copy.user_topics = Object.fromEntries(
    copy.user_topics.map(({ stream_id, topic_name, ...rest }: Json) => [`${stream_id} ${fold(topic_name)}`, rest]),
  )
  if (copy.unread_msgs !== undefined) {
    delete copy.unread_msgs.count
    for (const pm of copy.unread_msgs.pms) delete pm.sender_id
    // The name of a topic is any of its messages'.
    copy.unread_msgs.streams = Object.fromEntries(
      copy.unread_msgs.streams.map((item: Json) => [`${item.stream_id} ${fold(item.topic)}`, item.unread_message_ids]),
    )
  }
  return ordered(copy)
}

/** As the list of channels has it, with its subscribers: without what is a subscription's own. */
function pick(channel: Json, channels: Json[], id: number): Json {
  const known = Object.keys(byId(channels, 'stream_id', id) ?? {})
  return Object.fromEntries([...known, 'subscribers'].map((name) => [name, channel[name]]))
}

function ordered(value: Json): Json {
  if (Array.isArray(value)) {
    const items = value.map(ordered)
    return items
      .map((item) => [JSON.stringify(item), item])
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([, item]) => item)
  }
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, ordered(value[name])]),
  )
}

/** Where two snapshots differ: paths with both values. */
export function differences(told: Json, asked: Json, path = ''): string[] {
  if (JSON.stringify(told) === JSON.stringify(asked)) return []
  const bothObjects = [told, asked].every(
    (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
  )
  if (bothObjects)
    return [...new Set([...Object.keys(told), ...Object.keys(asked)])].flatMap((name) =>
      differences(told[name], asked[name], `${path}.${name}`),
    )
  if (Array.isArray(told) && Array.isArray(asked)) {
    const key = ['stream_id', 'user_id', 'id'].find((name) =>
      [...told, ...asked].every((item) => item?.[name] !== undefined),
    )
    if (key !== undefined) {
      const ids = new Set([...told, ...asked].map((item) => item[key]))
      const of = (list: Json[], id: unknown) => list.filter((item) => item[key] === id)
      return [...ids].flatMap((id) => {
        const [a, b] = [of(told, id), of(asked, id)]
        return a.length === 1 && b.length === 1
          ? differences(a[0], b[0], `${path}[${key} ${id}]`)
          : JSON.stringify(a) === JSON.stringify(b)
            ? []
            : [
                `${path}[${key} ${id}]: told ${a.length}, asked ${b.length}: ${JSON.stringify(a[0] ?? b[0]).slice(0, 200)}`,
              ]
      })
    }
  }
  return [`${path}: told ${JSON.stringify(told)?.slice(0, 300)}, asked ${JSON.stringify(asked)?.slice(0, 300)}`]
}
