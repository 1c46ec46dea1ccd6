// @test short slow
/**
 * The live tests of go-zulip, unmodified, through what stands for Zulip's development server. The module is in no registry of packages:
 * GO_ZULIP names the directory of its sources, and without it they are not run.
 */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import test, { type TestContext } from 'node:test'
import { createClock } from '../../../firmware/base/clock.ts'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { openTestChat } from '../support/chat.ts'
import type { Account } from '../support/process.ts'
import { serve } from '../support/serving.ts'
import { startDevelopmentServer } from './development-server.ts'

const SOURCES = process.env.GO_ZULIP ?? ''
const LEVELS = process.env.COFFER_SLOW === '1' ? [500, 460, 421, 371, 278] : [500, 460, 278]
const TESTS = 155
const PACKAGES = './zulip/api/...'
const NEWEST_NEEDED = 417 // by any of its tests

const LEFT_OUT: Record<string, string> = {
  'Test_GetUserPresence/bot': 'bots have no presence: E80, as upstream',
  'Test_UpdatePresence/bot': 'bots have no presence: E80, as upstream',
}

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
      assert.equal([...results.keys()].filter((name) => !name.includes('/')).length, TESTS)
      const of = (result: string) => [...results].filter(([, one]) => one.result === result)
      const failures = of('fail').map(([name, { output }]) => `${name}\n${output}`)
      assert.equal(failures.length, 0, failures.join('\n'))
      const skipped = of('skip').filter(([name]) => !(name.split('/')[0]! in SKIPPED))
      for (const [name, { output }] of skipped)
        assert.ok(Number(/requires feature level (\d+)/.exec(output)?.[1]) > level, `${name}\n${output}`)
      assert.equal(skipped.length > 0, level < NEWEST_NEEDED)
    })
  }
})

interface Result {
  result: 'pass' | 'fail' | 'skip'
  output: string
}

/**
 * By their paths. One package after the other: they use the same accounts, and `Test_PollsEventsAndUpdatesState` fails when
 * another one sends to a new topic meanwhile, since that client loses the ids of `user_topic` events.
 */
async function liveTests(): Promise<Map<string, Result>> {
  const leftOut = Object.keys(LEFT_OUT)
    .map((path) => path.replaceAll(/\w+/g, '^$&$'))
    .join('|')
  const parameters = ['test', '-count=1', '-json', '-p=1', '-timeout=9m', `-skip=${leftOut}`, PACKAGES]
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

/** Users and channels that its tests expect: contract 10.3. Without rate limits: its client fails on them when it posts. */
async function peopled(t: TestContext): Promise<{ port: number; accounts: readonly Account[] }> {
  const rig = await openTestChat({ clock: createClock() })
  t.after(rig.close)
  const { chat, owner } = rig
  changeOperatorSettings(chat.realm, { url: `https://${HOST}` })
  const accounts: Account[] = []
  for (const [name, role] of Object.entries(PEOPLE)) {
    const email = `${name}@zulip.com`
    const { user_id: id } = await owner.post('/users', { email, full_name: name, password: 'a password of nobody' })
    await owner.patch(`/users/${id}`, { role })
    const client = rig.clientOf(chat.realm.state.user.get(id)!)
    await client.post('/users/me/presence', { status: 'active' })
    accounts.push({ email, key: client.key })
  }
  const moderation = rig.channel('moderation', [owner], { isPrivate: true })
  await owner.patch('/realm', { moderation_request_channel_id: moderation.id, enable_read_receipts: true })
  for (let n = 1; n <= PROFILE_FIELDS; n++)
    await owner.post('/realm/profile_fields', { name: `Field ${n}`, field_type: 1 })
  return { port: await serve(t, chat.api), accounts }
}
