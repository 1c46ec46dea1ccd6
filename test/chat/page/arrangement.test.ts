// @test long 40
/** Administration on the page: groups in groups, groups of channels, the order of folders, linkifiers; and scheduled messages. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { examineAll } from '../../console/examine.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { addBen } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

let benId: number
const { browser, house } = await openHouse(async (house) => {
  benId = (await addBen(house, { isInChannel: false })).id
  await house.post('/users/me/subscriptions', { subscriptions: [{ name: 'boats' }, { name: 'tides' }] })
})

const dialog = (page: Page) => page.getByRole('dialog')
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()

async function openAt(place: string, title: string) {
  const here = await visitPage(browser, house.port)
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await here.page.evaluate((to) => {
    location.hash = to
  }, place)
  await heading(here.page, title)
  return here
}

async function save(page: Page): Promise<void> {
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await dialog(page).waitFor({ state: 'detached' })
}

async function look(page: Page, view: string): Promise<void> {
  await examineAll(page, view)
  await page.setViewportSize({ width: 1280, height: 860 })
}

const get = async (path: string, form: Record<string, string> = {}) =>
  (await ask(house.port, 'GET', path, { as: house.owner, form })).body

test('a group has members of other groups', async () => {
  const members = JSON.stringify([])
  for (const name of ['crew', 'divers']) await house.post('/user_groups/create', { name, description: '', members })
  const here = await openAt('#organization/groups', 'Groups')
  const { page } = here
  await page.getByRole('button', { name: 'Members: crew' }).click()
  await dialog(page).getByLabel('divers').check()
  await dialog(page).getByLabel('Moderators and above').check()
  await look(page, 'members and groups of a group')
  await save(page)
  await page.getByText('Moderators and above, divers').or(page.getByText('divers, Moderators and above')).waitFor()
  await page.getByRole('button', { name: 'Members: crew' }).click()
  await dialog(page).getByLabel('Moderators and above').uncheck()
  await save(page)
  const { user_groups: all } = await get('/user_groups')
  const idOf = (name: string) => all.find((one: { name: string }) => one.name === name).id
  assert.deepEqual((await get(`/user_groups/${idOf('crew')}/subgroups`, { direct_subgroup_only: 'true' })).subgroups, [
    idOf('divers'),
  ])
  await page.getByRole('button', { name: 'Members: divers' }).click()
  await dialog(page).getByLabel('crew').check()
  here.allowed.add(400)
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await dialog(page).getByRole('alert').getByText('The action failed').waitFor()
  await dialog(page).getByRole('button', { name: 'Cancel' }).click()
  await here.end()
})

test('groups of channels are made, changed and deleted; folders come in another order', async () => {
  for (const name of ['Sea', 'Land', 'Air']) await house.post('/channel_folders/create', { name, description: '' })
  const here = await openAt('#organization/channels', 'Channels and folders')
  const { page } = here
  await page.getByRole('button', { name: 'To the top: Air' }).click()
  await page.getByRole('button', { name: 'To the top: Sea' }).waitFor()
  const names = async () => (await get('/channel_folders')).channel_folders.map(({ name }: { name: string }) => name)
  assert.deepEqual(await names(), ['Air', 'Sea', 'Land'])

  await page.getByRole('button', { name: 'New group of channels' }).click()
  await dialog(page).getByLabel('Name', { exact: true }).fill('Sailing')
  await dialog(page).getByLabel('Description').fill('On the water')
  await dialog(page).getByLabel('#boats').check()
  await look(page, 'a new group of channels')
  await save(page)
  await page.getByText('On the water · #boats').waitFor()
  await page.getByRole('button', { name: 'Edit Sailing' }).click()
  await dialog(page).getByLabel('Name', { exact: true }).fill('Sailors')
  await dialog(page).getByLabel('#boats').uncheck()
  await dialog(page).getByLabel('#tides').check()
  await save(page)
  await page.getByText('On the water · #tides').waitFor()
  await page.getByRole('button', { name: 'Delete Sailors' }).click()
  await dialog(page).getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No groups of channels.').waitFor()
  await here.end()
})

test('a linkifier has a text for pasted addresses, and other addresses', async () => {
  const here = await openAt('#organization/linkifiers', 'Linkifiers')
  const { page } = here
  await page.getByRole('button', { name: 'New linkifier' }).click()
  const fill = (label: string, text: string) => dialog(page).getByLabel(label, { exact: true }).fill(text)
  await fill('Pattern', '#(?P<id>[0-9]+)')
  await fill('Address', 'https://tickets.example.org/{id}')
  await fill('Example', '#17')
  await fill('Text of a pasted address', '#{id}')
  await fill('Other addresses of the same thing', 'https://t.example.org/{id}\nhttps://old.example.org/{id}')
  await look(page, 'a new linkifier')
  await save(page)
  const read = async () => (await get('/realm/linkifiers')).linkifiers[0]
  const { reverse_template, alternative_url_templates: others } = await read()
  assert.deepEqual([reverse_template, others.length], ['#{id}', 2])
  await page.getByRole('button', { name: /^Edit/ }).click()
  await fill('Other addresses of the same thing', '')
  await save(page)
  assert.deepEqual((await read()).alternative_url_templates, [])
  assert.equal((await read()).example_input, '#17')
  await here.end()
})

test('an administrator changes the status of an account', async () => {
  const here = await openAt(`#user/${benId}`, 'Ben Becker')
  const { page } = here
  await page.getByLabel('Status text').fill('on leave')
  await page.getByLabel('Status text').blur()
  await page.getByText('Saved.').waitFor()
  assert.equal((await get(`/users/${benId}/status`)).status.status_text, 'on leave')
  await here.end()
})

test('a scheduled message gets another text and another time', async () => {
  const scheduled_delivery_timestamp = 4_000_000_007
  const values = { type: 'stream', to: house.channelId, topic: 'later', content: 'said in 2096' }
  await house.post('/scheduled_messages', { ...values, scheduled_delivery_timestamp })
  const here = await openAt('#drafts', 'Drafts')
  const { page } = here
  const read = async () => (await get('/scheduled_messages')).scheduled_messages[0]
  const row = page.getByRole('listitem').filter({ hasText: 'said in' })
  await row.getByRole('button', { name: 'Edit' }).click()
  await dialog(page).getByLabel('Message', { exact: true }).fill('said in the year 2096')
  await look(page, 'a scheduled message')
  await save(page)
  await page.getByText('said in the year 2096').waitFor()
  assert.equal((await read()).scheduled_delivery_timestamp, scheduled_delivery_timestamp)
  await row.getByRole('button', { name: 'Edit' }).click()
  await dialog(page).getByLabel('When').fill('2097-01-02T09:00')
  await save(page)
  await page.getByText('Jan 2, 2097').waitFor()
  assert.equal((await read()).content, 'said in the year 2096')
  await here.end()
})
