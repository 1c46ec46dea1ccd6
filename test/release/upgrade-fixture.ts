/**
 * Fixtures of released versions, `v<version>-test-keys.tar.gz` in this folder: a data directory that the version wrote, its backups, and
 * what its API answered then. All keys in it were made for tests. make-upgrade-fixture.ts makes one, upgrade.test.ts opens each.
 */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { globSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Account, ask, type ChatAnswer } from '../chat/support/process.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import type { Reply } from '../support/client.ts'
import type { Coffer } from '../support/process.ts'

const DIRECTORY = import.meta.dirname
const ENDING = '-test-keys.tar.gz'

export const DATA = 'data'
export const RECORD = 'record.json'
export const BACKUPS = { coffer: 'backup.coffer', nethsm: 'backup.nethsm' } as const
export const AUDIT_EXPORT = 'audit.jsonl'

/** Besides those of test/support/appliance.ts and test/chat/support/process.ts. */
export const OPERATOR = 'operator:passphrase of an operator'
export const CHIEF = 'team~chief:passphrase of a chief'

/** Answers of the fixture's version, to compare with those of a later one. */
export interface FixtureRecord {
  version: string
  /** Migrations that the version had: a fixture of the same number was made by the same format. */
  formats: { store: number; chat: number }
  answers: Record<string, unknown>
  chat: Record<string, unknown>
  generic: GenericUse
  /** An API key of the chat's owner that was made then. */
  account: Account
  bot: Account
}

export const XAES_KEY = 'Generic-XAES'

/** Results of the generic keys at that time, in base64: ciphertexts of `plain` by their mode, and its HMAC-SHA-256. */
export interface GenericUse {
  plain: string
  ciphertexts: Record<string, { encrypted: string; iv: string }>
  mac: string
}

export const fixturePath = (version: string): string => join(DIRECTORY, `v${version}${ENDING}`)

export const fixtureVersions = (): string[] =>
  globSync(`v*${ENDING}`, { cwd: DIRECTORY }).map((path) => basename(path, ENDING).slice(1))

export const pack = (from: string, to: string): void =>
  void execFileSync('tar', ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '-czf', to, '-C', from, '.'])

export const unpack = (from: string, to: string): void =>
  void execFileSync('tar', ['--no-same-owner', '-xzf', from, '-C', to])

/** GETs of the key service whose answers stay as they are, after any upgrade. */
const ANSWERS: readonly [path: string, as: string][] = [
  ['/users', ADMIN],
  ['/users/operator', ADMIN],
  ['/users/operator/tags', ADMIN],
  ['/namespaces', ADMIN],
  ['/namespaces/team/quota', ADMIN],
  ['/keys?types=all', ADMIN],
  ['/keys/of-the-team', CHIEF],
  ['/config/logging', ADMIN],
  ['/config/ntp', ADMIN],
  ['/config/vocabulary', ADMIN],
  ['/config/unattended-boot', ADMIN],
  ['/config/tls/public.pem', ADMIN],
  ['/chat/tls/cert.pem', ADMIN],
  ['/chat/settings', ADMIN],
]

/** Answers by path; of each key also its attributes, its public key and its certificate. */
export async function readAnswers(coffer: Coffer, ids: readonly string[]): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  const calls = [...ANSWERS]
  for (const id of ids) calls.push([`/keys/${id}`, ADMIN])
  for (const id of ids) if (id !== 'Generic') calls.push([`/keys/${id}/public.pem`, ADMIN])
  calls.push(['/keys/RSA/cert', ADMIN])
  for (const [path, as] of calls) {
    const reply = await expect(200, coffer.call('GET', path, { as }))
    answers[path] = contentOf(path, reply)
  }
  return answers
}

/** A certificate is made again when addresses change, with the same key. */
function contentOf(path: string, { headers, json, text }: Reply): unknown {
  if (path.endsWith('/cert.pem')) return new X509Certificate(text()).publicKey.export({ type: 'spki', format: 'pem' })
  return headers['content-type']?.startsWith('application/json') ? settled(json()) : text()
}

/** Members that change while time passes or keys are used. */
const MOMENTARY = ['operations', 'stream_weekly_traffic', 'is_recently_active']

const settled = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, member) => (MOMENTARY.includes(name) ? undefined : member))

/** Parts of the answer to `POST /register` that hold records. */
const REGISTER = [
  ...['realm_name', 'realm_description', 'realm_users', 'realm_user_groups', 'realm_bots', 'realm_emoji'],
  ...['realm_linkifiers', 'realm_playgrounds', 'realm_domains', 'custom_profile_fields'],
  ...['realm_default_streams', 'realm_default_stream_groups', 'channel_folders', 'subscriptions', 'unsubscribed'],
  ...['drafts', 'scheduled_messages', 'reminders', 'saved_snippets', 'navigation_views', 'starred_messages'],
  ...['alert_words', 'muted_users', 'user_topics', 'user_status', 'devices'],
] as const

const ALL_MESSAGES = { anchor: 'oldest', num_before: '0', num_after: '1000', apply_markdown: 'false' }

export async function readChat(port: number, as: Account, bot: Account): Promise<Record<string, unknown>> {
  const get = async (path: string, form: Record<string, string> = {}, account = as) =>
    succeed(await ask(port, 'GET', path, { as: account, form }))
  const registered = succeed(await ask(port, 'POST', '/register', { as, form: CAPABILITIES }))
  const history = await get('/messages', ALL_MESSAGES)
  const rendered = await get('/messages', { ...ALL_MESSAGES, apply_markdown: 'true' })
  const { attachments } = await get('/attachments')
  const link = await get(`/user_uploads/${attachments[0].path_id}`)
  const upload = await ask(port, 'GET', link.url, { outside: true })
  const found = await get('/messages', { ...ALL_MESSAGES, narrow: '[["search","anniversary"]]' })
  return {
    register: settled(Object.fromEntries(REGISTER.map((name) => [name, registered[name]]))),
    messages: history.messages,
    html: rendered.messages.map(({ id, content }: { id: number; content: string }) => ({ id, content })),
    history: (await get(`/messages/${history.messages[0].id}/history`)).message_history,
    found: found.messages.map(({ id }: { id: number }) => id),
    attachments,
    upload: upload.body,
    invitations: (await get('/invites')).invites.map(({ id, invited_as }: Record<string, unknown>) => ({
      id,
      invited_as,
    })),
    exports: (await get('/export/realm')).exports.map(({ id }: { id: number }) => ({ id })),
    storage: (await get('/bot_storage', {}, bot)).storage,
  }
}

const CAPABILITIES = {
  client_capabilities: '{"notification_settings_null":true,"bulk_message_deletion":true,"archived_channels":true}',
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into member by member
export function succeed({ status, body }: ChatAnswer): any {
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** Fails unless all that was recorded is there with its value. Later versions may add members. */
export function assertHolds(recorded: unknown, now: unknown, path: string): void {
  if (typeof recorded !== 'object' || recorded === null) {
    assert.deepEqual(now, recorded, path)
    return
  }
  assert.equal(Array.isArray(now), Array.isArray(recorded), path)
  if (Array.isArray(recorded)) assert.equal((now as unknown[]).length, recorded.length, path)
  for (const [name, value] of Object.entries(recorded)) assertHolds(value, (now as never)?.[name], `${path}.${name}`)
}
