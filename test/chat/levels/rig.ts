/** One chat for all rows of items.ts, furnished once, and clients of it that declare a level. Contract section 8. */

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClock } from '../../../firmware/base/clock.ts'
import type { Channel } from '../../../firmware/chat/realm/model/records.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { systemGroupId } from '../../../firmware/chat/realm/permissions/group-rights.ts'
import { type Client, openTestChat, START_MS, type TestChat } from '../support/chat.ts'
import { postTo } from '../support/outgoing.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look at members of any answer
type Json = any
type Values = Record<string, unknown>

export interface Furnished {
  rig: TestChat
  owner: Client
  admin: Client
  hamlet: Client
  cordelia: Client
  /** A guest who sees only users with whom they share a channel. */
  polonius: Client
  verona: Channel
  venice: Channel
  /** Private; Hamlet may subscribe, but has not. */
  closet: Channel
  /** Edited, then moved from Venice to Verona and to another topic. */
  moved: number
  resolved: number
  own: number
  heard: Json[]
  advance(seconds: number): void
  slow(ms: number): void
  close(): void
}

const EVERYTHING = {
  notification_settings_null: true,
  bulk_message_deletion: true,
  stream_typing_notifications: true,
  user_settings_object: true,
  linkifier_url_template: true,
  archived_channels: true,
  empty_topic_name: true,
  simplified_presence_events: true,
}

export async function furnish(): Promise<Furnished> {
  const time = { ms: START_MS, stepMs: 0 }
  const heard: Json[] = []
  const service = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    heard.push(JSON.parse(text))
    response.end('{"response_not_required":true}')
  })
  await new Promise<void>((done) => service.listen(0, '127.0.0.1', done))
  const { port } = service.address() as AddressInfo
  const rig = await openTestChat({
    clock: createClock(0, () => (time.ms += time.stepMs)),
    post: postTo(port, () => ['hooks.example.org']),
  })
  const { owner } = rig
  const { realm } = rig.chat
  changeOperatorSettings(realm, { ownerFullContentAccess: true })
  await owner.patch('/realm', { default_avatar_source: 'G' })
  const admin = rig.account('iago', ROLES.administrator)
  const hamlet = rig.account('hamlet')
  const cordelia = rig.account('cordelia')
  const polonius = rig.account('polonius', ROLES.guest)
  await cordelia.patch('/settings', { email_address_visibility: 4 })
  const verona = rig.channel('verona', [owner, admin, hamlet, cordelia])
  const venice = rig.channel('venice', [owner, hamlet])
  const members = systemGroupId(realm, 'role:members')
  const nobody = systemGroupId(realm, 'role:nobody')
  const closet = rig.channel('closet', [owner], { isPrivate: true, groupSettings: { can_subscribe_group: members } })
  const attic = rig.channel('attic', [owner])
  await owner.delete(`/streams/${attic.id}`)
  await owner.patch(`/streams/${verona.id}`, { can_move_messages_within_channel_group: { new: members } })
  await owner.patch('/realm', {
    message_content_edit_limit_seconds: 'unlimited',
    video_chat_provider: 5,
    enable_read_receipts: true,
    can_access_all_users_group: { new: members },
    can_move_messages_between_topics_group: { new: nobody },
    can_move_messages_between_channels_group: { new: nobody },
  })
  await owner.post('/realm/filters', { pattern: '#(?P<id>[0-9]+)', url_template: 'https://example.com/100%25/{id}' })
  const picture = png(20, [[200, 0, 0]], () => new Uint8Array(20))
  await owner.upload('POST', '/realm/emoji/square', picture)
  const say = async (from: Client, to: number | number[], topic: string, content = 'words'): Promise<number> =>
    (await from.post('/messages', { type: typeof to === 'number' ? 'channel' : 'direct', to, topic, content })).id
  const moved = await say(owner, venice.id, 'plans')
  time.ms += 10_000
  await owner.patch(`/messages/${moved}`, { content: 'other words' })
  time.ms += 10_000
  await owner.patch(`/messages/${moved}`, { stream_id: verona.id, topic: 'merchants' })
  const resolved = await say(owner, verona.id, 'question')
  time.ms += 10_000
  await owner.patch(`/messages/${resolved}`, { topic: '✔ question' })
  const own = await say(owner, verona.id, 'own')
  await say(hamlet, [owner.user.id], '')
  await say(owner, closet.id, 'hidden')
  await owner.post('/user_topics', { stream_id: verona.id, topic: 'noise', visibility_policy: 1 })
  const later = { type: 'direct', to: [owner.user.id], content: 'later', scheduled_delivery_timestamp: 4e9 }
  await owner.post('/scheduled_messages', later)
  await owner.post('/users/me/presence', { status: 'active' })
  for (const export_type of ['public', 'full_without_consent']) await owner.post('/export/realm', { export_type })
  return {
    rig,
    owner,
    admin,
    hamlet,
    cordelia,
    polonius,
    verona,
    venice,
    closet,
    moved,
    resolved,
    own,
    heard,
    advance: (seconds) => {
      time.ms += seconds * 1000
    },
    slow: (ms) => {
      time.stepMs = ms
    },
    close: () => {
      rig.close()
      service.close()
    },
  }
}

export interface Ask extends Furnished {
  level: number | null
  /** By the owner, unless another client is named. Fails unless it is a success. */
  get(path: string, values?: Values, by?: Client): Promise<Json>
  post(path: string, values?: Values, by?: Client): Promise<Json>
  patch(path: string, values?: Values, by?: Client): Promise<Json>
  delete(path: string, values?: Values, by?: Client): Promise<Json>
  code(method: string, path: string, values?: Values, by?: Client): Promise<string>
  /** Whole, as old clients have it; the same for every probe of a level. */
  snapshot(): Promise<Json>
  /** Returns the events of these types, or of all, that a queue of that level gets while current clients `act`. */
  events(types: string[] | null, act: () => Promise<unknown>, options?: { by?: Client; can?: Values }): Promise<Json[]>
}

const snapshots = new WeakMap<Furnished, Map<number | null, Promise<Json>>>()

export const levelHeaders = (level: number | null): Record<string, string> =>
  level === null ? {} : { 'x-service-feature-level': String(level) }

/** `level` null: a client that declares nothing. */
export function asking(furnished: Furnished, level: number | null): Ask {
  const { owner } = furnished
  const headers = levelHeaders(level)
  const well =
    (method: string) =>
    async (path: string, values: Values = {}, by: Client = owner) => {
      const { status, body } = await by.call(method, path, values, headers)
      assert.equal(status, 200, `${method} ${path} at ${level}: ${JSON.stringify(body)}`)
      return body
    }
  const post = well('POST')
  const get = well('GET')
  return {
    ...furnished,
    level,
    get,
    post,
    patch: well('PATCH'),
    delete: well('DELETE'),
    async code(method, path, values = {}, by = owner) {
      const { status, body } = await by.call(method, path, values, headers)
      return status === 200 ? 'ok' : body.code
    },
    snapshot() {
      const known = snapshots.get(furnished) ?? new Map<number | null, Promise<Json>>()
      snapshots.set(furnished, known)
      const snapshot = known.get(level) ?? post('/register')
      known.set(level, snapshot)
      return snapshot
    },
    async events(types, act, { by = owner, can = {} } = {}) {
      const queue = {
        event_types: types ?? undefined,
        fetch_event_types: [],
        client_capabilities: { ...EVERYTHING, ...can },
      }
      const { queue_id } = await post('/register', queue, by)
      await act()
      const { events } = await get('/events', { queue_id, last_event_id: -1, dont_block: true }, by)
      await by.delete('/events', { queue_id })
      return events
    },
  }
}
