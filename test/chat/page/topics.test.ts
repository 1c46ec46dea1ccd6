// @test long 30
/** Acts on topics and the rarer ones on messages: follow, mute, resolve, rename, delete; history, readers, reports. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { addBen, type Ben } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

let ben: Ben
const { browser, house } = await openHouse(async (house) => {
  ben = await addBen(house)
})

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()

async function openTopic(topic: string) {
  const here = await visitPage(browser, house.port)
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await here.page.evaluate((to) => {
    location.hash = to
  }, `#narrow/channel/${house.channelId}-ops/topic/${topic}`)
  await heading(here.page, topic)
  return here
}

async function choose(page: Page, item: string): Promise<void> {
  await page.getByRole('button', { name: 'Options of this topic' }).click()
  await page.getByRole('button', { name: item, exact: true }).click()
  await closed(page)
}

/** A click on the button of a menu that is still open closes it. */
const closed = (page: Page) => page.waitForFunction(() => document.querySelector(':popover-open') === null)

async function policies(): Promise<[string, number][]> {
  const form = { fetch_event_types: '["user_topic"]', client_capabilities: '{"notification_settings_null":true}' }
  const { user_topics: all } = (await ask(house.port, 'POST', '/register', { as: house.owner, form })).body
  return all.map((one: { topic_name: string; visibility_policy: number }) => [one.topic_name, one.visibility_policy])
}

test('a topic is followed, muted, resolved, renamed and deleted', async () => {
  await house.say('drill', 'first', ben)
  await house.say('drill', 'second', ben)
  const here = await openTopic('drill')
  const { page } = here
  await page.getByText('second').waitFor()
  await choose(page, 'Follow')
  await page.getByRole('button', { name: 'Options of this topic' }).click()
  await page.getByRole('button', { name: 'Do not follow' }).waitFor()
  await examineAll(page, 'the menu of a topic')
  await page.setViewportSize({ width: 1280, height: 860 })
  await becomes(policies, [['drill', 3]])
  await page.getByRole('button', { name: 'Mute', exact: true }).click()
  await closed(page)
  await choose(page, 'Unmute')
  await choose(page, 'Mark as resolved')
  await heading(page, '✔ drill')
  await choose(page, 'Mark as not resolved')
  await heading(page, 'drill')
  await choose(page, 'Rename')
  await page.getByRole('dialog').getByLabel('Topic').fill('drill of november')
  await examineAll(page, 'a new name for a topic')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await heading(page, 'drill of november')
  await page.getByText('second').waitFor()
  assert.deepEqual((await house.saidIn('drill of november')).slice(0, 2), ['first', 'second'])
  await choose(page, 'Delete')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await heading(page, 'Inbox')
  await becomes(() => house.saidIn('drill of november'), [])
  await here.end()
})

test('a menu is in its place before it is painted', async () => {
  await house.say('place', 'a message of the topic', ben)
  const here = await openTopic('place')
  const { page } = here
  const button = page.getByRole('button', { name: 'Options of this topic' })
  const [top, bottom] = await button.evaluate(
    (button: HTMLElement) =>
      new Promise<number[]>((resolve) => {
        const panel = button.nextElementSibling!
        const read = () => [panel.getBoundingClientRect().top, button.getBoundingClientRect().bottom]
        panel.addEventListener('toggle', () => resolve(read()), { once: true }) // the page has rendered: its listener is older
        button.click()
      }),
  )
  assert.ok(Math.abs(top! - bottom!) < 10, `${top} below ${bottom}`)
  await here.end()
})

test('an open topic that is resolved elsewhere stays open, and so does what is being written', async () => {
  const { id } = await house.say('leak', 'water', ben)
  const here = await openTopic('leak')
  const { page } = here
  await page.getByText('water').waitFor()
  const box = page.getByRole('textbox', { name: /leak/ })
  await box.fill('half a sentence')
  const form = { topic: '✔ leak', propagate_mode: 'change_all' }
  assert.equal((await ask(house.port, 'PATCH', `/messages/${id}`, { as: house.owner, form })).status, 200)
  await heading(page, '✔ leak')
  await page.getByText('water').waitFor()
  await page.getByText('has marked this topic as resolved').waitFor()
  await page.waitForFunction(() => (document.activeElement as HTMLTextAreaElement | null)?.value === 'half a sentence')
  await page.keyboard.type(', and the rest')
  await page.keyboard.press('Control+Enter')
  await page.getByText('half a sentence, and the rest').waitFor()
  assert.deepEqual(await house.saidIn('leak'), [])
  assert.equal((await house.saidIn('✔ leak')).at(-1), 'half a sentence, and the rest')
  await here.end()
})

test('a message that is moved into the open topic appears in it', async () => {
  await house.say('harbor', 'first ship', ben)
  const { id } = await house.say('sea', 'second ship', ben)
  await house.say('harbor', 'third ship', ben)
  const here = await openTopic('harbor')
  const { page } = here
  await page.getByText('third ship').waitFor()
  const form = { topic: 'harbor', send_notification_to_new_thread: 'false' }
  assert.equal((await ask(house.port, 'PATCH', `/messages/${id}`, { as: house.owner, form })).status, 200)
  await page.getByText('second ship').waitFor()
  await page.getByText('third ship').waitFor()
  assert.deepEqual(
    (await page.getByRole('article').allInnerTexts()).map((text) => /\w+ ship/.exec(text)?.[0]),
    ['first ship', 'second ship', 'third ship'],
  )
  await here.end()
})

test('a message is marked unread from there on; its edits, its readers and a report are shown and sent', async () => {
  const { user_id: me } = (await ask(house.port, 'GET', '/users/me', { as: house.owner })).body
  const values = { name: 'reports', subscribers: [me], invite_only: true }
  const { id: reports } = await house.post('/channels/create', values)
  const settings = { enable_read_receipts: 'true', moderation_request_channel_id: String(reports) }
  assert.equal((await ask(house.port, 'PATCH', '/realm', { as: house.owner, form: settings })).status, 200)
  const { id } = await house.say('rules', 'the frist text', ben)
  await ask(house.port, 'PATCH', `/messages/${id}`, { as: ben, form: { content: 'the first text' } })
  await house.say('rules', 'a later one', ben)
  const here = await openTopic('rules')
  const { page } = here
  const article = page.getByRole('article').filter({ hasText: 'the first text' })
  const act = async (item: string) => {
    await article.hover()
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('button', { name: item, exact: true }).click()
    await closed(page)
  }
  await page.getByText('a later one').waitFor()
  await act('Edit history')
  await page.getByRole('dialog').getByText('the frist text').waitFor()
  await examineAll(page, 'edit history')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.getByRole('button', { name: 'Close' }).click()
  await act('Read by')
  await page.getByRole('dialog').getByText('Olivia Owner').waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await act('Report to moderators')
  await page.getByRole('dialog').getByLabel('Reason').selectOption('Against the rules here')
  await page.getByRole('dialog').getByLabel('Description').fill('it says frist')
  await examineAll(page, 'a report')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.getByRole('dialog').getByRole('button', { name: 'Report to moderators' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const narrow = JSON.stringify([{ operator: 'channel', operand: reports }])
  const form = { anchor: 'newest', num_before: '9', num_after: '0', narrow, apply_markdown: 'false' }
  const { messages } = (await ask(house.port, 'GET', '/messages', { as: house.owner, form })).body
  assert.ok(messages.some(({ content }: { content: string }) => content.includes('it says frist')))
  await act('Mark as unread from here')
  await page.getByRole('navigation').getByRole('link', { name: 'Inbox' }).click()
  await page.getByRole('main').getByRole('link', { name: /rules/ }).getByText('2 unread').waitFor()
  await here.end()
})
