import type { Channel } from '../../../firmware/chat/realm/model/records.ts'
import type { SystemGroupName } from '../../../firmware/chat/realm/model/roles.ts'
import { systemGroupId } from '../../../firmware/chat/realm/permissions/group-rights.ts'
import type { Client } from '../support/chat.ts'
import { type Ask, levelHeaders } from './rig.ts'

// biome-ignore lint/suspicious/noExplicitAny: probes look at members of any answer
export type Json = any
export type Probe = (ask: Ask) => Promise<unknown>

/** One mention of a level in the history, and how it looks. */
export interface Item {
  readonly level: number
  readonly part: number
  readonly item: string
  readonly probe: Probe
  readonly at460: unknown
  /** To a client that declares the level itself, where later changes make that something else. */
  readonly atLevel: unknown
  /** To one that declares the level before. */
  readonly below: unknown
}

export const row = (
  level: number,
  part: number,
  item: string,
  probe: Probe,
  at460: unknown,
  below: unknown,
  atLevel = at460,
): Item => ({ level, part, item, probe, at460, atLevel, below })

export const same = (level: number, part: number, item: string, probe: Probe, always: unknown): Item =>
  row(level, part, item, probe, always, always)

export const registered = (level: number, part: number, ...names: string[]): Item =>
  row(level, part, names.join(', '), async ({ snapshot }) => countOf(await snapshot(), names), names.length, 0)

export const endpoint = (
  level: number,
  part: number,
  item: string,
  path: string | ((ask: Ask) => string),
  values: (ask: Ask) => Promise<object> | object,
  answer = 'ok',
): Item => {
  const probe: Probe = async (ask) =>
    ask.code('POST', typeof path === 'string' ? path : path(ask), { ...(await values(ask)) })
  return row(level, part, item, probe, answer, 'NOT_FOUND')
}

/** Parameters that are said to be ignored below the level. */
export const parameters = (
  level: number,
  part: number,
  names: readonly string[],
  call: (ask: Ask) => Promise<Json>,
): Item => {
  const probe: Probe = async (ask) => (await call(ask)).ignored_parameters_unsupported ?? []
  return row(level, part, names.join(', '), probe, [], names.toSorted())
}

export const countOf = (object: object, names: readonly string[]): number =>
  names.filter((name) => name in object).length
export const keys = (object: object): string => Object.keys(object).sort().join(' ')
export const kinds = (events: readonly Json[]): string[] =>
  events.map(({ type, op }) => (op === undefined ? type : `${type}/${op}`))

export const group = ({ rig }: Ask, name: SystemGroupName): number => systemGroupId(rig.chat.realm, name)

let made = 0
export const fresh = (word: string): string => `${word}${made++}`

export const newChannel = (
  ask: Ask,
  values: Partial<Channel> = {},
  members: readonly Client[] = [ask.owner],
): Channel => ask.rig.channel(fresh('channel'), members, values)
const channelNow = ({ rig }: Ask, { id }: Channel): Channel => rig.chat.realm.state.channel.get(id)!

export const say = async ({ owner }: Ask, to: number, topic: string, content = 'words'): Promise<number> =>
  (await owner.post('/messages', { type: 'channel', to, topic, content })).id

export const message = async (ask: Ask, id: number): Promise<Json> =>
  (await ask.get('/messages', { anchor: id, num_before: 0, num_after: 0, narrow: [] })).messages[0]

export const upload = async ({ owner }: Ask): Promise<string> =>
  (await owner.upload('POST', '/user_uploads', Buffer.from('bytes'), {}, 'a.txt')).body.url

export const newBot = async ({ owner, rig }: Ask, values: object = {}): Promise<Client> => {
  const short_name = fresh('bot')
  const { user_id } = await owner.post('/bots', { full_name: `Bot ${short_name}`, short_name, ...values })
  return rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
}

export const changesChannel =
  (name: string, value: (ask: Ask) => unknown, read: (channel: Channel) => unknown): Probe =>
  async (ask) => {
    const channel = newChannel(ask)
    const before = JSON.stringify(read(channelNow(ask, channel)))
    await ask.patch(`/streams/${channel.id}`, { [name]: value(ask) })
    return JSON.stringify(read(channelNow(ask, channel))) === before ? 'ignored' : 'changed'
  }

export const setsRemovers = changesChannel(
  'can_remove_subscribers_group_id',
  (ask) => group(ask, 'role:moderators'),
  ({ groupSettings }) => groupSettings.can_remove_subscribers_group,
)

export const exportTypes: Probe = async (ask) =>
  (await ask.get('/export/realm')).exports.map(({ export_type }: Json) => export_type).slice(0, 2)

export const attachmentTimes: Probe = async (ask) => {
  await say(ask, ask.verona.id, 'files', `[a](${await upload(ask)})`)
  const { create_time, messages } = (await ask.get('/attachments')).attachments.at(-1)
  return [unitOf(create_time), unitOf(messages[0].date_sent)]
}
export const unitOf = (time: number): string => (time > 1e11 ? 'milliseconds' : 'seconds')

export const delivery =
  (read: (ask: Ask) => Promise<Json>): Probe =>
  async (ask) => {
    const user = await read(ask)
    return 'delivery_email' in user ? user.delivery_email : 'absent'
  }

export const away: Probe = async (ask) => {
  await ask.post('/users/me/status', { away: true }, ask.hamlet)
  const { snapshot } = await ask.hamlet.register({ fetch_event_types: ['user_settings'] })
  await ask.post('/users/me/status', { away: false }, ask.hamlet)
  return snapshot.user_settings.presence_enabled
}

export const muting: Probe = async (ask) => {
  const mute = (value: boolean) =>
    ask.owner.post('/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: ask.verona.id, property: 'is_muted', value }],
    })
  const events = await ask.events(['subscription'], () => mute(true))
  await mute(false)
  return events.map(({ property }) => property)
}

export const archiving: Probe = async (ask) => {
  const { id } = newChannel(ask)
  return kinds(await ask.events(['stream'], () => ask.owner.delete(`/streams/${id}`)))
}

export function fullChannel(ask: Ask): Channel {
  const { rig, hamlet } = ask
  const { realm } = rig.chat
  const channel = newChannel(ask)
  const { recipientId: recipient } = channel
  realm.transaction(() => {
    const topic = realm.store.topics.add(recipient, 'many', 'many')
    const time = Math.floor(realm.clock.now() / 1000)
    const text = { client: 'test', content: 'x', html: '<p>x</p>', extra: '{}' }
    for (let count = 0; count < 300; count++) {
      const ordinal = realm.store.messages.nextOrdinal(recipient)
      const place = { recipient, topic, birth: recipient, ordinal }
      realm.store.messages.add({ ...place, ...text, time, bits: 0, sender: hamlet.user.id })
    }
  })
  return channel
}

/** How a call answers when its time is over after its first turn. */
export async function outOfTime(ask: Ask, path: string, values: Record<string, unknown>): Promise<string> {
  ask.slow(60_000)
  const { status, body } = await ask.owner.call('POST', path, values, levelHeaders(ask.level))
  ask.slow(0)
  return `${status} ${body.result}${'complete' in body ? ` complete: ${body.complete}` : ''}`
}

export const marksInTime: Probe = async (ask) => {
  fullChannel(ask)
  return outOfTime(ask, '/mark_all_as_read', {})
}

export const deletesInTime: Probe = async (ask) =>
  outOfTime(ask, `/streams/${fullChannel(ask).id}/delete_topic`, { topic_name: 'many' })

/** A message of this time and one of long ago, in one topic; a member moves all. */
export const movesTooMuch: Probe = async (ask) => {
  const topic = fresh('topic')
  await say(ask, ask.verona.id, topic)
  ask.advance(8 * 86_400)
  const id = await say(ask, ask.verona.id, topic)
  const all = { topic: fresh('topic'), propagate_mode: 'change_all' }
  return ask.code('PATCH', `/messages/${id}`, all, ask.hamlet)
}

export const hidden = ({ rig, closet }: Ask): number => rig.chat.realm.store.messages.newestOf(closet.recipientId)!

export const jwt: Probe = (ask) => ask.code('POST', '/jwt/fetch_api_key', { token: 'x' })
