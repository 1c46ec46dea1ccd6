// @test long 40
/** Views of several conversations, and about the organization; messages of muted users. */

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
  await house.say('drill', 'of the drill', ben)
  await house.say('alerts', 'an alert', ben)
  await house.say('noise', 'of a muted topic', ben)
  await house.post('/user_topics', { stream_id: house.channelId, topic: 'noise', visibility_policy: 1 })
})

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
const sidebar = (page: Page) => page.getByRole('navigation', { name: 'Conversations' })
const article = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })

async function look(page: Page, view: string): Promise<void> {
  await examineAll(page, view)
  await page.setViewportSize({ width: 1280, height: 860 })
}

async function visit() {
  const here = await visitPage(browser, house.port)
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  return here
}

test('recent conversations are in the order of their newest message, and filtered', async () => {
  const here = await visit()
  const { page } = here
  await sidebar(page).getByRole('link', { name: 'Recent conversations' }).click()
  await heading(page, 'Recent conversations')
  const rows = page.getByRole('main').locator('.rows a')
  await rows.getByText('alerts').waitFor()
  assert.equal(await rows.getByText('noise').count(), 0)
  await house.say('drill', 'again', ben)
  await rows.first().getByText('drill').waitFor()
  await page.getByRole('button', { name: 'Muted ones, too' }).click()
  await rows.getByText('noise').waitFor()
  await look(page, 'recent conversations')
  await page.getByRole('button', { name: 'With messages of yours' }).click()
  await rows.getByText('noise').waitFor({ state: 'detached' })
  await house.say('drill', 'seen')
  await rows.getByText('drill').click()
  await heading(page, 'drill')
  await here.end()
})

test('the feed has the messages of all conversations that are not muted, and new ones at once', async () => {
  const here = await visit()
  const { page } = here
  await sidebar(page).getByRole('link', { name: 'All messages' }).click()
  await heading(page, 'All messages')
  await article(page, 'an alert').waitFor()
  await house.say('noise', 'muted, too', ben)
  await house.say('alerts', 'a newer alert', ben)
  await article(page, 'a newer alert').waitFor()
  assert.equal(await article(page, 'muted').count(), 0)
  await page.getByRole('link', { name: '#ops > alerts' }).last().waitFor()
  await look(page, 'the feed')
  await article(page, 'a newer alert').hover()
  await page.getByRole('button', { name: 'Quote' }).click()
  await heading(page, 'alerts')
  const box = page.getByRole('textbox', { name: /^Message/ })
  await page.waitForFunction(() => document.activeElement?.matches('textarea'))
  await becomes(async () => (await box.inputValue()).includes('a newer alert'), true)
  await sidebar(page)
    .getByRole('link', { name: 'drill' })
    .or(sidebar(page).getByRole('link', { name: 'ops' }))
    .first()
    .click()
  await page.waitForFunction(() => document.activeElement?.matches('h1'))
  await here.end()
})

test('a view opens with its title, its focus and a closed menu, before it is painted', async () => {
  const here = await visit()
  const { page } = here
  await page.getByLabel('Menu').click()
  const shown = await page.evaluate(
    () =>
      new Promise((resolve) => {
        const read = () => ({
          heading: document.querySelector('main h1')?.textContent,
          focused: document.activeElement?.textContent,
          title: document.title.replace(/^\(\d+\) /, ''),
          hasMenu: document.querySelector('details.who[open]') !== null,
        })
        addEventListener('hashchange', () => resolve(read()), { once: true })
        location.hash = '#drafts'
      }),
  )
  const title = 'Drafts · Coffer'
  assert.deepEqual(shown, { heading: 'Drafts', focused: 'Drafts', title, hasMenu: false })
  await here.end()
})

test('messages of a muted user are hidden until they are shown; their conversation is in no list', async () => {
  await house.post('/messages', { type: 'direct', to: [OWNER], content: 'are you there?' }, ben)
  await house.say('drill', 'findable words of the muted', ben)
  const here = await visit()
  const { page } = here
  await sidebar(page).getByRole('link', { name: 'Ben Becker' }).waitFor()
  await house.post(`/users/me/muted_users/${ben.id}`, {})
  await sidebar(page).getByRole('link', { name: 'Ben Becker' }).waitFor({ state: 'detached' })
  await page.evaluate((to) => {
    location.hash = to
  }, `#narrow/channel/${house.channelId}-ops/topic/drill`)
  await heading(page, 'drill')
  const hidden = article(page, 'You have muted the sender of this message.')
  await hidden.first().waitFor()
  assert.equal(await page.getByText('of the drill').count(), 0)
  assert.equal(await page.getByRole('article').getByText('Ben Becker').count(), 0)
  await look(page, 'hidden messages')
  await hidden.first().getByRole('button', { name: 'Show' }).click()
  await article(page, 'of the drill').getByText('Ben Becker').waitFor()
  await page.evaluate(() => {
    location.hash = '#narrow/search/findable'
  })
  await page.getByRole('listitem').getByText('You have muted the sender of this message.').waitFor()
  assert.equal(await page.getByText('findable words').count(), 0)
  await page.getByRole('button', { name: 'Show' }).click()
  await page.locator('.result').getByText('words of the muted').waitFor()
  await ask(house.port, 'DELETE', `/users/me/muted_users/${ben.id}`, { as: house.owner })
  await sidebar(page).getByRole('link', { name: 'Ben Becker' }).waitFor()
  await here.end()
})

test('the page about the organization names its owners, its rules and its version', async () => {
  const here = await visit()
  const { page } = here
  await page.getByLabel('Menu').click()
  await page.getByRole('link', { name: 'About Example' }).click()
  await heading(page, 'About Example')
  await page.getByRole('main').getByRole('link', { name: 'Olivia Owner' }).waitFor()
  await page.getByText(/feature level \d+/).waitFor()
  await page.getByText('Messages stay, unless').waitFor()
  await look(page, 'about')
  await here.end()
})

test('the page opens with the view that the account chose', async () => {
  const choose = async (view: string) =>
    (await ask(house.port, 'PATCH', '/settings', { as: house.owner, form: { web_home_view: view } })).status
  const here = await visit()
  const { page } = here
  for (const [view, title] of [
    ['recent', 'Recent conversations'],
    ['all_messages', 'All messages'],
    ['inbox', 'Inbox'],
  ] as const) {
    assert.equal(await choose(view), 200)
    await page.goto('about:blank')
    await page.goto(`${here.origin}/`)
    await heading(page, title)
  }
  await here.end()
})
