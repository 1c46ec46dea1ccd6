// @test long 150
/** Without the server: the page starts, shows the newest messages and takes new ones; and the end of all that a device keeps. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { startProfile } from '../../../tools/browser.ts'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask, chatPid, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { addBen, BEN, BEN_PASSWORD } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'
import { findInProfile } from './profile-files.ts'
import { cachedCount, until } from './stored.ts'

const DAYS = 14 // unless an owner sets another number
const { browser, house } = await openHouse()

const box = (page: Page) => page.getByRole('textbox', { name: /^Message/ })
const onItsWay = (page: Page) => page.getByRole('article', { name: 'Your message, on its way' })
const article = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })
const addressOf = (topic: string) => `#narrow/channel/${house.channelId}-ops/topic/${topic}`
const openTopic = async (page: Page, topic: string) => {
  await page.evaluate((to) => {
    location.hash = to
  }, addressOf(topic))
  await page.getByRole('heading', { name: topic, level: 1 }).waitFor()
}

const toInbox = (page: Page) =>
  page.evaluate(() => {
    location.hash = '#inbox'
  })

/** All that the origin has stored in the browser, but cookies. */
const stored = (page: Page) =>
  page.evaluate(async () => ({
    databases: (await indexedDB.databases()).length,
    caches: (await caches.keys()).length,
    workers: (await navigator.serviceWorker.getRegistrations()).length,
  }))
const NOTHING = { databases: 0, caches: 0, workers: 0 }
const ALL = { databases: 1, caches: 1, workers: 1 }

const untilStored = (page: Page, wanted: typeof ALL) => becomes(() => stored(page), wanted)

/** A browser that trusts the server, is signed in, and can start without it. */
async function openDevice(topic: string, email = OWNER, password = OWNER_PASSWORD) {
  const profile = mkdtempSync(join(tmpdir(), 'coffer-profile-'))
  const here = await visitPage(browser, house.port, { profile, trusted: true, statuses: [500] })
  await signIn(here.page, email, password)
  await openTopic(here.page, topic)
  await untilStored(here.page, ALL)
  await here.page.evaluate(() => navigator.serviceWorker.ready)
  return { ...here, profile }
}

/** The chat's process takes connections and answers none, until `act` is done. */
async function withServerHeld(act: () => Promise<void>): Promise<void> {
  const pid = await chatPid(house.coffer)
  process.kill(pid, 'SIGSTOP')
  try {
    await act()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
}

test('with the server held back the stored inbox and conversation are shown; what is written then is sent once', async () => {
  const { id } = await house.say('kept', 'zebra words of the day')
  await house.say('gone', 'hippo words that are deleted')
  const device = await openDevice('kept')
  const { page, profile } = device
  await article(page, 'zebra words').waitFor()
  await until(async () => (await cachedCount(page)) >= 3, 'state and two conversations are not stored')
  assert.ok(id > 0)
  await device.end()

  await withServerHeld(async () => {
    const again = await visitPage(browser, house.port, { profile, trusted: true, path: `/${addressOf('kept')}` })
    again.mayBeAway = true
    await article(again.page, 'zebra words').waitFor()
    await again.page.getByText('This is the state of').waitFor()
    await box(again.page).fill('giraffe words written offline')
    await box(again.page).press('Control+Enter')
    await onItsWay(again.page).waitFor()
    await toInbox(again.page)
    await again.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
    await again.end()
  })

  const last = await visitPage(browser, house.port, { profile, trusted: true, path: `/${addressOf('kept')}` })
  await article(last.page, 'giraffe words').waitFor()
  await onItsWay(last.page).waitFor({ state: 'detached' })
  assert.deepEqual(await house.saidIn('kept'), ['zebra words of the day', 'giraffe words written offline'])
  await last.end()
  for (const word of ['zebra words', 'giraffe words', 'hippo words']) assert.deepEqual(findInProfile(profile, word), [])
  rmSync(profile, { recursive: true })
})

test('after sign-out, revocation and deactivation the browser has nothing left', async () => {
  const device = await openDevice('ended')
  const { page } = device
  await page.getByLabel('Menu').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out').waitFor()
  await untilStored(page, NOTHING)

  await toInbox(page)
  await signIn(page, OWNER, OWNER_PASSWORD)
  await untilStored(page, ALL)
  const { api_keys: keys } = (await ask(house.port, 'GET', '/users/me/api_keys', { as: house.owner })).body
  const session = keys.findLast(({ device }: { device: string | null }) => device !== null)
  await ask(house.port, 'DELETE', `/users/me/api_keys/${session.id}`, { as: house.owner })
  await page.getByText('This session has ended').waitFor()
  await untilStored(page, NOTHING)

  const { id: benId } = await addBen(house)
  await toInbox(page)
  await signIn(page, BEN, BEN_PASSWORD)
  await untilStored(page, ALL)
  await ask(house.port, 'DELETE', `/users/${benId}`, { as: house.owner })
  await page.getByText('This session has ended').waitFor()
  await untilStored(page, NOTHING)
  await device.end()
  rmSync(device.profile, { recursive: true })
})

test('when the days are over nothing is left, and nothing is kept where the organization permits none', async () => {
  const device = await openDevice('days')
  await device.end()
  const { profile } = device
  await withServerHeld(async () => {
    const later = await startProfile(profile, { ignoreHTTPSErrors: true })
    await later.addInitScript((ms) => {
      const now = Date.now
      Date.now = () => now() + ms
    }, DAYS * 86_400_000)
    const page = later.pages()[0] ?? (await later.newPage())
    await page.goto(`${device.origin}/`)
    await untilStored(page, NOTHING)
    assert.ok(!(await page.content()).includes('Inbox'))
    await later.close()
  })
  rmSync(profile, { recursive: true })

  const other = await openDevice('days')
  const { status } = await ask(house.port, 'PATCH', '/realm', { as: house.owner, form: { page_offline_days: '0' } })
  assert.equal(status, 200)
  await untilStored(other.page, NOTHING)
  await other.page.reload()
  await other.page.getByRole('heading', { name: 'days', level: 1 }).waitFor()
  await sleep(5000) // longer than it takes to store the first messages
  assert.deepEqual(await stored(other.page), NOTHING)
  await ask(house.port, 'PATCH', '/realm', { as: house.owner, form: { page_offline_days: String(DAYS) } })
  await other.end()
  rmSync(other.profile, { recursive: true })
})

test('with a certificate that the browser does not trust, all but the offline start works, and Settings says why', async () => {
  const here = await visitPage(browser, house.port)
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await openTopic(here.page, 'untrusted')
  await box(here.page).fill('sent all the same')
  await box(here.page).press('Control+Enter')
  await article(here.page, 'sent all the same').waitFor()
  await onItsWay(here.page).waitFor({ state: 'detached' })
  await here.page.evaluate(() => {
    location.hash = '#settings/devices'
  })
  await here.page.getByText('does not trust the certificate of the server').waitFor()
  await untilStored(here.page, { databases: 1, caches: 0, workers: 0 })
  await examineAll(here.page, 'devices without a trusted certificate')
  await here.end()
})
