// @test long 60
/** Tabs that hear late of another one, because the browser had suspended them: they delete, keep and send nothing that is not theirs. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { ask } from '../support/process.ts'
import { visitTopic } from './browser.ts'
import { openHouse } from './house.ts'
import { cachedCount, textCount, until } from './stored.ts'

const { browser, house } = await openHouse()

const article = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })
const addressOf = (topic: string) => `#narrow/channel/${house.channelId}-ops/topic/${topic}`

/** A second tab, which takes messages of other tabs only while `isHeld` is false. */
async function openSlowTab(context: BrowserContext, url: string) {
  const page = await context.newPage()
  await page.addInitScript(() => {
    const tab = globalThis as unknown as { isHeld: boolean }
    const { set } = Object.getOwnPropertyDescriptor(BroadcastChannel.prototype, 'onmessage')!
    Object.defineProperty(BroadcastChannel.prototype, 'onmessage', {
      set(act: (event: MessageEvent) => void) {
        set!.call(this, (event: MessageEvent) => tab.isHeld || act(event))
      },
    })
  })
  await page.goto(url)
  return page
}

test('the end of an earlier session, told late, ends nothing of the next one', async () => {
  await house.say('late', 'words in late')
  const here = await visitTopic(browser, house, 'late')
  const { page, context } = here
  await until(async () => (await cachedCount(page)) >= 2, 'state and messages are not stored')
  const other = await context.newPage()
  await other.goto(`${here.origin}/manifest.webmanifest`)
  await other.evaluate(() => {
    const channel = new BroadcastChannel('coffer-chat')
    for (const vaultId of ['of-an-earlier-sign-in', null])
      channel.postMessage({ kind: 'left', because: 'left', vaultId })
    channel.close()
  })
  await untilHeard(other)
  await article(page, 'words in late').waitFor()
  await page.getByRole('textbox', { name: /^Message/ }).fill('half a sentence')
  await until(async () => (await textCount(page)) === 1, 'a draft is not stored any more')
  // A page that registers anew, as on a busy computer, empties this store and fills it again.
  await until(async () => (await cachedCount(page)) >= 2, 'state and messages are not stored any more')
  await here.end()
})

test('a deleted message does not come back into the store by a tab that has not heard of the deletion', async () => {
  const topic = 'deleted'
  await house.say(topic, 'words that stay')
  const { id } = await house.say(topic, 'words to delete')
  const here = await visitTopic(browser, house, topic)
  const { page, context } = here
  here.mayBeAway = true
  await until(async () => (await cachedCount(page)) >= 2, 'state and messages are not stored')
  const other = await openSlowTab(context, `${here.origin}/#inbox`)
  await other.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()

  let fetched = () => {}
  let release = () => {}
  const isFetched = new Promise<void>((resolve) => {
    fetched = resolve
  })
  const isReleased = new Promise<void>((resolve) => {
    release = resolve
  })
  await other.route('**/api/v1/messages?**', async (route) => {
    const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' }
    const response = await route.fetch({ headers })
    fetched()
    await isReleased
    await route.fulfill({ response })
  })
  await other.evaluate((to) => {
    ;(globalThis as unknown as { isHeld: boolean }).isHeld = true
    location.hash = to
  }, addressOf(topic))
  await isFetched
  await ask(house.port, 'DELETE', `/messages/${id}`, { as: house.owner })
  await article(page, 'words to delete').waitFor({ state: 'detached' })
  release()
  await article(other, 'words to delete').waitFor()
  await untilHeard(other)
  await house.say(topic, 'words of after that')
  await article(page, 'words of after that').waitFor()

  // Without an answer to the fetch a tab shows the messages that are stored.
  await context.route('**/api/v1/messages?**', (route) => route.abort('connectionreset'))
  const last = await context.newPage()
  await until(async () => {
    await last.goto(`${here.origin}/${addressOf(topic)}`)
    await last.reload()
    // A page that registers anew, as on a busy computer, has emptied the store: then there is nothing to show yet.
    const failed = last.getByRole('button', { name: 'Try again' })
    await article(last, 'words that stay').or(failed).first().waitFor()
    return (await article(last, 'words of after that').count()) === 1
  }, 'the last message is not stored')
  assert.equal(await article(last, 'words to delete').count(), 0)
  await here.end()
})

/** Waits until the leader has taken all that this tab has told. */
const untilHeard = (page: Page) =>
  page.evaluate(async () => {
    const channel = new BroadcastChannel('coffer-chat')
    await new Promise<void>((resolve, reject) => {
      setTimeout(() => reject(new Error('no tab leads')), 30_000)
      channel.addEventListener('message', ({ data }) => data.kind === 'state' && resolve())
      channel.postMessage({ kind: 'hello', hasState: false, queue: null })
    })
    channel.close()
  })

test('a message of another account, which was signed in before, is neither shown nor sent', async () => {
  const here = await visitTopic(browser, house, 'accounts')
  const { page } = here
  const ownId = (await ask(house.port, 'GET', '/users/me', { as: house.owner })).body.user_id
  await page.evaluate(
    ([ownId, channelId]) => {
      const channel = new BroadcastChannel('coffer-chat')
      const conversation = { kind: 'topic', channelId, topic: 'accounts' }
      for (const [at, author] of [ownId! + 1, ownId!].entries()) {
        const key = String(at).repeat(32)
        const content = `words of ${author === ownId ? 'this account' : 'another account'}`
        const message = { key, conversation, content, addedMs: Date.now() + at, refusal: null, failures: 0, id: null }
        channel.postMessage({ kind: 'outbox', change: { ownId: author, key, message } })
      }
      channel.close()
    },
    [ownId, house.channelId],
  )
  await article(page, 'words of this account').waitFor()
  await until(async () => (await house.saidIn('accounts')).length > 0, 'nothing is sent')
  await page.getByRole('article', { name: 'Your message, on its way' }).waitFor({ state: 'detached' })
  assert.deepEqual(await house.saidIn('accounts'), ['words of this account'])
  assert.equal(await article(page, 'words of another account').count(), 0)
  await here.end()
})
