// @test long 30
/** A draft keeps the text in the box as it was typed, whatever form the server gives it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { ask } from '../support/process.ts'
import { visitTopic } from './browser.ts'
import { openHouse } from './house.ts'

const { browser, house } = await openHouse()

const SENT_AFTER_MS = 2500 // the page sends a draft 2 s after the last key
const LENGTH_MAX = 10_000

const box = (page: Page) => page.locator('.compose textarea')
const draftsIn = async (topic: string): Promise<string[]> => {
  const { drafts } = (await ask(house.port, 'GET', '/drafts', { as: house.owner })).body
  return drafts.filter((one: { topic: string }) => one.topic === topic).map((one: { content: string }) => one.content)
}

/** Resolves once the page has taken all events until now. */
async function eventsTaken(page: Page, topic: string, text: string): Promise<void> {
  await house.say(topic, text)
  await page.getByRole('article').filter({ hasText: text }).waitFor()
}

test('white space at the end of a draft stays in the box, and makes no second draft', async () => {
  const { page, end } = await visitTopic(browser, house, 'spaces')
  for (const [typed, stored] of [
    ['one ', 'one'],
    ['one two \n', 'one two'],
    ['one two \nthree  ', 'one two \nthree'],
  ] as const) {
    await box(page).fill(typed)
    while ((await draftsIn('spaces')).at(-1) !== stored) await new Promise((resolve) => setTimeout(resolve, 100))
    await eventsTaken(page, 'spaces', `after ${stored.length} characters`)
    assert.equal(await box(page).inputValue(), typed)
    assert.deepEqual(await draftsIn('spaces'), [stored])
  }
  await end()
})

test('a draft that is too long for a message is not cut off', async () => {
  const { page, end } = await visitTopic(browser, house, 'length')
  const text = 'x'.repeat(LENGTH_MAX + 1)
  await box(page).fill(text)
  await page.waitForTimeout(SENT_AFTER_MS)
  await eventsTaken(page, 'length', 'a later message')
  assert.equal((await box(page).inputValue()).length, text.length)
  await box(page).fill(text.slice(1))
  while ((await draftsIn('length')).at(-1)?.length !== LENGTH_MAX)
    await new Promise((resolve) => setTimeout(resolve, 100))
  await end()
})
