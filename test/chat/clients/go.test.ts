/**
 * The live tests of go-zulip, unmodified, against a whole Coffer through what stands for Zulip's development server. The module is in no
 * registry of packages: GO_ZULIP names the directory of its sources, and without it they are not run. At most some four minutes for
 * each level, which is waiting for the rate limit.
 */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import test, { type TestContext } from 'node:test'
import { ADMIN, expect } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Account, ask, keyOf } from '../support/process.ts'
import { startDevelopmentServer } from './development-server.ts'
import { furnished } from './furnished.ts'

const SOURCES = process.env.GO_ZULIP ?? ''
const LEVELS = process.env.COFFER_SLOW === '1' ? [460, 421, 371, 278] : [460, 278]
const TESTS = 155
const PACKAGES = [
  ...[
    'authentication',
    'channels',
    'drafts',
    'invites',
    'messages',
    'navigation_views',
    'real_time_events',
    'reminders',
  ],
  ...['scheduled_messages', 'server_and_organizations', 'users'],
].map((name) => `./zulip/api/${name}`)

/** Left out, by their paths. */
const LEFT_OUT: Record<string, string> = {
  'Test_GetUserPresence/bot': 'bots have no presence: E80, as upstream',
  'Test_UpdatePresence/bot': 'bots have no presence: E80, as upstream',
}

/** What leaves itself out. */
const SKIPPED: Record<string, string> = {
  Test_CreateBigBlueButtonVideoCall: 'there are no providers of calls: contract 12',
  Test_Linkifiers: 'called flaky by its author',
  Test_DeactivateOwnUser: 'would end the account that the tests use',
  ...Object.fromEntries(
    ['FetchAPIKey', 'CreateUser', 'AddApnsToken', 'AddFcmToken', 'RemoveApnsToken', 'RemoveFcmToken'].map((name) => [
      `Test_${name}`,
      'not written yet',
    ]),
  ),
}

const HOST = 'zulipdev.com' // of the addresses of its bots
const PASSWORD = 'a password of everybody'
const PEOPLE = { desdemona: 100, iago: 200, shiva: 300, hamlet: 400, cordelia: 400, AARON: 400, polonius: 600 }
const PROFILE_FIELDS = 9 // the number of the one that is filled in

const skip = SOURCES === '' && 'to run this: GO_ZULIP=directory of the sources of github.com/tum-zulip/go-zulip'

test('the live tests of go-zulip pass', { skip }, async (t) => {
  const { port, accounts } = await peopled(t)
  const server = await startDevelopmentServer(t, port, HOST, accounts)
  t.after(() => rmSync('/tmp/go-zulip-stats', { recursive: true, force: true })) // what its tests leave
  for (const level of LEVELS) {
    await t.test(`at level ${level}`, async () => {
      server.setLevel(level)
      const results = await liveTests()
      const named = (result: string) => [...results].filter(([, one]) => one.result === result)
      const failed = named('fail').map(([name, { output }]) => `${name}\n${output}`)
      assert.deepEqual(failed, [], failed.join('\n'))
      const skipped = named('skip').filter(([name, { output }]) => {
        const needed = /requires feature level (\d+)/.exec(output)?.[1]
        return SKIPPED[name.split('/')[0]!] === undefined && !(Number(needed) > level)
      })
      assert.deepEqual(skipped, [])
      assert.equal([...results.keys()].filter((name) => !name.includes('/')).length, TESTS)
    })
  }
})

interface Result {
  result: 'pass' | 'fail' | 'skip'
  output: string
}

/** By their paths. */
async function liveTests(): Promise<Map<string, Result>> {
  const leftOut = Object.keys(LEFT_OUT)
    .map((path) => path.replaceAll(/\w+/g, '^$&$'))
    .join('|')
  const parameters = ['test', '-count=1', '-json', '-timeout=9m', `-skip=${leftOut}`, ...PACKAGES]
  const child = spawn('go', parameters, { cwd: SOURCES, stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  let lines = ''
  for await (const text of child.stdout.setEncoding('utf8')) lines += text
  await closed
  const results = new Map<string, Result>()
  const outputs = new Map<string, string>()
  for (const line of lines.trimEnd().split('\n')) {
    const { Action: action, Test: name, Output: output } = JSON.parse(line)
    if (name === undefined || !name.startsWith('Test')) continue
    if (action === 'output') outputs.set(name, (outputs.get(name) ?? '') + output)
    if (/^(pass|fail|skip)$/.test(action)) results.set(name, { result: action, output: outputs.get(name) ?? '' })
  }
  return results
}

/** What its tests expect to find: contract 10.3. */
async function peopled(t: TestContext): Promise<{ port: number; accounts: readonly Account[] }> {
  const { coffer, port, owner } = await furnished(t, await buildForTests())
  await expect(204, coffer.call('PUT', '/chat/settings', { as: ADMIN, json: { url: `https://${HOST}` } }))
  const call = async (method: string, path: string, form: Record<string, string>, as = owner) => {
    const { status, body } = await ask(port, method, path, { as, form })
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  const accounts: Account[] = []
  for (const [name, role] of Object.entries(PEOPLE)) {
    const email = `${name}@zulip.com`
    const { user_id: id } = await call('POST', '/users', { email, full_name: name, password: PASSWORD })
    await call('PATCH', `/users/${id}`, { role: String(role) })
    const account = await keyOf(port, email, PASSWORD)
    await call('POST', '/users/me/presence', { status: 'active' }, account)
    accounts.push(account)
  }
  await call('POST', '/users/me/subscriptions', { subscriptions: '[{"name": "moderation"}]', invite_only: 'true' })
  const { stream_id: moderation } = await call('GET', '/get_stream_id', { stream: 'moderation' })
  await call('PATCH', '/realm', { moderation_request_channel_id: String(moderation), enable_read_receipts: 'true' })
  for (let n = 1; n <= PROFILE_FIELDS; n++)
    await call('POST', '/realm/profile_fields', { name: `Field ${n}`, field_type: '1' })
  return { port, accounts }
}
