// @test long 40
/** Keys that scroll a list of messages: to its ends, and by pages while older messages are inserted. The pointer over a list. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { OWNER, OWNER_PASSWORD } from '../../../tools/bench/chat-serve.ts'
import { becomes, launchBrowser } from '../../console/browser.ts'
import { startBenchChat } from './bench-chat.ts'
import { signIn, visitPage } from './browser.ts'
import { until } from './stored.ts'

declare global {
  var releaseAnswers: () => void
  var drawn: number
}

const MESSAGES = 400
const PAGE_SHARE_MIN = 0.85 // of the list's height
const BEFORE_END_PX = 8 // fewer than there are beyond the first and the last message
const STILL_FRAMES = 10

const browser = await launchBrowser()
let chat: Awaited<ReturnType<typeof startBenchChat>>
let long: { address: string; first: number; newest: number }
before(async () => {
  chat = await startBenchChat('long-topic.ts', MESSAGES)
  const [, address, first, newest] = /(#\S+) from (\d+) to (\d+)/.exec(chat.printed) ?? assert.fail(chat.printed)
  long = { address: address!, first: Number(first), newest: Number(newest) }
})
after(async () => {
  await browser.close()
  await chat.stop()
})

async function openAt(address: string, id: number) {
  const here = await visitPage(browser, chat.port)
  const { page } = here
  await signIn(page, OWNER.email, OWNER_PASSWORD)
  await page.evaluate((to) => {
    location.hash = to
  }, address)
  await page.locator(`[data-id="${id}"]`).waitFor()
  return { here, page, list: page.locator('.scroll-area') }
}

const scrollTo = (page: Page, top: number) =>
  page.locator('.scroll-area').evaluate(async (box, to) => {
    box.scrollTop = to
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
  }, top)

const messagesIn = (page: Page) => page.locator('.scroll-area [data-id]').count()

const focusedId = (page: Page) => page.evaluate(() => Number((document.activeElement as HTMLElement).dataset.id))

/** Resolves when the list has had the same place for some frames. */
const settled = (page: Page) =>
  page.locator('.scroll-area').evaluate(async (box, frames) => {
    for (let [still, last] = [0, -1]; still < frames; ) {
      await new Promise(requestAnimationFrame)
      still = box.scrollTop === last ? still + 1 : 0
      last = box.scrollTop
    }
  }, STILL_FRAMES)

/** Answers with messages wait until the page calls `releaseAnswers()`. */
const holdAnswers = (page: Page) =>
  page.evaluate(() => {
    const held = new Promise<void>((resolve) => {
      globalThis.releaseAnswers = resolve
    })
    const fetched = globalThis.fetch
    globalThis.fetch = async (input, init) => {
      const answer = await fetched(input, init)
      if (String(input).includes('/messages?')) await held
      return answer
    }
  })

test('Home and End lead to the very ends of a list', async () => {
  const { here, page, list } = await openAt(`${long.address}/near/${long.first}`, long.first)
  await list.focus()
  await scrollTo(page, BEFORE_END_PX)
  await page.keyboard.press('Home')
  await becomes(() => list.evaluate((box) => box.scrollTop), 0)
  await becomes(() => focusedId(page), long.first)
  await page.evaluate((to) => {
    location.hash = to
  }, `${long.address}/near/${long.newest}`)
  await page.locator(`[data-id="${long.newest}"]`).waitFor()
  await list.focus()
  await scrollTo(page, await list.evaluate((box, left) => box.scrollHeight - box.clientHeight - left, BEFORE_END_PX))
  await page.keyboard.press('End')
  await becomes(() => list.evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop < 1), true)
  await becomes(() => focusedId(page), long.newest)
  await here.end()
})

test('PageUp moves by a page while older messages are inserted, and PageDown moves back', async () => {
  const { here, page, list } = await openAt(long.address, long.newest)
  const height = await list.evaluate((box) => box.clientHeight)
  await holdAnswers(page)
  const answered = page.waitForResponse(/\/api\/v1\/messages\?/)
  await list.focus()
  await scrollTo(page, height / 2) // near enough to the start
  await answered
  await scrollTo(page, 1.5 * height)
  const count = await messagesIn(page)
  const id = await list.evaluate((box) => {
    const view = box.getBoundingClientRect()
    const messages = [...box.querySelectorAll<HTMLElement>('[data-id]')]
    box.addEventListener('scroll', () => releaseAnswers(), { once: true })
    return messages.find((one) => one.getBoundingClientRect().bottom > view.top)?.dataset.id
  })
  const top = () => page.locator(`[data-id="${id}"]`).evaluate((one) => one.getBoundingClientRect().top)
  const before = await top()
  await page.keyboard.press('PageUp')
  await until(async () => (await messagesIn(page)) > count, 'no message was inserted')
  await until(async () => (await top()) - before >= PAGE_SHARE_MIN * height, 'the list does not move by a page')
  await settled(page)
  await page.keyboard.press('PageDown')
  await until(async () => Math.abs((await top()) - before) <= 1, 'the list does not move back')
  await here.end()
})

test('pointing at a message draws no other message again', async () => {
  const { here, page } = await openAt(long.address, long.newest)
  await settled(page)
  await page.evaluate(() => {
    globalThis.drawn = 0
    const { toISOString } = Date.prototype
    Date.prototype.toISOString = function () {
      globalThis.drawn++ // once for each message
      return toISOString.call(this)
    }
  })
  const pointed = [0, 1, 2, 3].map((n) => long.newest - n)
  for (const id of pointed) {
    await page.locator(`[data-id="${id}"]`).hover()
    await page.locator(`[data-id="${id}"]`).getByRole('toolbar').waitFor()
  }
  const drawn = await page.evaluate(() => globalThis.drawn)
  assert.ok(drawn >= pointed.length, `${drawn}`)
  assert.ok(drawn <= 4 * pointed.length, `${drawn} messages drawn`) // with those that were left, or became the tab stop
  await here.end()
})
