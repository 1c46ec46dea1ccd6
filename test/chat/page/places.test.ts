// @test long 107
/** People, channels, direct conversations and search on the page. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { addBen, BEN, BEN_PASSWORD, type Ben } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

let ben: Ben
const { browser, house } = await openHouse(async (house) => {
  ben = await addBen(house, { isInChannel: false })
  await house.post('/users', { email: 'anna@example.org', full_name: 'Anna Adler', password: 'words of anna adler' })
})

const WIDE = { width: 1280, height: 860 }
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()
const sidebar = (page: Page) => page.getByRole('navigation', { name: 'Conversations' })

async function visit(email = OWNER, password = OWNER_PASSWORD, window: Parameters<typeof visitPage>[2] = {}) {
  const here = await visitPage(browser, house.port, window)
  await signIn(here.page, email, password)
  return here
}

/** Examines a view and returns to the wide window. */
async function look(page: Page, what: string): Promise<void> {
  await examineAll(page, what)
  await page.setViewportSize(WIDE)
}

test('a direct conversation is started by name and keys, and answered by the other side', async () => {
  const here = await visit()
  const { page } = here
  await sidebar(page).getByRole('link', { name: 'New direct message' }).click()
  await heading(page, 'New direct message')
  await look(page, 'a new direct message')
  await page.getByLabel('Find people').fill('ben')
  await page.getByLabel('Find people').press('Enter')
  await page.getByLabel('Find people').fill('ann')
  await page.getByLabel('Find people').press('Enter')
  await page.getByRole('button', { name: 'Remove Anna Adler' }).click()
  await page.getByRole('button', { name: 'Write a message' }).click()
  await heading(page, 'Ben Becker')
  await page.getByRole('textbox', { name: /^Message/ }).fill('Did the drill work?')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('article').filter({ hasText: 'Did the drill work?' }).waitFor()
  const { user_id: id } = (await ask(house.port, 'GET', '/users/me', { as: house.owner })).body
  await house.post('/messages', { type: 'direct', to: [id], content: 'Yes, twice.' }, ben)
  await page.getByRole('article').filter({ hasText: 'Yes, twice.' }).waitFor()
  await here.end()
})

test('people are found; a profile shows status and channels, leads to a conversation, and mutes', async () => {
  await house.post('/users/me/status', { status_text: 'at sea' }, ben)
  const here = await visit()
  const { page } = here
  await sidebar(page).getByRole('link', { name: 'People' }).click()
  await heading(page, 'People')
  await look(page, 'people')
  await page.getByLabel('Find people').fill('bec')
  await page
    .getByRole('main')
    .getByRole('link', { name: /Ben Becker/ })
    .click()
  await heading(page, 'Ben Becker')
  await page.getByText('at sea').waitFor()
  await page.getByText(BEN).first().waitFor()
  await look(page, 'a profile')
  await house.post('/users/me/status', { status_text: 'back again' }, ben)
  await page.getByText('back again').waitFor()
  await page.getByRole('button', { name: 'Mute' }).click()
  await page.getByRole('button', { name: 'Unmute' }).click()
  await page.getByRole('button', { name: 'Mute' }).waitFor()
  await page.getByRole('link', { name: 'Write a message' }).click()
  await heading(page, 'Ben Becker')
  await page.getByRole('textbox', { name: /^Message/ }).waitFor()
  await here.end()
})

test('a member makes a channel, sets it up, and brings others; a member without the right sees none of it', async () => {
  const here = await visit(BEN, BEN_PASSWORD)
  const { page } = here
  await sidebar(page).getByRole('link', { name: 'All channels' }).click()
  await heading(page, 'Channels')
  await page.getByRole('link', { name: 'New channel' }).click()
  await heading(page, 'New channel')
  await page.getByLabel('Name', { exact: true }).fill('boats')
  await page.getByLabel('Description').fill('What floats')
  await page.getByLabel('Who can read it').selectOption('Subscribers, with all of its history')
  await page.getByLabel('Add people').fill('anna')
  await page.getByLabel('Add people').press('Enter')
  await look(page, 'a new channel')
  await page.getByRole('button', { name: 'Create' }).click()
  await heading(page, '#boats')
  await page.getByRole('link', { name: 'Settings of #boats' }).click()
  await heading(page, 'Settings of #boats')
  await page.getByRole('heading', { name: 'Subscribers 2' }).waitFor()
  await look(page, 'settings of a channel')
  const saved = () => page.getByText('Saved.').last().waitFor()
  await page.getByLabel('Description').fill('All that floats')
  await page.getByLabel('Description').blur()
  await saved()
  await page.getByLabel('Show it first').check()
  await page.getByLabel('Send messages', { exact: true }).selectOption('Members and above')
  await page.getByRole('button', { name: 'Choose people and groups: Start topics' }).click()
  await page.getByRole('dialog').getByLabel('Everybody, guests too').uncheck()
  await page.getByRole('dialog').getByLabel('Add people').fill('ben')
  await page.getByRole('dialog').getByLabel('Add people').press('Enter')
  await look(page, 'people who hold a right')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Remove Anna Adler' }).click()
  await page.getByRole('heading', { name: 'Subscribers 1' }).waitFor()
  await page.getByRole('button', { name: 'Add people' }).click()
  await page.getByLabel('Find people').fill('olivia')
  await page.getByLabel('Find people').press('Enter')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('heading', { name: 'Subscribers 2' }).waitFor()
  const { subscriptions } = (await ask(house.port, 'GET', '/users/me/subscriptions', { as: ben })).body
  const boats = subscriptions.find(({ name }: { name: string }) => name === 'boats')
  assert.equal(boats.description, 'All that floats')
  assert.equal(boats.pin_to_top, true)
  assert.equal(boats.invite_only, true)
  const { user_id: benId } = (await ask(house.port, 'GET', '/users/me', { as: ben })).body
  assert.deepEqual(boats.can_create_topic_group, { direct_members: [benId], direct_subgroups: [] })
  await page.evaluate((id) => {
    location.hash = `#channels/${id}`
  }, house.channelId)
  await heading(page, 'Settings of #ops')
  await page.getByRole('heading', { name: /^Subscribers/ }).waitFor()
  assert.equal(await page.getByRole('heading', { name: 'Permissions' }).count(), 0)
  assert.equal(await page.getByRole('button', { name: 'Archive' }).count(), 0)
  await here.end()
})

test('channels are joined and left, and an archived one goes from the list', async () => {
  const here = await visit(BEN, BEN_PASSWORD)
  const owner = await visit()
  const { page } = here
  await sidebar(page).getByRole('link', { name: 'All channels' }).click()
  await page.getByLabel('Find a channel').fill('ops')
  await look(page, 'channels')
  await page.getByRole('button', { name: 'Join ops' }).click()
  await sidebar(page).getByRole('link', { name: 'ops' }).click()
  await heading(page, '#ops')
  await page.goBack()
  await page.getByRole('button', { name: 'Leave ops' }).click()
  await sidebar(page).getByRole('link', { name: 'ops' }).waitFor({ state: 'detached' })
  await house.post('/channels/create', { name: 'old', subscribers: [] })
  await sidebar(owner.page).getByRole('link', { name: 'All channels' }).click()
  await owner.page.getByRole('link', { name: 'Settings of old' }).click()
  await owner.page.getByRole('button', { name: 'Archive' }).click()
  await owner.page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click()
  await heading(owner.page, 'Channels')
  await owner.page.getByRole('link', { name: 'Settings of ops' }).waitFor()
  await owner.page.getByRole('link', { name: 'Settings of old' }).waitFor({ state: 'detached' })
  await here.end()
  await owner.end()
})

test('a search completes its operators by keys, shows highlights, and leads to the message', async () => {
  await house.say('drills', 'Restore the **tar**, then count.')
  await house.say('drills', 'unrelated')
  for (let n = 0; n < 60; n++) await house.say('many', `needle number ${n}`)
  const here = await visit()
  const { page } = here
  await sidebar(page).getByRole('link', { name: 'Search' }).click()
  await heading(page, 'Search')
  await page.getByRole('link', { name: 'Starred messages' }).waitFor()
  await look(page, 'search')
  const field = page.getByRole('combobox')
  const complete = async (typed: string, label: string) => {
    await field.pressSequentially(typed)
    await page.getByRole('option', { name: label }).waitFor()
    await field.press('ArrowDown')
    await field.press('Enter')
  }
  await complete('chan', 'channel:')
  await complete('op', 'channel:ops')
  await field.pressSequentially('sen')
  await page.getByRole('option', { name: 'sender:' }).waitFor()
  await look(page, 'search with suggestions')
  await field.press('Tab')
  await complete('oli', 'sender:Olivia Owner')
  await becomes(() => field.inputValue(), 'channel:ops sender:"Olivia Owner" ')
  await field.pressSequentially('restore')
  await field.press('Enter')
  const result = page.getByRole('listitem').filter({ hasText: 'then count' })
  await result.locator('.highlight').getByText('Restore').waitFor()
  await becomes(() => page.locator('.result').count(), 1)
  await becomes(() => field.inputValue(), 'channel:ops sender:me restore')
  await look(page, 'results')
  await result.getByRole('link', { name: '#ops > drills' }).click()
  await heading(page, 'drills')
  await page.locator('.message.marked').getByText('then count').waitFor()
  await page.goBack()
  await heading(page, 'Search')
  await field.fill('needle')
  await field.press('Enter')
  await page.getByText('needle number 59').waitFor()
  await becomes(() => page.locator('.result').count(), 50)
  await page.getByRole('button', { name: 'Older ones' }).click()
  await page.getByText('needle number 0', { exact: true }).waitFor()
  await becomes(() => page.locator('.result').count(), 60)
  await field.fill('nothing-has-this-word')
  await field.press('Enter')
  await page.getByText('No message matches.').waitFor()
  await here.end()
})

test('the same views by touch at 360 pixels: nothing scrolls sideways, and each leads back', async () => {
  const here = await visit(OWNER, OWNER_PASSWORD, { width: 360, height: 740, touch: true })
  const { page } = here
  for (const [link, title] of [
    ['Search', 'Search'],
    ['New direct message', 'New direct message'],
    ['People', 'People'],
    ['All channels', 'Channels'],
  ] as const) {
    await page.getByRole('main').getByRole('link', { name: link, exact: true }).tap()
    await heading(page, title)
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
    assert.equal(over, 0, title)
    await page.getByRole('link', { name: 'Back to the inbox' }).tap()
    await heading(page, 'Inbox')
  }
  await here.end()
})
