/** The official app's decoders: its generated ones, and the meaning of what is written by hand beside them. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Decoders, type Native, readDecoders, type Value } from './dart.ts'

type Json = Record<string, Value>

/** Where the app keeps what it knows of the API. */
const FOLDERS = ['model', 'route', '.']

/** Throws for an answer that the app cannot decode. */
export interface App {
  decoders: Decoders
  event(json: Json): void
}

/** `sources`: a checkout of the app. */
export function readApp(sources: string): App {
  const files = FOLDERS.flatMap((folder) => {
    const directory = join(sources, 'lib/api', folder)
    return readdirSync(directory)
      .filter((name) => name.endsWith('.g.dart'))
      .map((name) => readFileSync(join(directory, name), 'utf8'))
  })
  const classes = eventClasses(readFileSync(join(sources, 'lib/api/model/events.dart'), 'utf8'))
  const event = (json: Value): Value => {
    const { type, op } = json as { type: string; op?: string }
    const name = classes.get(`${text(type)} ${op}`) ?? classes.get(type)
    // An event that the app does not know has a number and is passed over.
    return name === undefined ? int((json as Json).id) : typed(name, decoders.decode(name, json))
  }
  const decoders = readDecoders(files, {
    ...READ,
    'Event.fromJson': event,
    'GetMessagesResult._messagesFromJson': (list) => listOf(list).map((one) => message(one)),
    'GroupSettingValue.fromJson': (json) =>
      typeof json === 'object' ? decoders.decode('GroupSettingValueNameless', json) : int(json),
    'Message.fromJson': (json) => message(json),
    'Message._reactionsFromJson': (list) => listOf(list).map((one) => decoders.decode('Reaction', one)),
    'Message._readPoll': (json) => poll((json as Json).submessages),
    'MessageTypeConverter.fromJson': (json) => oneOf('MessageType', json === 'private' ? 'direct' : json),
    'SubscriptionUpdateEvent._readValue': (json) => subscriptionValue(json as Json),
    'ChannelUpdateEvent._readValue': (json) => channelValue(json as Json),
    'UpdateMessageMoveData.tryParseFromJson': (json) => moved(json as Json),
    'UserStatusChange.fromJson': (json) => status(json as Json),
  })

  const oneOf = (enumeration: string, value: Value): Value => {
    const values = decoders.enumerations.get(enumeration)!
    if (!values.includes(value)) throw new Error(`${JSON.stringify(value)} is no ${enumeration}`)
    return value
  }
  const message = (json: Value) =>
    decoders.decode((json as Json).type === 'stream' ? 'StreamMessage' : 'DmMessage', json)

  function poll(list: Value): null {
    const submessages = listOf(list ?? []).map((one) => decoders.decode('Submessage', one) as Json)
    for (const [n, { content }] of submessages.entries()) {
      const data = JSON.parse(text(content)) as Json
      if (n === 0 && oneOf('WidgetType', text(data.widget_type)) !== 'poll') return null
      const name = n === 0 ? 'PollWidgetData' : POLL_EVENTS[data.type as string]
      if (name !== undefined) decoders.decode(name, data)
    }
    return null
  }

  function channelValue({ property, value }: Json): Value {
    text(property)
    if (!decoders.enumerations.get('ChannelPropertyName')!.includes(property)) return null
    if (/_group$/.test(property as string))
      return typeof value === 'object' ? decoders.decode('GroupSettingValueNameless', value) : int(value)
    if (property === 'topics_policy') return oneOf('ChannelTopicsPolicy', value)
    if (property === 'stream_post_policy') return oneOf('ChannelPostPolicy', value)
    if (property === 'name' || property === 'description') return text(value)
    return typeof value === 'boolean' || value === null ? value : int(value)
  }

  function subscriptionValue({ property, value }: Json): Value {
    if (property === 'color') return color(value)
    const isKnown = decoders.enumerations.get('SubscriptionProperty')!.includes(text(property))
    return isKnown ? flag(value) : null
  }

  function moved(json: Json): Value {
    const channel = optional(json.stream_id, int)
    const newChannel = optional(json.new_stream_id, int) ?? channel
    const topic = optional(json.orig_subject, text)
    const newTopic = optional(json.subject, text) ?? topic
    const mode = optional(json.propagate_mode, (value) => oneOf('PropagateMode', value))
    const isMoved = newChannel !== channel || newTopic !== topic
    if (isMoved !== (mode !== null) || (isMoved && (channel === null || topic === null)))
      throw new Error(`a move is incoherent: ${JSON.stringify(json)}`)
    return null
  }

  const status = (json: Json): Value => {
    for (const name of ['status_text', 'emoji_name', 'emoji_code']) optional(json[name], text)
    const type = optional(json.reaction_type, text)
    return type === null || type === '' ? null : oneOf('ReactionType', type)
  }

  return { decoders, event: (json) => void event(json) }
}

const POLL_EVENTS: Record<string, string> = {
  new_option: 'PollNewOptionEventSubmessage',
  question: 'PollQuestionEventSubmessage',
  vote: 'PollVoteEventSubmessage',
}

/** The switch of `Event.fromJson`: classes by type, or by type and operation. */
function eventClasses(source: string): Map<string, string> {
  const start = source.indexOf('factory Event.fromJson')
  const classes = new Map<string, string>()
  let type = ''
  for (const line of source.slice(start, source.indexOf('\n  }\n', start)).split('\n')) {
    const found = /^( +)case '(\w+)':(?: return (\w+)\.fromJson\(json\);)?$/.exec(line)
    if (found === null) continue
    const [, indent, name, of] = found
    if (indent!.length === 6) type = name!
    if (of !== undefined) classes.set(indent!.length === 6 ? type : `${type} ${name}`, of)
  }
  return classes
}

/** Applies the checks of `TypingEvent.fromJson`, which is written by hand. */
function typed(name: string, value: Value): Value {
  if (name !== 'TypingEvent') return value
  const { messageType, streamId, topic, recipientIds } = value as Json
  if (messageType === 'direct') return listOf(recipientIds)
  int(streamId)
  return text(topic)
}

const READ: Record<string, Native> = {
  _$JsonConverterFromJson: (json) => json,
  'ChannelDeleteEvent._readChannelIds': (json) =>
    listOf((json as Json).stream_ids ?? listOf((json as Json).streams).map((one) => (one as Json).stream_id)),
  'DefaultGroupName.fromJson': (json) => text(json),
  'DmMessage._conversationFromJson': (list) => listOf(list).map((one) => int((one as Json).id)),
  'InitialSnapshot._readUsersIsActiveFallbackFalse': (json, key) => withActive(json, key, false),
  'InitialSnapshot._readUsersIsActiveFallbackTrue': (json, key) => withActive(json, key, true),
  'JsonNullable.readIntFromJson': (json, key) => optional((json as Json)[key as string], int),
  'JsonNullable.readStringFromJson': (json, key) => optional((json as Json)[key as string], text),
  'Message._flagsFromJson': (list) => listOf(list).map(text),
  'Message._messageEditStateFromJson': (state) => state,
  'MessageEditState._readFromMessage': (json) => editState(json as Json),
  'MessageEvent._readMessageValue': (json) => ({ ...((json as Json).message as object), flags: (json as Json).flags }),
  'Poll.fromJson': (json) => json,
  'RealmUserUpdateEvent._readFromPerson': (json, key) => person(json)[key as string],
  'RealmUserUpdateEvent._readNullableStringFromPerson': (json, key) => optional(person(json)[key as string], text),
  'StreamMessage._readConversation': (json) => json,
  'Subscription._readColor': (json, key) => color((json as Json)[key as string]),
  'SubscriptionRemoveEvent._readChannelIds': (json) =>
    listOf((json as Json).subscriptions).map((one) => (one as Json).stream_id),
  'TopicName.fromJson': (json) => text(json),
  'TwentyFourHourTimeMode.fromApiValue': (value) => value,
  'TypingEvent._readSenderId': (json) => ((json as Json).sender as Json).user_id,
  'TypingEvent._recipientIdsFromJson': (list) => (list == null ? null : recipients(listOf(list))),
  'UpdateMessageEvent._readMoveData': (json) => json,
  'Uri.parse': (value) => new URL(text(value), 'https://own.example').href,
  'User._readProfileData': (json, key) => (json as Json)[key as string] ?? null,
  'UserSettingsUpdateEvent._readValue': (json) => setting(json as Json),
  'UserStatusEvent._readChange': (json) => json,
  'int.parse': (value) => {
    if (!/^\d+$/.test(text(value))) throw new Error(`${value} is no number`)
    return value
  },
}

function text(value: Value): string {
  if (typeof value !== 'string') throw new Error(`${JSON.stringify(value)} is no text`)
  return value
}

function int(value: Value): number {
  if (!Number.isInteger(value)) throw new Error(`${JSON.stringify(value)} is no whole number`)
  return value as number
}

function flag(value: Value): boolean {
  if (typeof value !== 'boolean') throw new Error(`${JSON.stringify(value)} is no boolean`)
  return value
}

function listOf(value: Value): Value[] {
  if (!Array.isArray(value)) throw new Error(`${JSON.stringify(value)} is no list`)
  return value
}

const optional = <T>(value: Value, read: (value: Value) => T): T | null =>
  value === null || value === undefined ? null : read(value)

function color(value: Value): Value {
  if (!/^#[0-9a-f]{6}$/.test(text(value))) throw new Error(`${value} is no color`)
  return 0
}

const person = (json: Value): Json => (json as { person: Json }).person

const withActive = (json: Value, key: Value, is_active: boolean): Value =>
  listOf((json as Json)[key as string]).map((user) => ({ is_active, ...(user as Json) }))

/** Without duplicates. */
function recipients(list: Value[]): Value {
  const ids = list.map((one) => int((one as Json).user_id))
  if (new Set(ids).size < ids.length) throw new Error(`recipients are twice: ${ids}`)
  return ids
}

function editState({ edit_history, last_edit_timestamp }: Json): Value {
  optional(last_edit_timestamp, int)
  for (const entry of optional(edit_history, listOf) ?? []) {
    const { prev_content, prev_stream, prev_topic, topic } = entry as Json
    if (prev_content == null && prev_stream == null && prev_topic != null) text(topic)
  }
  return 'none'
}

function setting({ property, value }: Json): Value {
  const read: Record<string, (value: Value) => Value> = {
    twenty_four_hour_time: (value) => optional(value, flag),
    starred_message_counts: flag,
    display_emoji_reaction_users: flag,
    emojiset: text,
    web_inbox_show_channel_folders: flag,
    presence_enabled: flag,
  }
  return read[text(property)]?.(value) ?? null
}
