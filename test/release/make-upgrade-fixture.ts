/**
 * Makes the upgrade fixture of this version with the bundle of these sources: every key type, users, a namespace, settings, a chat with
 * each kind of record, the audit log and both forms of backup. tools/node test/release/make-upgrade-fixture.ts
 */

import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MIGRATIONS as CHAT_MIGRATIONS } from '../../firmware/chat/store/schema.ts'
import { MECHANISMS, type Mechanism, mechanismFits } from '../../firmware/crypto/algorithms.ts'
import { KEY_TYPES, type KeyType } from '../../firmware/crypto/types.ts'
import { MIGRATIONS as STORE_MIGRATIONS } from '../../firmware/store/sqlite/schema.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { backUp, provisionForBackups } from '../chat/support/backups.ts'
import { type Account, ask, keyOf, makeOrganization, reach } from '../chat/support/process.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { type Coffer, startCoffer } from '../support/process.ts'
import {
  AUDIT_EXPORT,
  BACKUPS,
  CHIEF,
  DATA,
  type FixtureRecord,
  fixturePath,
  type GenericUse,
  OPERATOR,
  pack,
  RECORD,
  readAnswers,
  readChat,
  succeed,
  XAES_KEY,
} from './upgrade-fixture.ts'

const BYTES_MAX = 600 * 1024 // the repository keeps one for each release; sealed pages of the chat, here and in the backup, do not compress
const PLAIN = Buffer.from('sixteen bytes of')
const FAR_AWAY = String(Date.UTC(2099, 0, 1) / 1000)

const XAES: Mechanism[] = ['XAES_Encryption_GCM', 'XAES_Decryption_GCM']

/** All but those of XAES, which no key has together with AES_CBC. */
const mechanismsOf = (type: KeyType): Mechanism[] =>
  MECHANISMS.filter((name) => mechanismFits(name, type) && !XAES.includes(name))

async function makeKeys(coffer: Coffer): Promise<GenericUse> {
  const send = (status: number, method: string, path: string, json: unknown, as = ADMIN) =>
    expect(status, coffer.call(method, path, { as, json }))
  const [user, passphrase] = OPERATOR.split(':')
  await send(201, 'PUT', `/users/${user}`, { realName: 'Otto Operator', role: 'Operator', passphrase })
  await send(201, 'PUT', '/users/metrics', { realName: 'Meter', role: 'Metrics', passphrase: 'passphrase of a meter' })
  await send(204, 'PUT', '/users/operator/tags/berlin', undefined)
  const chief = { realName: 'Chief of the team', role: 'Administrator', passphrase: CHIEF.split(':')[1] }
  await send(201, 'PUT', '/users/team~chief', chief)
  await send(204, 'PUT', '/namespaces/team', undefined)
  await send(204, 'PUT', '/namespaces/team/quota', { keys: 7, users: 5 })
  for (const type of KEY_TYPES) {
    const length = type === 'RSA' ? { length: 2048 } : type === 'Generic' ? { length: 256 } : {}
    await send(201, 'POST', '/keys/generate', { id: type, type, mechanisms: mechanismsOf(type), ...length })
  }
  await send(201, 'POST', '/keys/generate', { id: XAES_KEY, type: 'Generic', mechanisms: XAES, length: 256 })
  const team = { id: 'of-the-team', type: 'EC_P256', mechanisms: ['ECDSA_Signature'], label: 'a label' }
  await send(201, 'POST', '/keys/generate', team, CHIEF)
  await send(204, 'PUT', '/keys/EC_P256/restrictions/tags/berlin', undefined)
  await send(204, 'PUT', '/keys/EC_P256/label', { label: 'restricted to Berlin' })
  const cert = { as: ADMIN, body: 'a certificate', type: 'application/octet-stream' }
  await expect(201, coffer.call('PUT', '/keys/RSA/cert', cert))
  const plain = PLAIN.toString('base64')
  const use = async (call: string, json: object) =>
    (await send(200, 'POST', `/keys/${call}`, { message: plain, ...json }, OPERATOR)).json()
  return {
    plain,
    ciphertexts: {
      AES_CBC: await use('Generic/encrypt', { mode: 'AES_CBC' }),
      XAES_GCM: await use(`${XAES_KEY}/encrypt`, { mode: 'XAES_GCM' }),
    },
    mac: (await use('Generic/sign', { mode: 'HMAC_SHA256' })).signature,
  }
}

async function configure(coffer: Coffer): Promise<void> {
  const put = (path: string, json: unknown) => expect(204, coffer.call('PUT', path, { as: ADMIN, json }))
  await put('/config/logging', { ipAddress: '192.0.2.1', port: 514, logLevel: 'warning' })
  await put('/config/ntp', { ntpIP: '192.0.2.2' })
  await put('/config/vocabulary', { members: 'reference' })
  await put('/config/unattended-boot', { status: 'on' })
}

/** Adds some records of each kind; the accounts of the owner and of a bot. */
async function fillChat(port: number, owner: Account): Promise<Account> {
  const call = async (method: string, path: string, values: Record<string, unknown> = {}, as = owner) => {
    const form = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    )
    return succeed(await ask(port, method, path, { as, form }))
  }
  const post = (path: string, values?: Record<string, unknown>, as?: Account) => call('POST', path, values, as)

  const me = (await call('GET', '/users/me')).user_id
  const member = { email: 'hamlet@example.org', password: 'a password of hamlet', full_name: 'Hamlet' }
  const hamlet: number = (await post('/users', member)).user_id
  const asHamlet = await keyOf(port, member.email, member.password)

  await call('PATCH', '/realm', {
    description: 'An organization of the fixture',
    message_content_edit_limit_seconds: 1200,
  })
  await call('PATCH', '/realm/user_settings_defaults', { twenty_four_hour_time: true })
  await call('PATCH', '/settings', { enter_sends: true })
  const group = (await post('/user_groups/create', { name: 'players', description: 'They play', members: [hamlet] }))
    .group_id
  const folder = (await post('/channel_folders/create', { name: 'stage', description: 'All on the stage' }))
    .channel_folder_id
  const subscriptions = [{ name: 'general', description: 'For **all**' }]
  await post('/users/me/subscriptions', { subscriptions, principals: [me, hamlet], folder_id: folder })
  const closed = { subscriptions: [{ name: 'closed' }], invite_only: true, can_add_subscribers_group: group }
  await post('/users/me/subscriptions', closed)
  const { stream_id: general } = await call('GET', '/get_stream_id', { stream: 'general' })
  await post('/default_streams', { stream_id: general })
  const { stream_id: hidden } = await call('GET', '/get_stream_id', { stream: 'closed' })
  await post('/users/me/subscriptions', { subscriptions: [{ name: 'other' }] })
  await post('/default_stream_groups/create', { group_name: 'first', description: 'First', stream_names: ['other'] })

  const send = async (values: Record<string, unknown>, as?: Account): Promise<number> =>
    (await post('/messages', values, as)).id
  const to = (id: number, topic: string, content: string) => ({ type: 'stream', to: id, topic, content })
  const first = await send(to(general, 'greetings', 'Good **morning** @**Hamlet**'))
  const reply = await send(to(general, 'greetings', 'The anniversary is tomorrow'), asHamlet)
  await send(to(hidden, 'secrets', 'Nobody else reads `this`'))
  const moved = await send(to(general, 'misplaced', 'Moved to another topic'))
  await send({ type: 'direct', to: [hamlet], content: 'Only for you' })
  await send({ type: 'direct', to: [me, hamlet], content: '/poll Question\nOne\nTwo' }, asHamlet)
  const deleted = await send(to(general, 'greetings', 'To be deleted'))
  await call('DELETE', `/messages/${deleted}`)
  await call('PATCH', `/messages/${first}`, { content: 'Good **evening** @**Hamlet**' })
  await call('PATCH', `/messages/${moved}`, { topic: 'greetings' })
  await post(`/messages/${reply}/reactions`, { emoji_name: 'tada' })
  await post('/messages/flags', { messages: [reply], op: 'add', flag: 'starred' })
  const file = { name: 'mark.txt', content: 'an upload of the fixture\n'.repeat(40) }
  const upload = succeed(await ask(port, 'POST', '/user_uploads', { as: owner, file }))
  await send(to(general, 'files', `[mark.txt](${upload.url})`))

  await post('/drafts', {
    drafts: [{ type: 'stream', to: [general], topic: 'later', content: 'A draft', timestamp: 1 }],
  })
  await post('/scheduled_messages', { ...to(general, 'later', 'Scheduled'), scheduled_delivery_timestamp: FAR_AWAY })
  await post('/reminders', { message_id: reply, scheduled_delivery_timestamp: FAR_AWAY, note: 'A reminder' })
  await post('/saved_snippets', { title: 'Greeting', content: 'Good morning' })
  await post('/navigation_views', { fragment: 'custom', is_pinned: true, name: 'A view' })
  await post('/users/me/alert_words', { alert_words: ['anniversary'] })
  await post(`/users/me/muted_users/${hamlet}`)
  await post('/user_topics', { stream_id: general, topic: 'greetings', visibility_policy: 3 })
  await post('/users/me/status', { status_text: 'Away', emoji_name: 'car' })
  await post('/users/me/presence', { status: 'active' })
  await post('/users/me/onboarding_steps', { onboarding_step: 'intro_inbox_view_modal' })
  await post('/realm/filters', { pattern: '#(?P<id>[0-9]+)', url_template: 'https://example.org/issues/{id}' })
  const playground = { name: 'Play', pygments_language: 'Python', url_template: 'https://example.org/{code}' }
  await post('/realm/playgrounds', playground)
  await post('/realm/domains', { domain: 'example.org', allow_subdomains: false })
  const field = (await post('/realm/profile_fields', { name: 'Town', field_type: 1, hint: 'Where one lives' })).id
  await call('PATCH', '/users/me/profile_data', { data: [{ id: field, value: 'Elsinore' }] })
  await post('/invites/multiuse', { invite_expires_in_minutes: null })
  await post('/register_client_device')
  await post('/users/me/android_gcm_reg_id', { token: 'a token' })

  const made = await post('/bots', { full_name: 'Yorick', short_name: 'yorick' })
  const { bots } = await call('GET', '/bots')
  const bot: Account = { email: bots[0].username, key: made.api_key }
  await call('PUT', '/bot_storage', { storage: { skull: 'alas' } }, bot)
  await send(to(general, 'greetings', 'Alas'), bot)
  return bot
}

async function stop(coffer: Coffer): Promise<void> {
  if ((await coffer.stop()) !== 0) throw new Error(coffer.output())
}

async function make(version: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-fixture-'))
  const data = join(directory, DATA)
  try {
    mkdirSync(data, { mode: 0o700 })
    const start = async (): Promise<Coffer> => {
      const coffer = startCoffer(null, { program, data, settings: { COFFER_CHAT_PORT: '0' } })
      await coffer.target()
      return coffer
    }
    const program = await buildForTests()
    const first = await start()
    await provisionForBackups(first)
    const generic = await makeKeys(first)
    await makeOrganization(first)
    const { port } = await reach(first, 'running')
    const account = await keyOf(port!)
    const bot = await fillChat(port!, account)
    await configure(first)
    await stop(first)
    // Read from the disk before it is recorded, since the order of members may differ from that in memory.
    const coffer = await start()
    const chatPort = (await reach(coffer, 'running')).port!
    const record: FixtureRecord = {
      version,
      formats: { store: STORE_MIGRATIONS.length, chat: CHAT_MIGRATIONS.length },
      answers: await readAnswers(coffer, KEY_TYPES),
      chat: await readChat(chatPort, account, bot),
      generic,
      account,
      bot,
    }
    for (const form of ['coffer', 'nethsm'] as const)
      writeFileSync(join(directory, BACKUPS[form]), await backUp(coffer, form))
    const { bytes } = await expect(200, coffer.call('GET', '/audit/export', { as: ADMIN }))
    writeFileSync(join(directory, AUDIT_EXPORT), bytes)
    await stop(coffer)
    writeFileSync(join(directory, RECORD), JSON.stringify(record, null, 1))
    pack(directory, fixturePath(version))
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  const { size } = statSync(fixturePath(version))
  console.log(`${fixturePath(version)}: ${size} bytes`)
  if (size > BYTES_MAX) throw new Error(`The fixture has more than ${BYTES_MAX} bytes`)
}

await make(packageJson.version)
