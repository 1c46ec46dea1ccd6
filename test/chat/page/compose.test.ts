// @test long 52
/** The compose box: saved snippets, groups of emoji, a topic without a text, buttons of bots. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask } from '../support/process.ts'
import { visitTopic } from './browser.ts'
import { openHouse } from './house.ts'
import { textCount, until } from './stored.ts'

const { browser, house } = await openHouse()

const WIDE = { width: 1280, height: 860 }
const box = (page: Page) => page.getByRole('textbox', { name: /^Message/ })

const openTopic = (topic: string, window: Parameters<typeof visitTopic>[3] = {}) =>
  visitTopic(browser, house, topic, window)

test('a text that is saved before the snippets are loaded replaces the one of that title', async () => {
  await house.post('/saved_snippets', { title: 'early', content: 'The old text.' })
  const here = await openTopic('early')
  const { page } = here
  const { promise: held, resolve: fulfill } = Promise.withResolvers<void>()
  await page.route('**/api/v1/saved_snippets', async (route) => {
    if (route.request().method() === 'GET') await held
    await route.fallback()
  })
  await box(page).fill('The new text.')
  await page.getByRole('button', { name: 'Snippets' }).click()
  await page.getByLabel('Save the text as').fill('early')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  fulfill()
  await page.getByTitle('The new text.').waitFor()
  const { saved_snippets: saved } = (await ask(house.port, 'GET', '/saved_snippets', { as: house.owner })).body
  assert.deepEqual(
    saved.map(({ content }: { content: string }) => content),
    ['The new text.'],
  )
  assert.equal((await ask(house.port, 'DELETE', `/saved_snippets/${saved[0].id}`, { as: house.owner })).status, 200)
  await here.end()
})

test('a snippet that another device has saved meanwhile is not replaced', async () => {
  const here = await openTopic('two devices')
  const { page } = here
  await box(page).fill('The text of this device.')
  await page.getByRole('button', { name: 'Snippets' }).click()
  await page.getByText('None yet.').waitFor()
  await house.post('/saved_snippets', { title: 'both', content: 'The text of the other device.' })
  await page.getByLabel('Save the text as').fill('both')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  for (const device of ['this', 'the other']) await page.getByTitle(`The text of ${device} device.`).waitFor()
  const { saved_snippets: saved } = (await ask(house.port, 'GET', '/saved_snippets', { as: house.owner })).body
  for (const { id } of saved)
    assert.equal((await ask(house.port, 'DELETE', `/saved_snippets/${id}`, { as: house.owner })).status, 200)
  await here.end()
})

test('a text is saved as a snippet, replaced, inserted where the cursor is, and deleted', async () => {
  const here = await openTopic('snippets')
  const { page } = here
  const saved = async () => (await ask(house.port, 'GET', '/saved_snippets', { as: house.owner })).body.saved_snippets
  const open = () => page.getByRole('button', { name: 'Snippets' }).click()
  const saveAs = async (title: string) => {
    await open()
    await page.getByLabel('Save the text as').fill(title)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: title, exact: true }).waitFor()
    await becomes(() => page.getByLabel('Save the text as').inputValue(), '')
  }
  await box(page).fill('The drill is done.')
  await saveAs('drill')
  await examineAll(page, 'snippets')
  await page.setViewportSize(WIDE)
  await page.keyboard.press('Escape')
  await box(page).fill('The drill is over.')
  await saveAs('drill')
  assert.deepEqual(
    (await saved()).map(({ title, content }: { title: string; content: string }) => [title, content]),
    [['drill', 'The drill is over.']],
  )
  await page.keyboard.press('Escape')
  await box(page).fill('[] ')
  await box(page).press('ArrowLeft')
  await box(page).press('ArrowLeft')
  await open()
  await page.getByRole('button', { name: 'drill', exact: true }).click()
  await becomes(() => box(page).inputValue(), '[The drill is over.] ')
  await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
  await open()
  await page.getByRole('button', { name: 'Delete drill' }).click()
  await page.getByText('None yet.').waitFor()
  assert.deepEqual(await saved(), [])
  await here.end()
})

test('the picker shows groups of emoji, each with all of its own', async () => {
  const here = await openTopic('emoji')
  const { page } = here
  await page.getByRole('button', { name: 'Insert an emoji' }).click()
  await page.getByRole('button', { name: 'Flags' }).click()
  await page.getByRole('button', { name: 'iceland' }).waitFor()
  await page.locator('.emoji-grid button').nth(200).waitFor()
  await examineAll(page, 'groups of emoji')
  await page.setViewportSize(WIDE)
  await page.getByRole('button', { name: 'Popular and own' }).click()
  await page.getByRole('button', { name: 'iceland' }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Food and drink' }).click()
  await page.getByRole('button', { name: 'avocado' }).click()
  await becomes(() => box(page).inputValue(), ':avocado: ')
  await here.end()
})

test('the topic of a new message stays before it has a text; after the send the field is empty', async () => {
  const here = await openTopic('topics')
  const { page } = here
  const open = async () => {
    await page.getByRole('navigation').getByRole('link', { name: 'ops' }).click()
    await page.getByRole('heading', { name: '#ops', level: 1 }).waitFor()
  }
  await open()
  await page.getByLabel('Topic', { exact: true }).fill('named first')
  await until(async () => (await textCount(page)) > 0, 'the topic is not stored')
  await page.reload()
  await page.getByRole('heading', { name: '#ops', level: 1 }).waitFor()
  await becomes(() => page.getByLabel('Topic', { exact: true }).inputValue(), 'named first')
  await box(page).fill('and then written')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('heading', { name: 'named first', level: 1 }).waitFor()
  await open()
  await becomes(() => page.getByLabel('Topic', { exact: true }).inputValue(), '')
  await here.end()
})

test('a button of a bot answers in the conversation of its message', async () => {
  const bot = await house.post('/bots', { full_name: 'Drill Bot', short_name: 'drill', bot_type: 1 })
  const { email } = (await ask(house.port, 'GET', `/users/${bot.user_id}`, { as: house.owner })).body.user
  const key = bot.api_key as string
  await house.post(
    '/messages',
    {
      ...{ type: 'stream', to: house.channelId, topic: 'buttons', content: 'Begin the drill?' },
      widget_content: JSON.stringify({
        widget_type: 'zform',
        extra_data: {
          ...{ type: 'choices', heading: 'Begin the drill?' },
          choices: [
            { type: 'multiple_choice', reply: 'begin now', long_name: 'Begin', short_name: 'b' },
            { type: 'multiple_choice', reply: 'begin later', long_name: 'Later', short_name: 'l' },
            { type: 'multiple_choice', reply: 'do not begin', long_name: '', short_name: 'Never' },
            { type: 'multiple_choice', reply: 'ask me again', long_name: '', short_name: '' },
          ],
        },
      }),
    },
    { email, key },
  )
  const here = await openTopic('buttons', { touch: true })
  const { page } = here
  await page.getByRole('group', { name: 'Begin the drill?' }).waitFor()
  await examineAll(page, 'buttons of a bot')
  await page.setViewportSize(WIDE)
  await page.getByRole('button', { name: 'Later' }).click()
  await page.getByRole('article').filter({ hasText: 'begin later' }).waitFor()
  const choices = page.getByRole('group', { name: 'Begin the drill?' }).getByRole('button')
  await becomes(() => choices.allTextContents(), ['Begin', 'Later', 'Never', 'ask me again'])
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  await page.getByRole('button', { name: 'Later' }).focus()
  await press('Tab', 'Enter')
  await page.getByRole('article').filter({ hasText: 'do not begin' }).waitFor()
  await press('Tab', 'Space')
  await page.locator('article[data-id]').filter({ hasText: 'ask me again' }).nth(1).waitFor()
  await becomes(() => house.saidIn('buttons'), ['Begin the drill?', 'begin later', 'do not begin', 'ask me again'])
  await here.end()
})
