// @test long 30
/**
 * A client that declares 460 beside one that declared nothing to the version before level 461: one furnished organization, every endpoint and
 * event, both versions, byte for byte. COFFER_BEFORE names a checkout of that version, and without it this is not run. Contract section 8.3.
 */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { createClock } from '../../../firmware/base/clock.ts'
import { DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'
import type { createChat as CreateChat } from '../../../firmware/chat/process/chat.ts'
import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import { deriveKey } from '../../../firmware/crypto/kdf.ts'
import { makeDataDirectory } from '../../support/process.ts'
import { learnChannels, Random, step, type World } from '../model/operations.ts'
import { CHAT_KEY, type Client, NO_LIMITS, OWNER_PASSWORD, START_MS } from '../support/chat.ts'

const BEFORE = process.env.COFFER_BEFORE ?? ''
const skip =
  BEFORE === '' && 'to run this: git worktree add ../before b931a771, npm ci there, and COFFER_BEFORE=../before'
const STEPS = 600
const OWNER = 'olivia@example.com'
const DISK = { totalBytes: 2 ** 36, freeBytes: 2 ** 35 }
const CHEAP = { N: 2, r: 1, p: 1 }

const CAPABILITIES = {
  notification_settings_null: true,
  bulk_message_deletion: true,
  user_avatar_url_field_optional: true,
  stream_typing_notifications: true,
  user_settings_object: true,
  linkifier_url_template: true,
  user_list_incomplete: true,
  include_deactivated_groups: true,
  archived_channels: true,
  empty_topic_name: true,
  simplified_presence_events: true,
  individual_emoji_changes: true,
}

/**
 * Endpoints that end accounts and keys which are needed later, that take a file, whose incoming webhooks have come since, or that have
 * come since themselves: links to a new password.
 */
const LEFT_OUT =
  /external|deactivate|fetch_api_key|regenerate|avatar|realm\/(?:icon|logo|domains)|^POST \/users$|^DELETE \/(?:users|bots|events)|api_keys|sessions|\/password/

/** Objects in it hold one list of objects at most. */
const WEBHOOKS = /"realm_incoming_webhook_bots":\[(?:\{(?:[^[\]]|\[[^\]]*\])*?\},?)*\],/

/** Removes the intended differences: the unset icon (contract 3.9), and what was added since: kinds of incoming webhooks, a setting. */
const normal = (answer: string): string =>
  answer
    .replaceAll(/https:\/\/secure\.gravatar\.com\/avatar\/\w+\?d=identicon&version=1/g, '')
    .replaceAll('/static/images/default-icon.png?version=0', '')
    .replace(WEBHOOKS, '')
    .replace('"realm_page_offline_days":14,', '')
    .replace(/\["content-length","\d+"\],?/, '') // of the same text

test('460 is answered as before, byte for byte', { skip }, async (t) => {
  const before = await answers(resolve(BEFORE), null, makeDataDirectory(t))
  const now = await answers(resolve(import.meta.dirname, '../../..'), '460', makeDataDirectory(t))
  assert.ok(now.length > DECLARATIONS.length)
  assert.equal(now.length, before.length)
  const differing = now.flatMap((answer, n) => {
    const [is, was] = [normal(answer), normal(before[n]!)]
    return is === was ? [] : [difference(is, was)]
  })
  assert.deepEqual(differing, [])
})

/** The request, and where the answers begin to differ. */
function difference(is: string, was: string): string {
  let at = 0
  while (is[at] === was[at]) at++
  const part = (text: string) => text.slice(Math.max(0, at - 80), at + 80)
  return `${is.split(' ', 3).join(' ')}: ${part(was)} has become ${part(is)}`
}

/** Each request and its answer. */
async function answers(root: string, level: string | null, directory: string): Promise<string[]> {
  const { createChat } = (await import(join(root, 'firmware/chat/process/chat.ts'))) as {
    createChat: typeof CreateChat
  }
  const time = { ms: START_MS }
  const log = { error: assert.fail, warning() {}, info() {}, debug() {} }
  const chat = createChat({
    ...{ directory, chatKey: CHAT_KEY, log: log as never, clock: createClock(0, () => time.ms), nowMs: () => time.ms },
    ...{ derive: async (password, salt, cost) => deriveKey(password, salt, cost), passwordCost: CHEAP },
    ...{ rateLimits: NO_LIMITS, random: repeatable(), readDisk: () => DISK },
  })
  const recorded: string[] = []
  const send = async (method: string, path: string, values: object, authorization?: string, file?: Uint8Array) => {
    const encoded = new URLSearchParams()
    for (const [name, value] of Object.entries(values))
      if (value !== undefined) encoded.append(name, typeof value === 'string' ? value : JSON.stringify(value))
    const form = new FormData()
    for (const [name, value] of encoded) form.append(name, value)
    if (file !== undefined) form.append('file', new Blob([Uint8Array.from(file)]), 'picture.png')
    const response = await chat.api.request(
      `http://chat.example/api/v1${path}${method === 'GET' ? `?${encoded}` : ''}`,
      {
        method,
        headers: {
          ...{ host: 'chat.example', 'user-agent': 'test/1.0' },
          ...(authorization !== undefined && { authorization }),
          ...(level !== null && { 'x-service-feature-level': level }),
        },
        ...(method !== 'GET' && { body: file === undefined ? encoded : form }),
      },
    )
    const text = await response.text()
    const headers = [...response.headers].filter(([name]) => !name.startsWith('x-ratelimit-'))
    if (method === 'POST' && path === '/export/realm') await chat.makeExports()
    recorded.push(`${method} ${path} ${response.status} ${JSON.stringify(headers)} ${text}`)
    return { status: response.status, headers: response.headers, body: text.startsWith('{') ? JSON.parse(text) : text }
  }
  const signIn = async (email: string): Promise<Client> => {
    const { body } = await send('POST', '/fetch_api_key', { username: email, password: OWNER_PASSWORD })
    const authorization = `Basic ${Buffer.from(`${email}:${body.api_key}`).toString('base64')}`
    const call: Client['call'] = (method, path, values = {}) => send(method, path, values, authorization)
    const bodyOf = (method: string) => async (path: string, values?: object) =>
      (await call(method, path, values as Record<string, unknown>)).body
    return {
      ...{ user: { id: body.user_id, email }, key: body.api_key, call },
      ...{
        get: bodyOf('GET'),
        post: bodyOf('POST'),
        patch: bodyOf('PATCH'),
        delete: bodyOf('DELETE'),
        put: bodyOf('PUT'),
      },
      upload: (method: string, path: string, file: Uint8Array, values = {}) =>
        send(method, path, values, authorization, file),
    } as unknown as Client
  }
  const owner = { email: OWNER, fullName: 'Olivia Owner' }
  await chat.createOrganization({ name: 'Testing', url: '', owner }, OWNER_PASSWORD)
  await live(signIn, time)
  chat.close()
  return recorded
}

/** Draws of the UUID, which came later, shift no other. */
function repeatable(): (length: number) => Uint8Array {
  const counts = new Map<string, number>()
  return (length) => {
    const use = /uuid/i.test(new Error().stack!) ? 'uuid' : `${length}`
    const count = (counts.get(use) ?? 0) + 1
    counts.set(use, count)
    const block = (n: number) => createHash('sha256').update(`${use} ${count} ${n}`).digest()
    return Uint8Array.from(Array.from({ length: Math.ceil(length / 32) }, (_, n) => [...block(n)]).flat()).slice(
      0,
      length,
    )
  }
}

async function live(signIn: (email: string) => Promise<Client>, time: { ms: number }): Promise<void> {
  const clients = [await signIn(OWNER)]
  const [owner] = clients as [Client]
  for (const [name, role] of Object.entries({ mod: 300, member: 400, guest: 600 })) {
    const email = `${name}@example.com`
    const { user_id } = await owner.post('/users', { email, full_name: `${name} Test`, password: OWNER_PASSWORD })
    await owner.patch(`/users/${user_id}`, { role })
    clients.push(await signIn(email))
  }
  const users = clients.map(({ user }) => user.id)
  const queues: [Client, string][] = []
  for (const client of clients)
    for (const client_capabilities of [undefined, CAPABILITIES])
      for (const apply_markdown of [true, false]) {
        const options = { client_capabilities, apply_markdown, include_subscribers: true, all_public_streams: true }
        queues.push([client, (await client.post('/register', options)).queue_id])
      }
  const messages = await furnish(owner, users)
  for (const { method, path } of DECLARATIONS) {
    if (LEFT_OUT.test(`${method} ${path}`)) continue
    const own = path
      .replace(/:emoji\w*/, 'square')
      .replace(/:email\w*/, 'mod@example.com')
      .replace(/:message\w*/, `${messages[1]}`)
      .replaceAll(/:\w+(?:\{[^}]*\})?/g, '1')
    for (const client of [owner, ...clients.slice(2)])
      for (const values of [{}, { ...SAMPLES, messages, message_id: messages[0], queue_id: queues[0]![1] }]) {
        await client.call(method, own, values)
        time.ms += 1000
      }
  }
  const counts = { done: new Map(), refused: new Map() }
  const world: World = { random: new Random(8), clients, messages: [], channels: [], users, ...counts, log: [] }
  await learnChannels(world)
  for (let count = 0; count < STEPS; count++) {
    await step(world)
    time.ms += 3000
  }
  for (const client of clients) {
    for (const { method, path } of DECLARATIONS)
      if (method === 'GET' && !/:|events/.test(path))
        await client.call('GET', path, { anchor: 'newest', num_before: 100, num_after: 0 })
    for (const id of messages) await client.call('GET', `/messages/${id}`)
    await client.post('/register', { include_subscribers: true, client_capabilities: CAPABILITIES })
  }
  for (const [client, queue_id] of queues)
    await client.get('/events', { queue_id, last_event_id: -1, dont_block: true })
}

/** Returns the ids of messages. */
async function furnish(owner: Client, users: number[]): Promise<number[]> {
  const picture = png(20, [[200, 0, 0]], () => new Uint8Array(20))
  for (const name of ['general', 'random'])
    await owner.post('/users/me/subscriptions', { subscriptions: [{ name }], principals: users })
  const { user_id: bot } = await owner.post('/bots', { full_name: 'Robot', short_name: 'robot' })
  await owner.post('/bots', { full_name: 'Hook', short_name: 'hook', bot_type: 2 })
  await owner.patch(`/bots/${bot}`, { short_name: 'renamed', full_name: 'Renamed' })
  await owner.post(`/bots/${bot}/api_key/regenerate`)
  for (const path of ['/realm/emoji/square', '/realm/icon', '/users/me/avatar'])
    await owner.upload('POST', path, picture)
  const { body: upload } = await owner.upload('POST', '/user_uploads', picture)
  await owner.patch('/realm', { description: 'We are *many*', video_chat_provider: 5 })
  await owner.post('/realm/filters', { pattern: '#(?P<id>[0-9]+)', url_template: 'https://example.com/{id}' })
  await owner.post('/realm/profile_fields', { field_type: 1, name: 'Rank', hint: '' })
  const ids: number[] = []
  for (const content of [
    `[p](${upload.url})`,
    '@**all** <time:2026-11-24T12:00:00Z> :zulip: #**general>x**',
    '/poll q?\na',
  ])
    ids.push((await owner.post('/messages', { type: 'channel', to: 1, topic: 'x', content })).id)
  await owner.post('/messages', { type: 'direct', to: [users[2]], content: 'dm' })
  return ids
}

/** A value for each parameter, most of which any one endpoint does not know. */
const SAMPLES = {
  ...{ name: 'sample', description: 'words', content: 'sample words', topic: 'x', type: 'channel', to: 1, title: 'T' },
  ...{ full_name: 'Sample Name', short_name: 'sample', role: 400, status: 'active', status_text: 's' },
  ...{ emoji_name: 'tada', op: 'add', flag: 'starred', anchor: 'newest', num_before: 20, num_after: 0, narrow: [] },
  ...{ stream_id: 1, user_id: 2, visibility_policy: 3, subscriptions: [{ name: 'general' }], principals: [2] },
  ...{ alert_words: ['word'], scheduled_delivery_timestamp: 4e9, last_event_id: -1, dont_block: true, hint: 'h' },
  ...{ pattern: 'T(?P<id>[0-9]+)', url_template: 'https://t.example/{id}', field_type: 1, order: [1], members: [2] },
  ...{ add: [3], delete: [], word: 'w', drafts: [], timezone: 'Europe/Berlin', twenty_four_hour_time: true },
  ...{
    property: 'pin_to_top',
    value: true,
    data: [{ id: 1, value: 'v' }],
    default_language: 'de',
    storage: { a: 'b' },
  },
  ...{ subscription_data: [{ stream_id: 1, property: 'pin_to_top', value: true }], msg_type: 'widget', token: 'abc' },
  ...{
    fetch_event_types: ['message'],
    event_types: ['message'],
    bot_type: 1,
    report_type: 'spam',
    export_type: 'public',
  },
  ...{ onboarding_step: 'intro_resolve_topic', fragment: 'f', is_pinned: true, keys: ['a'], stream: 'general' },
  ...{ include_all: true, invitee_emails: 'i@example.com', stream_ids: [1], invite_as: 400, new_topic: 'z' },
}
