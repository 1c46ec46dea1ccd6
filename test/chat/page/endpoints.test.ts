/** Every endpoint of the API is used by the page, or has a reason here why it is not. */

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'

const PAGE = fileURLToPath(new URL('../../../firmware/chat-page', import.meta.url))

/** A call of `api.ts`: the method, or a choice of two, and the path. */
const CALL = /\bcall(?:<(?:[^()]|\(\))*?>)?\(\s*([^,]*?),\s*(['`])([^'`]*?)\2/g

const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  'the register answer and events tell the same': [
    'GET /drafts',
    'GET /realm/emoji',
    'GET /user_groups',
    'GET /user_groups/:x/members',
    'GET /user_groups/:x/subgroups',
    'GET /user_groups/:x/members/:x',
    'GET /users',
    'GET /users/me/subscriptions',
    'GET /users/:x/subscriptions/:x',
    'GET /users/:x/status',
    'GET /server_settings',
    'GET /realm/icon',
    'GET /realm/logo',
    'GET /bots',
    'GET /users/:x/presence',
    'GET /realm/presence',
  ],
  'another endpoint does the same': [
    'PATCH /settings/notifications',
    'PATCH /settings/display',
    'PATCH /users/me/subscriptions',
    'PATCH /users/me/subscriptions/muted_topics',
    'POST /mark_all_as_read',
    'POST /mark_stream_as_read',
    'POST /mark_topic_as_read',
    'GET /messages/matches_narrow',
    'GET /get_stream_id',
    'PATCH /realm/domains',
    'DELETE /realm/domains',
    'DELETE /user_groups/:x',
    'POST /user_groups/:x/subgroups',
    'POST /message/:x/report',
    'POST /message_edit_typing',
  ],
  'the page sends files with progress, and shows them by their plain address': [
    'POST /user_uploads',
    'GET /user_uploads/:x/:x/:x/:x',
    'GET /user_uploads/:x/:x',
  ],
  'only for programs': [
    'PUT /bot_storage',
    'GET /bot_storage',
    'DELETE /bot_storage',
    'POST /external/:x',
    'POST /jwt/fetch_api_key',
    'POST /dev_fetch_api_key',
    'GET /dev_list_users',
    'POST /users/me/api_key/regenerate', // refused to sessions
    'GET /streams/:x/email_address', // there is no mail gateway
  ],
  'only for the official mobile app': [
    'POST /mobile_push/register',
    'POST /register_client_device',
    'POST /remove_client_device',
    'POST /mobile_push/test_notification',
    'POST /mobile_push/e2ee/test_notification',
    'POST /users/me/apns_device_token',
    'DELETE /users/me/apns_device_token',
    'POST /users/me/android_gcm_reg_id',
    'DELETE /users/me/android_gcm_reg_id',
  ],
  'the page has no calls': [
    'POST /calls/zoom/create',
    'POST /calls/constructorgroups/create',
    'POST /calls/nextcloud_talk/create',
    'POST /calls/webex/create',
    'GET /calls/bigbluebutton/create',
  ],
  'the page has no such list of views, and no tour': [
    'GET /navigation_views',
    'POST /navigation_views',
    'PATCH /navigation_views/:x',
    'DELETE /navigation_views/:x',
    'POST /users/me/onboarding_steps',
  ],
}

const used = new Set<string>()
for (const file of globSync('**/*.{ts,tsx}', { cwd: PAGE }))
  for (const [, first = '', , path = ''] of readFileSync(join(PAGE, file), 'utf8').matchAll(CALL))
    for (const [method] of first.matchAll(/GET|POST|PATCH|DELETE/g))
      used.add(`${method} ${path.replace(/\$\{[^}]*\}/g, ':x')}`)
const declared = DECLARATIONS.map(({ method, path }) => `${method} ${path.replace(/:\w+/g, ':x')}`)
const excepted = Object.values(EXCEPTIONS).flat()

test('the page calls no endpoint that does not exist', () => {
  assert.ok(used.size > 80, `${used.size} calls found`)
  assert.deepEqual(
    [...used].filter((one) => !declared.includes(one)),
    [],
  )
})

test('each endpoint is called by the page, or is one exception with a reason', () => {
  assert.deepEqual(
    declared.filter((one) => !used.has(one) && !excepted.includes(one)),
    [],
  )
  assert.deepEqual(
    excepted.filter((one) => used.has(one) || !declared.includes(one)),
    [],
    'exceptions that are none',
  )
  assert.equal(new Set(excepted).size, excepted.length)
})
