// @test long 73
/** Settings of the account on the page. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const { browser, house } = await openHouse()

const SECTIONS = [
  'Profile',
  'Account',
  'Devices',
  'Notifications',
  'Display',
  'Privacy',
  'Alert words',
  'Muted and followed',
  'Your bots',
  'Your files',
]

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 }).waitFor()
const section = async (page: Page, name: string) => {
  await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name }).click()
  await heading(page, name)
}

async function openSettings(email = OWNER, password = OWNER_PASSWORD, statuses: number[] = []) {
  const here = await visitPage(browser, house.port, { statuses })
  await signIn(here.page, email, password)
  await here.page.getByLabel('Menu').click()
  await here.page.getByRole('link', { name: 'Settings' }).click()
  await heading(here.page, 'Profile')
  return here
}

const me = async () => (await ask(house.port, 'GET', '/users/me', { as: house.owner })).body

async function settingsOf(): Promise<Record<string, unknown>> {
  const form = {
    fetch_event_types: '["user_settings"]',
    client_capabilities: '{"notification_settings_null":true,"user_settings_object":true}',
  }
  return (await ask(house.port, 'POST', '/register', { as: house.owner, form })).body.user_settings
}

const saved = (page: Page) => page.getByText('Saved.').first().waitFor()

test('every section opens, and axe-core finds nothing in any of them', async () => {
  const { id } = await house.say('muted things', 'x')
  await house.post('/user_topics', { stream_id: house.channelId, topic: 'muted things', visibility_policy: 1 })
  assert.ok(id > 0)
  await house.post('/users/me/alert_words', { alert_words: ['fire'] })
  const here = await openSettings()
  for (const name of SECTIONS) {
    await here.page.setViewportSize({ width: 1280, height: 860 })
    await section(here.page, name)
    await examineAll(here.page, `settings: ${name}`)
  }
  await here.end()
})

test('name, picture and status change for everybody at once', async () => {
  const here = await openSettings()
  const { page } = here
  await page.getByLabel('Your name').fill('Olivia Otter')
  await page.getByLabel('Your name').press('Enter')
  await saved(page)
  assert.equal((await me()).full_name, 'Olivia Otter')
  const picture = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(20, 20)
    canvas.getContext('2d')!.fillRect(0, 0, 20, 20)
    return [...new Uint8Array(await (await canvas.convertToBlob({ type: 'image/png' })).arrayBuffer())]
  })
  const before = await page.locator('.face.huge').getAttribute('src')
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: Buffer.from(picture) })
  await page.waitForFunction((old) => document.querySelector('.face.huge')?.getAttribute('src') !== old, before)
  assert.equal((await me()).avatar_version > 1, true)
  const own = await page.locator('.face.huge').getAttribute('src')
  await page.getByRole('button', { name: 'Remove the picture' }).click()
  await page.waitForFunction((old) => document.querySelector('.face.huge')?.getAttribute('src') !== old, own)
  await page.getByRole('button', { name: 'Emoji of the status' }).click()
  await page.getByLabel('Find an emoji').fill('palm_tree')
  await page.getByRole('button', { name: 'palm_tree' }).click()
  await page.getByLabel('Status text').fill('by the sea')
  await page.getByRole('button', { name: 'Set the status' }).click()
  await saved(page)
  const { user_id: id } = await me()
  const status = async () => (await ask(house.port, 'GET', `/users/${id}/status`, { as: house.owner })).body.status
  await becomes(async () => {
    const { status_text: text, emoji_name: emoji } = await status()
    return [text, emoji]
  }, ['by the sea', 'palm_tree'])
  await page.getByRole('button', { name: 'Clear it' }).click()
  await page.waitForFunction(() => document.querySelector<HTMLInputElement>('form input')?.value === '')
  await becomes(status, {})
  await here.end()
})

test('settings of every kind are saved at once, also on another device; a refused one says why', async () => {
  const here = await openSettings(OWNER, OWNER_PASSWORD, [400])
  const other = await openSettings()
  const { page } = here
  await section(other.page, 'Display')
  await section(page, 'Display')
  await becomes(() => page.getByLabel('Enter sends a message').isChecked(), false)
  await page.getByLabel('Enter sends a message').check()
  await other.page.waitForFunction(() =>
    [...document.querySelectorAll('label')].some(
      (label) => label.textContent === 'Enter sends a message' && label.querySelector('input')!.checked,
    ),
  )
  await page.getByLabel('Time zone').selectOption('Europe/Berlin')
  await page.getByLabel('Clock', { exact: true }).selectOption('2:30 PM')
  await section(page, 'Notifications')
  await page.getByLabel('Show the text of direct messages').uncheck()
  await page.getByLabel('Follow topics automatically').selectOption('never')
  await saved(page)
  await section(page, 'Account')
  await page.getByLabel('E-mail', { exact: true }).fill('no address')
  await page.getByLabel('E-mail', { exact: true }).press('Enter')
  await page.getByRole('alert').getByText('Not saved').waitFor()
  const wanted: Record<string, unknown> = {
    enter_sends: true,
    timezone: 'Europe/Berlin',
    twenty_four_hour_time: false,
    pm_content_in_desktop_notifications: false,
    automatically_follow_topics_policy: 4,
  }
  await becomes(async () => {
    const now = await settingsOf()
    return Object.fromEntries(Object.keys(wanted).map((name) => [name, now[name]]))
  }, wanted)
  await here.end()
  await other.end()
})

test('a password is changed with the old one; the next sign-in takes the new one alone', async () => {
  await house.post('/users', { email: 'carla@example.org', full_name: 'Carla', password: 'old words of carla' })
  const here = await openSettings('carla@example.org', 'old words of carla', [400])
  const { page } = here
  await section(page, 'Account')
  const change = async (old: string) => {
    await page.getByLabel('Current password', { exact: true }).fill(old)
    await page.getByLabel('New password', { exact: true }).fill('new words of carla')
    await page.getByRole('button', { name: 'Change the password' }).click()
  }
  await change('wrong words')
  await page.getByText('Wrong password!').waitFor()
  await page.waitForTimeout(1100) // the server refuses another attempt within a second
  await change('old words of carla')
  await saved(page)
  const tried = async (password: string) =>
    (await ask(house.port, 'POST', '/fetch_api_key', { form: { username: 'carla@example.org', password } })).status
  assert.deepEqual([await tried('new words of carla'), await tried('old words of carla')], [200, 401])
  await page.getByRole('button', { name: 'Deactivate my account' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate my account' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.waitForTimeout(1100) // as above
  assert.equal(await tried('new words of carla'), 401)
  await here.end()
})

test('alert words, muted topics, files and bots are listed, added and removed', async () => {
  const here = await openSettings()
  const { page } = here
  await section(page, 'Alert words')
  await page.getByLabel('New alert word').fill('flood')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('button', { name: 'Delete fire' }).click()
  await page.getByRole('button', { name: 'Delete fire' }).waitFor({ state: 'detached' })
  await page.getByText('flood').waitFor()
  const alertWords = async () =>
    (await ask(house.port, 'GET', '/users/me/alert_words', { as: house.owner })).body.alert_words
  await becomes(alertWords, ['flood'])
  await section(page, 'Muted and followed')
  await page.getByRole('listitem').filter({ hasText: 'muted things' }).getByRole('button', { name: 'Reset' }).click()
  await page.getByText('You follow and mute no topic.').waitFor()
  await ask(house.port, 'POST', '/user_uploads', { as: house.owner, file: { name: 'plan.txt', content: 'the plan' } })
  await section(page, 'Your files')
  await page.getByRole('button', { name: 'Delete plan.txt' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('link', { name: 'plan.txt' }).waitFor({ state: 'detached' })
  await section(page, 'Your bots')
  await page.getByRole('button', { name: 'New bot' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Drill Bot')
  await page.getByLabel('Short name').fill('drill')
  await examineAll(page, 'a new bot')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('button', { name: 'Key: Drill Bot' }).click()
  const shown = page.getByRole('group', { name: 'Key of Drill Bot' })
  await shown.waitFor()
  const first = await shown.textContent()
  await page.getByRole('button', { name: 'Replace the key' }).click()
  await page.waitForFunction((old) => document.querySelector('dialog .code')?.textContent !== old, first)
  const key = (await shown.textContent())!
  await page.getByRole('button', { name: 'Close' }).click()
  const email = (await page.getByText(/^drill-bot@/).textContent())!
  assert.equal((await ask(house.port, 'GET', '/users/me', { as: { email, key } })).status, 200)
  await page.getByRole('button', { name: 'Rename: Drill Bot' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Exercise Bot')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Deactivate: Exercise Bot' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click()
  await page.getByText('deactivated', { exact: true }).waitFor()
  assert.equal((await ask(house.port, 'GET', '/users/me', { as: { email, key } })).status, 401)
  await here.end()
})
