// @test long 40
/** Without *This is my device* no word of the day is in the files of the browser's profile. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'
import { findInProfile } from './profile-files.ts'

const { browser, house } = await openHouse()

const box = (page: Page) => page.getByRole('textbox', { name: /^Message/ })
const article = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })

test('a day in a browser that is not the own device leaves no database and no word', async () => {
  await house.say('visit', 'zebra words of the day')
  const profile = mkdtempSync(join(tmpdir(), 'coffer-profile-'))
  const here = await visitPage(browser, house.port, { profile, trusted: true })
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD, false)
  await page.evaluate((to) => {
    location.hash = to
  }, `#narrow/channel/${house.channelId}-ops/topic/visit`)
  await article(page, 'zebra words').waitFor()
  await box(page).fill('giraffe words that were sent')
  await box(page).press('Control+Enter')
  await article(page, 'giraffe words').and(page.locator('[data-id]')).waitFor()
  await box(page).pressSequentially('hippo words of a draft')
  const stored = await page.evaluate(async () => ({
    databases: (await indexedDB.databases()).length,
    caches: (await caches.keys()).length,
    workers: (await navigator.serviceWorker.getRegistrations()).length,
  }))
  assert.deepEqual(stored, { databases: 0, caches: 0, workers: 0 })
  await here.end()
  for (const word of ['zebra words', 'giraffe words', 'hippo words']) assert.deepEqual(findInProfile(profile, word), [])
  rmSync(profile, { recursive: true })
})
