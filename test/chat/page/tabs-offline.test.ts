// @test long 60
/** Several tabs of one browser while the server is away or locked, and messages between tabs that arrive late. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { visitTopic } from './browser.ts'
import { openHouse } from './house.ts'
import { cachedCount, until } from './stored.ts'

const WATCHED_MS = 4000
const CALLS_MAX = 12 // of that time: the leader's attempts, waiting 1 s, 2 s, and so on, and one wake
const { browser, house } = await openHouse()

const stateIsStored = (page: Page) => page.getByText('This is the state of')

/** A signed-in browser that has stored the state and the messages of the topic. */
async function openStored(topic: string) {
  await house.say(topic, `words in ${topic}`)
  const here = await visitTopic(browser, house, topic, { statuses: [429, 500] })
  here.mayBeAway = true
  await until(async () => (await cachedCount(here.page)) >= 2, 'state and messages are not stored')
  return here
}

test('tabs without the server show the stored state, and ask neither each other nor the server without end', async () => {
  const { page, context, end } = await openStored('away')
  const calls: string[] = []
  await context.route('**/api/v1/**', (route) => {
    calls.push(route.request().url())
    return route.abort('connectionreset')
  })
  await page.reload()
  await stateIsStored(page).waitFor()
  const other = await context.newPage()
  await other.goto(page.url())
  await stateIsStored(other).waitFor()
  await other.getByRole('article').filter({ hasText: 'words in away' }).waitFor()
  calls.length = 0
  const third = await context.newPage()
  await third.goto(page.url())
  await stateIsStored(third).waitFor()
  await sleep(WATCHED_MS)
  const registered = calls.filter((url) => url.endsWith('/register')).length
  assert.ok(registered <= CALLS_MAX, `${registered} calls`)
  await end()
})

const DAY_MS = 86_400_000
const FAILED_CALLS = 2

test('a tab that leads at last keeps its texts, if the server has answered another tab since', async () => {
  const { page, context, end } = await openStored('lease')
  await context.addInitScript(() => {
    const now = Date.now
    Date.now = () => now() + Number(localStorage.getItem('test-later-ms'))
  })
  const later = (days: number) => page.evaluate((ms) => localStorage.setItem('test-later-ms', `${ms}`), days * DAY_MS)
  const answeredMs = () =>
    page.evaluate(async () => {
      const answered = <T>(request: IDBRequest<T>) =>
        new Promise<T>((resolve) => request.addEventListener('success', () => resolve(request.result)))
      const database = await answered(indexedDB.open('coffer-chat'))
      const lease = await answered(database.transaction('keys').objectStore('keys').get(1))
      database.close()
      return lease.answeredMs as number
    })
  const box = (at: Page) => at.getByRole('textbox', { name: /^Message/ })
  await page.reload()
  await box(page).waitFor()
  const other = await context.newPage()
  await other.goto(page.url())
  await box(other).waitFor()

  const first = await answeredMs()
  await later(13)
  await house.say('lease', 'the leader hears')
  await until(async () => (await answeredMs()) > first + 12 * DAY_MS, 'the lease is not renewed')
  await later(20) // over for who read it at first, 7 days old for who reads it now
  await context.route('**/api/v1/**', (route) => route.abort('connectionreset'))
  await box(other).fill('written offline')
  await box(other).press('Control+Enter')
  const onItsWay = other.getByRole('article', { name: 'Your message, on its way' })
  await onItsWay.waitFor()
  await box(other).fill('half a sentence')
  let failed = 0
  other.on('requestfailed', (request) => {
    if (request.url().includes('/api/v1/events')) failed++
  })
  await page.close()
  await until(async () => failed >= FAILED_CALLS, 'the other tab does not lead')
  assert.equal(await onItsWay.count(), 1)
  assert.equal(await box(other).inputValue(), 'half a sentence')
  assert.equal(await other.evaluate(async () => (await indexedDB.databases()).length), 1)

  await other.evaluate((ms) => localStorage.setItem('test-later-ms', `${ms}`), 40 * DAY_MS)
  await other.evaluate(() => dispatchEvent(new Event('online')))
  await other.getByText('This session has ended').waitFor()
  await end()
})

test('the stored state does not appear after the answer that the appliance is locked', async () => {
  const { page, context, end } = await openStored('sealed')
  await context.route('**/api/v1/register', async (route) => {
    await sleep(1500) // the stored state is read meanwhile
    const body = { result: 'error', code: 'SERVER_NOT_READY', msg: 'locked' }
    await route.fulfill({ status: 500, contentType: 'application/json', body: JSON.stringify(body) }).catch(() => {})
  })
  await page.addInitScript(() => {
    const tab = globalThis as unknown as { release(): void; isReading: boolean }
    const released = new Promise<void>((resolve) => {
      tab.release = resolve
    })
    const getAll = IDBObjectStore.prototype.getAll
    IDBObjectStore.prototype.getAll = function (...options) {
      const request = getAll.apply(this, options as never)
      tab.isReading = true
      const slow = {
        get result() {
          return request.result
        },
        set onsuccess(act: () => void) {
          request.addEventListener('success', () => void released.then(act))
        },
        set onerror(_act: () => void) {},
      }
      return slow as never
    }
  })
  await page.reload()
  await page.getByRole('heading', { name: 'Sealed' }).waitFor()
  const isRead = await page.evaluate(async () => {
    const tab = globalThis as unknown as { release(): void; isReading: boolean }
    tab.release()
    await new Promise((resolve) => setTimeout(resolve, 1000)) // the next attempt is 5 s away
    return tab.isReading
  })
  assert.equal(isRead, true)
  assert.equal(await page.getByRole('heading', { name: 'Sealed' }).count(), 1)
  assert.ok(!(await page.content()).includes('words in sealed'))
  await end()
})
