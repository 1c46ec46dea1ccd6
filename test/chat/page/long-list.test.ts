// @test long 140 slow
/** 3,000 messages, with COFFER_SLOW=1 10,000, scrolled back and forth: nothing in sight moves on its own, and the document stays small. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { defined } from '../../../firmware/base/defined.ts'
import { OWNER, OWNER_PASSWORD } from '../../../tools/bench/chat-serve.ts'
import { launchBrowser } from '../../console/browser.ts'
import { startBenchChat } from './bench-chat.ts'
import { signIn, visitPage } from './browser.ts'
import { type Step, scroll, watched, watchList } from './list-watch.ts'

const MESSAGES = process.env.COFFER_SLOW === undefined ? 3000 : 10_000
const MESSAGES_MAX = 300
const ELEMENTS_MAX = 15_000
const HEIGHT_PX = 2800
const WHEEL_PX = 2300 // less than the list's height, so that some messages stay in sight
const STEPS_MAX = 5000
const PAGES = 50
const PAGE_SHARE_MIN = 0.8 // of the list's height, that a page up moves

const browser = await launchBrowser('--disable-smooth-scrolling') // the wheel scrolls as far as it can, at once
let chat: Awaited<ReturnType<typeof startBenchChat>>
let address: string
let first: number
let newest: number
before(async () => {
  chat = await startBenchChat('long-topic.ts', MESSAGES)
  const [, topic, from, to] = /(#\S+) from (\d+) to (\d+)/.exec(chat.printed) ?? assert.fail(chat.printed)
  address = defined(topic)
  first = Number(from)
  newest = Number(to)
})
after(async () => {
  await browser.close()
  await chat.stop()
})

async function openLongTopic() {
  const here = await visitPage(browser, chat.port, { height: HEIGHT_PX })
  const { page } = here
  await signIn(page, OWNER.email, OWNER_PASSWORD)
  await page.evaluate((to) => {
    location.hash = to
  }, address)
  await page.locator(`[data-id="${newest}"]`).waitFor()
  await watchList(page)
  return { here, page, list: page.locator('.scroll-area') }
}

/** Repeats until the message `edgeId` is loaded and in sight. */
async function scrollToEdge(page: Page, step: Step): Promise<void> {
  for (let steps = 0; !(await scroll(page, step)); steps++)
    assert.ok(steps < STEPS_MAX, `${step.edgeId} is not reached`)
}

async function expectStill(page: Page): Promise<number> {
  const { faults, frames, messagesMax, elementsMax, seen } = await watched(page)
  assert.deepEqual(faults.slice(0, 20), [], `${faults.length} of ${frames} frames`)
  assert.ok(messagesMax <= MESSAGES_MAX, `${messagesMax} messages`)
  assert.ok(elementsMax <= ELEMENTS_MAX, `${elementsMax} elements`)
  return seen
}

test('the wheel moves through all messages, back and forth', async () => {
  const { here, page, list } = await openLongTopic()
  await list.hover()
  await scrollToEdge(page, { asked: WHEEL_PX, edgeId: first, act: () => page.mouse.wheel(0, -WHEEL_PX) })
  assert.equal(await expectStill(page), MESSAGES)
  await list.hover({ position: { x: 50, y: 50 } }) // Chromium takes the turn of a wheel elsewhere for one of its own
  await scrollToEdge(page, { asked: -WHEEL_PX, edgeId: newest, act: () => page.mouse.wheel(0, WHEEL_PX) })
  await expectStill(page)
  await here.end()
})

test('PageUp moves through the messages', async () => {
  const { here, page, list } = await openLongTopic()
  await list.focus()
  const height = await list.evaluate((box) => box.clientHeight)
  const least = PAGE_SHARE_MIN * height
  for (let n = 0; n < PAGES; n++)
    await scroll(page, { asked: height, least, edgeId: first, act: () => page.keyboard.press('PageUp') })
  await expectStill(page)
  await here.end()
})
