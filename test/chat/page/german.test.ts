// @test long 90
/**
 * The page in German: a first day, every view without a word of English, and no view that scrolls sideways. The language is that of the
 * account, before the sign-in that of the browser.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import * as words from '../../../firmware/chat-page/words/de.ts'
import { examine } from '../../console/examine.ts'
import { OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { furnishViews, go, overflow, VIEW_HEIGHT, viewsOf } from './every-view.ts'
import { openHouse } from './house.ts'
import { leftEnglish, shownTexts } from './left-english.ts'

const CORA = 'cora@example.org'
const CORA_PASSWORD = 'worte von cora castro'
const SMALL_PX = 320
const ORGANIZATION = 'Example' // its name, which is an English word of the page, too

let benId: number
const { browser, house } = await openHouse(async (house) => {
  benId = await furnishViews(house)
})

const faults: string[] = []

/** All findings are told at once. */
async function look(page: Page, view: string): Promise<void> {
  const english = leftEnglish(await shownTexts(page)).filter((text) => text !== ORGANIZATION)
  if (english.length > 0) faults.push(`${view} has English: ${english.join(' | ')}`)
  if ((await page.evaluate(() => document.documentElement.lang)) !== 'de')
    faults.push(`${view} is not marked as German`)
  const size = page.viewportSize()!
  await page.setViewportSize({ width: SMALL_PX, height: VIEW_HEIGHT })
  const over = await overflow(page)
  if (over !== 0) faults.push(`${view} scrolls sideways by ${over} px at ${SMALL_PX} px`)
  for (const width of [SMALL_PX, size.width]) {
    await page.setViewportSize({ ...size, width })
    await examine(page, `${view}, ${width} wide`).catch((error: Error) => faults.push(error.message))
  }
}

async function fillIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('E-mail', { exact: true }).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()

test('a first day in German: joined, read, answered, searched, signed out', async () => {
  const { invite_link: link } = await house.post('/invites/multiuse', { stream_ids: [house.channelId], invite_as: 400 })
  const path = link.replace(/^https:\/\/[^/]*/, '')
  const here = await visitPage(browser, house.port, { path, locale: 'de-AT', statuses: [400] })
  const { page } = here
  await heading(page, words.joinTitle(ORGANIZATION))
  await look(page, 'join')
  await page.getByLabel(words.fullName).fill('Cora Castro')
  await page.getByLabel(words.email, { exact: true }).fill(CORA)
  await page.getByLabel(words.password, { exact: true }).fill(CORA_PASSWORD)
  await page.getByRole('button', { name: words.joinAction }).click()
  await heading(page, words.inbox)
  await house.say('sicherung', '@**Cora Castro** ist alles da?')
  const row = page.getByRole('main').getByRole('link', { name: /sicherung/ })
  await row.getByText(words.unread(1)).waitFor()
  await row.getByRole('img', { name: words.mentioned }).waitFor()
  await look(page, 'inbox')
  await row.click()
  await heading(page, 'sicherung')
  await page.getByRole('textbox', { name: new RegExp(`^${words.messageTo('')}`) }).fill('Ja, **alles**.')
  await page.getByRole('button', { name: words.send, exact: true }).click()
  const own = page.getByRole('article').filter({ hasText: 'Ja, alles.' })
  await own.waitFor()
  await own.hover()
  await look(page, 'topic')
  await go(page, '#narrow/search/alles')
  await page.getByText(words.resultCount(2)).waitFor()
  await look(page, 'search')
  await page.keyboard.press('Escape')
  await heading(page, words.inbox)
  await page.getByLabel(words.menu).click()
  await look(page, 'menu')
  await page.getByRole('button', { name: words.signOut }).click()
  await page.getByText(words.signedOut).waitFor()
  await look(page, 'sign-in')
  const other = await visitPage(browser, house.port, { locale: 'en-US' })
  await fillIn(other.page, CORA, CORA_PASSWORD)
  await heading(other.page, words.inbox) // the account is German
  await other.end()
  await page.getByLabel(words.email, { exact: true }).fill(CORA)
  await page.getByLabel(words.password, { exact: true }).fill('falsch')
  await page.getByRole('button', { name: words.signIn }).click()
  await page.getByText(words.wrongPassword).waitFor()
  await here.end()
  assert.deepEqual(faults.splice(0), [])
})

test('the language of the account is that of the page, and can change while the page is open', async () => {
  const here = await visitPage(browser, house.port, { locale: 'en-US' })
  const { page } = here
  await page.getByLabel('Name of this device').fill('Schreibtisch')
  await signIn(page, OWNER, OWNER_PASSWORD)
  for (const view of ['#settings/profile', '#organization/rules', '#settings/display']) await go(page, view) // all scripts
  await house.say('drill', 'unread, so that it is counted')
  await page.getByLabel('Language').selectOption('Deutsch')
  await heading(page, words.settingsSections.display)
  for (const view of viewsOf(house, benId)) {
    await go(page, view)
    await look(page, view)
  }
  await go(page, `#user/${benId}`)
  const today = new Intl.DateTimeFormat('de', { dateStyle: 'medium' }).format(new Date())
  await page.getByText(today).waitFor()
  assert.deepEqual(faults.splice(0), [])

  const other = await visitPage(browser, house.port, { locale: 'fr-FR' })
  await fillIn(other.page, OWNER, OWNER_PASSWORD) // in English: there are no French words
  await heading(other.page, words.inbox)
  await other.end()

  await go(page, '#settings/display')
  await page.getByLabel(words.userSettings.default_language).selectOption('English')
  await heading(page, 'Display')
  await here.end()
})
