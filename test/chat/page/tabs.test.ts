// @test long 120
/** Several tabs of one browser: one connection, which outlives the tab that holds it, a lock, and a lost queue. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page, Request } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { visitTopic } from './browser.ts'
import { openHouse } from './house.ts'
import { until } from './stored.ts'

const TABS = 5
const { browser, house } = await openHouse()

const box = (page: Page) => page.getByRole('textbox', { name: /^Message/ })
const onItsWay = (page: Page) => page.getByRole('article', { name: 'Your message, on its way' })

/** Calls of all tabs: which polls wait, and how many queues were registered. */
function watch(context: BrowserContext) {
  const waiting = new Set<Request>()
  const queues: string[] = []
  let registered = 0
  const isPoll = (request: Request) => new URL(request.url()).pathname === '/api/v1/events'
  context.on('request', (request) => {
    if (request.url().endsWith('/api/v1/register')) registered++
    if (!isPoll(request)) return
    waiting.add(request)
    queues.push(new URL(request.url()).searchParams.get('queue_id')!)
  })
  context.on('requestfinished', (request) => void waiting.delete(request))
  context.on('requestfailed', (request) => void waiting.delete(request))
  const pollers = () => [...waiting].map((request) => request.frame().page()).filter((page) => !page.isClosed())
  return {
    get registered() {
      return registered
    },
    get queue() {
      return queues.at(-1)
    },
    /** The tab whose poll waits. */
    leader: async (): Promise<Page> => {
      await becomes(() => pollers().length, 1)
      return pollers()[0]!
    },
  }
}

async function openTabs(first: Page, context: BrowserContext, count = TABS): Promise<Page[]> {
  const pages = [first]
  while (pages.length < count) {
    const page = await context.newPage()
    await page.goto(first.url())
    await box(page).waitFor()
    pages.push(page)
  }
  return pages
}

const shows = (pages: readonly Page[], text: string) =>
  Promise.all(pages.map((page) => page.getByRole('article').filter({ hasText: text }).waitFor()))

test('five tabs hold one waiting poll; the others go on when it ends, when the queue is lost, and after a restart', async () => {
  const here = await visitTopic(browser, house, 'tabs', { statuses: [400, 500] })
  here.mayBeAway = true
  const calls = watch(here.context)
  const pages = await openTabs(here.page, here.context)
  await house.say('tabs', 'for all of them')
  await shows(pages, 'for all of them')
  const first = await calls.leader()
  assert.equal(calls.registered, 0, 'a tab has registered a queue of its own')
  const queue = calls.queue
  for (const [number, page] of pages.entries()) await box(page).fill(`typed in ${number}`)

  await first.close()
  const left = pages.filter((page) => page !== first)
  await house.say('tabs', 'after the first is closed')
  await shows(left, 'after the first is closed')
  assert.ok(left.includes(await calls.leader()))
  assert.deepEqual([calls.registered, calls.queue], [0, queue], 'the queue does not go on')

  await house.killChat() // its queues go with it
  await house.say('tabs', 'after the process was killed')
  await shows(left, 'after the process was killed')
  await calls.leader()
  assert.equal(calls.registered, 1)
  assert.notEqual(calls.queue, queue)
  await house.say('tabs', 'and all hear on')
  await shows(left, 'and all hear on')
  for (const page of left) await becomes(async () => /^typed in \d$/.test(await box(page).inputValue()), true)
  await here.end()
})

test('a lock empties every tab; after the unlock the same queue goes on, and the text in the box stays', async () => {
  const here = await visitTopic(browser, house, 'locked tabs', { statuses: [500] })
  here.mayBeAway = true
  const calls = watch(here.context)
  const pages = await openTabs(here.page, here.context)
  await house.say('locked tabs', 'words that nobody sees')
  await shows(pages, 'words that nobody sees')
  await calls.leader()
  const queue = calls.queue
  for (const [number, page] of pages.entries()) await box(page).fill(`half a sentence ${number}`)

  await expect(204, house.coffer.call('POST', '/lock', { as: ADMIN }))
  for (const page of pages) {
    await page.getByRole('heading', { name: 'Sealed' }).waitFor()
    assert.ok(!(await page.content()).includes('words that nobody sees'))
  }
  await expect(204, house.coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await shows(pages, 'words that nobody sees')
  await house.say('locked tabs', 'said after the unlock')
  await shows(pages, 'said after the unlock')
  for (const [number, page] of pages.entries()) await becomes(() => box(page).inputValue(), `half a sentence ${number}`)
  await calls.leader()
  assert.deepEqual([calls.registered, calls.queue], [0, queue])
  await here.end()
})

test('a tab that does not answer is not waited for', async () => {
  const here = await visitTopic(browser, house, 'silent', { statuses: [400] }) // of events that only the first got
  const calls = watch(here.context)
  const pages = await openTabs(here.page, here.context, 2)
  await house.say('silent', 'by the first')
  await shows(pages, 'by the first')
  const first = await calls.leader()
  const other = pages.find((page) => page !== first)!
  await first.evaluate(() => {
    BroadcastChannel.prototype.postMessage = () => {} // as if the browser had suspended the tab
  })
  await other.evaluate(() => dispatchEvent(new Event('online')))
  await until(async () => (await calls.leader()) === other, 'the other tab does not lead')
  await house.say('silent', 'for both')
  await shows(pages, 'for both')
  await here.end()
})

test('a message that waits is shown by all tabs and sent by one, also when its own tab is closed', async () => {
  const here = await visitTopic(browser, house, 'waiting')
  here.mayBeAway = true
  const [first, second, third] = await openTabs(here.page, here.context, 3)
  let isCut = true
  await here.context.route('**/api/v1/messages', (route) =>
    isCut && route.request().method() === 'POST' ? route.abort('connectionreset') : route.fallback(),
  )
  const texts = ['from the second', 'from the third', 'and the second again']
  for (const [text, page] of [
    [texts[0], second],
    [texts[1], third],
    [texts[2], second],
  ] as const) {
    await box(page!).fill(text!)
    await box(page!).press('Control+Enter')
    await shows([first!, second!, third!], text!)
  }
  await becomes(() => onItsWay(first!).count(), texts.length)
  await second!.close()
  isCut = false
  await first!.evaluate(() => dispatchEvent(new Event('online')))
  for (const page of [first!, third!]) await onItsWay(page).first().waitFor({ state: 'detached' })
  await onItsWay(first!).waitFor({ state: 'detached' })
  assert.deepEqual(await house.saidIn('waiting'), texts)
  await here.end()
})

test('a refused message is discarded in all tabs, and a draft of one tab is not stored twice', async () => {
  const here = await visitTopic(browser, house, 'shared')
  here.allowed.add(400)
  await here.context.route('**/api/v1/messages', (route) => {
    if (route.request().method() !== 'POST') return route.fallback()
    const body = { result: 'error', code: 'BAD_REQUEST', msg: 'You may not write here' }
    return route.fulfill({ status: 400, contentType: 'application/json', body: JSON.stringify(body) })
  })
  const [first, second] = await openTabs(here.page, here.context, 2)
  await box(second!).fill('refused words')
  await box(second!).press('Control+Enter')
  for (const page of [first!, second!]) await page.getByRole('alert').getByText('You may not write here').waitFor()
  await first!.getByRole('button', { name: 'Discard' }).click()
  await onItsWay(second!).waitFor({ state: 'detached' })

  await box(first!).fill('a draft of the first')
  const [, , third] = await openTabs(first!, here.context, 3)
  await becomes(() => box(third!).inputValue(), 'a draft of the first')
  const stored = async () => {
    const { drafts } = await first!.evaluate(async () => (await fetch('/api/v1/drafts')).json())
    return drafts.filter(({ topic }: { topic: string }) => topic === 'shared').map(({ content }: never) => content)
  }
  await until(async () => (await stored()).length > 0, 'the draft is not stored')
  await sleep(3000) // a second one would come two seconds after the last key
  assert.deepEqual(await stored(), ['a draft of the first'])
  await here.end()
})

test('a sign-out ends all tabs', async () => {
  const here = await visitTopic(browser, house, 'left together')
  const pages = await openTabs(here.page, here.context, 3)
  await house.say('left together', 'words of the day')
  await shows(pages, 'words of the day')
  await pages[1]!.getByLabel('Menu').click()
  await pages[1]!.getByRole('button', { name: 'Sign out' }).click()
  for (const page of pages) {
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.ok(!(await page.content()).includes('words of the day'))
  }
  const [first] = pages
  await first!.getByLabel('E-mail', { exact: true }).fill(OWNER)
  await first!.getByLabel('Password', { exact: true }).fill(OWNER_PASSWORD)
  await first!.getByRole('button', { name: 'Sign in' }).click()
  await shows([first!], 'words of the day')
  await here.end()
})
