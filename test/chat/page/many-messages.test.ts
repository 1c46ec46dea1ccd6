// @test long 60 slow
/**
 * A topic and a search take as many requests in an organization of 60,000 messages as in one of 1,000; with COFFER_SLOW=1 in the
 * benchmark's of 1,000,000.
 */

import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { addressOf } from '../../../firmware/chat-page/model/conversation.ts'
import { OWNER, OWNER_PASSWORD } from '../../../tools/bench/chat-serve.ts'
import { COMMONEST } from '../../../tools/bench/chat-words.ts'
import { launchBrowser } from '../../console/browser.ts'
import { ask, keyOf } from '../support/process.ts'
import { startBenchChat } from './bench-chat.ts'
import { signIn, visitPage } from './browser.ts'
import { until } from './stored.ts'

const FEW = 1000
const isSlow = process.env.COFFER_SLOW !== undefined
const MANY = isSlow ? 1_000_000 : 60_000
const [USERS, CHANNELS] = isSlow ? [1000, 200] : [100, 5]
/** Waits for events, and tells the time at which the account was active. */
const BY_TIME = ['GET /api/v1/events', 'POST /api/v1/users/me/presence']

const browser = await launchBrowser()
after(() => browser.close())

/** Calls of the page until a topic, and a search, have been shown. */
async function callsWith(t: TestContext, messages: number) {
  const { port, stop } = await startBenchChat('chat-server.ts', USERS, CHANNELS, messages)
  t.after(stop)
  const as = await keyOf(port, OWNER.email, OWNER_PASSWORD)
  const own = await ask(port, 'GET', '/users/me', { as })
  assert.equal(own.body.is_owner, true)
  assert.equal((await ask(port, 'POST', '/mark_all_as_read', { as })).status, 200) // so that topics open at their newest message
  const range = { anchor: 'newest', num_before: '1', num_after: '0', narrow: '[["channels","public"]]' }
  const [newest] = (await ask(port, 'GET', '/messages', { as, form: range })).body.messages
  const here = await visitPage(browser, port)
  const { page } = here
  let open = 0
  page.on('request', () => open++)
  page.on('requestfinished', () => open--)
  page.on('requestfailed', () => open--)
  await signIn(page, OWNER.email, OWNER_PASSWORD, false) // a device of the user fetches messages to store them
  const callsFor = async (address: string, shown: string) => {
    await until(async () => open <= 1, 'a request goes on') // the page always waits for events
    const before = here.requests.length
    await page.evaluate((to) => {
      location.hash = to
    }, address)
    await page.locator(shown).first().waitFor()
    await until(async () => open <= 1, 'a request goes on')
    return here.requests.slice(before).filter((one) => one.includes(' /api/v1/') && !BY_TIME.includes(one))
  }
  const topic = { kind: 'topic', channelId: newest.stream_id, topic: newest.subject } as const
  const calls = {
    topic: await callsFor(
      addressOf(topic, () => 'channel', own.body.user_id),
      `article[data-id="${newest.id}"]`,
    ),
    search: await callsFor(`#narrow/search/${COMMONEST[0]}`, '.result .highlight'),
  }
  await here.end()
  return calls
}

test(`a topic and a search take as many requests with ${MANY} messages as with ${FEW}`, async (t) => {
  const few = await callsWith(t, FEW)
  assert.deepEqual([few.topic.length, few.search.length], [1, 1])
  assert.deepEqual(await callsWith(t, MANY), few)
})
