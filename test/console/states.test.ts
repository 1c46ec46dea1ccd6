// @test long 60
/** Each state has its view, also when another user changes it; and its effect on signed-in accounts. */

import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { expect } from '../support/appliance.ts'
import { ADMIN, UNLOCK } from '../support/suite.ts'
import { becomes, heading, nothingLeft, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'
import { openProvisioned } from './provisioned.ts'

const [, PASSPHRASE = ''] = ADMIN.split(':')
const MINUTE = 60_000
const SEEN_MS_MAX = 5000

const { browser, appliance } = await openProvisioned()

test('locked and unlocked by another client, away and back, failed: the page follows', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  here.allowed.add(412).add(503) // of what is asked just when the state becomes another one
  await signIn(page, 'admin', PASSPHRASE)
  await open(page, 'Keys')
  await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
  await heading(page, 'Coffer is locked')
  await examineAll(page, 'locked')
  await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  await heading(page, 'Keys') // the same view, and still signed in
  here.mayBeAway = true
  await appliance.stop()
  await heading(page, 'No connection')
  await examineAll(page, 'no connection')
  await appliance.restart()
  await heading(page, 'Coffer is locked')
  await appliance.stop()
  const key = join(appliance.dataDirectory, 'device.key')
  renameSync(key, `${key}.away`)
  await appliance.restart()
  await heading(page, 'Coffer has failed')
  await page.getByText('clusterState').waitFor()
  await examineAll(page, 'failed')
  await page.getByRole('button', { name: 'Factory reset' }).click()
  await examineAll(page, 'a factory reset of what has failed')
  await page.keyboard.press('Escape')
  assert.equal(await page.getByText('admin').count(), 0)
  await appliance.stop()
  renameSync(`${key}.away`, key)
  await appliance.restart()
  await heading(page, 'Coffer is locked')
  await page.getByRole('button', { name: 'Unlock', exact: true }).click()
  await page.getByText('Enter a passphrase.').waitFor()
  await examineAll(page, 'unlock without a passphrase')
  await page.getByLabel('Unlock passphrase', { exact: true }).fill(UNLOCK)
  await page.getByRole('button', { name: 'Unlock', exact: true }).click()
  await heading(page, 'Sign in')
  // Only seconds long in truth: what the page shows of it.
  await page.route('**/api/v1/health/state', (route) => route.fulfill({ status: 503 }))
  await heading(page, 'An update is on trial')
  await examineAll(page, 'on trial')
  await page.unrouteAll({ behavior: 'wait' })
  await heading(page, 'Sign in')
  await here.end()
})

test('the state is asked for often enough for five seconds, by the page’s own clock, and one answer changes the view', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  here.allowed.add(412)
  await page.clock.install()
  await page.reload()
  await heading(page, 'Sign in')
  await signIn(page, 'admin', PASSPHRASE)
  await open(page, 'Users')
  const times: number[] = []
  let now = 0
  let unanswered = 0
  const isPoll = (request: { url(): string }) => request.url().endsWith('/health/state')
  page.on('request', (request) => {
    if (!isPoll(request)) return
    times.push(now)
    unanswered++
  })
  page.on('requestfinished', (request) => {
    if (isPoll(request)) unanswered--
  })
  await page.clock.pauseAt(Date.now() + MINUTE)
  /** Half a second of the page, then whatever it asked for is answered, however long that takes. */
  const step = async () => {
    now += 500
    await page.clock.runFor(500)
    while (unanswered > 0) await setTimeout(10)
  }
  for (let n = 0; n < 40; n++) await step()
  const gaps = times.slice(1).map((time, at) => time - times[at]!)
  assert.ok(gaps.length >= 4 && Math.max(...gaps) <= SEEN_MS_MAX, `polls at ${times.join(', ')} ms`)

  await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
  const before = times.length
  const since = now
  while (times.length === before) await step()
  assert.ok(now - since <= SEEN_MS_MAX, `first asked after ${now - since} ms`)
  await heading(page, 'Coffer is locked') // and the clock stands still: by that one answer
  assert.equal(times.length, before + 1)
  await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
  await here.end()
})

test('ten minutes without a key, click or touch: a line counts down, then the view is empty and the route is kept', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await page.clock.install()
  await page.reload()
  await heading(page, 'Sign in')
  await signIn(page, 'admin', PASSPHRASE)
  await open(page, 'Users')
  await page.getByRole('link', { name: 'admin' }).waitFor()
  await page.clock.fastForward(9.5 * MINUTE)
  await page.getByText('No activity').waitFor()
  await page.keyboard.press('Shift')
  await page.clock.runFor(2000)
  await page.getByText('No activity').waitFor({ state: 'detached' })
  await page.clock.fastForward(9.5 * MINUTE)
  await page.clock.fastForward(MINUTE)
  await page.getByText('You were signed out because of inactivity').waitFor()
  assert.equal(await page.getByRole('link', { name: 'admin' }).count(), 0)
  await nothingLeft(page, [PASSPHRASE])
  await page.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE) // and never sent
  await page.clock.fastForward(11 * MINUTE)
  await nothingLeft(page, [PASSPHRASE])
  await signIn(page, 'admin', PASSPHRASE)
  await heading(page, 'Users')
  await page.clock.fastForward(8 * 60 * MINUTE + MINUTE)
  await heading(page, 'Sign in')
  await here.end()
})

test('a page that is left, reloaded or returned to has nobody in it', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', PASSPHRASE)
  await open(page, 'Users')
  await page.goto(`${here.origin}/docs`)
  await page.goBack()
  await heading(page, 'Sign in')
  await nothingLeft(page, [PASSPHRASE])
  await page.goForward()
  await page.goBack()
  await heading(page, 'Sign in')
  assert.ok(page.url().endsWith('#/users'))
  await signIn(page, 'admin', PASSPHRASE)
  await heading(page, 'Users')
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })))
  await heading(page, 'Sign in')
  await page.getByRole('button', { name: 'Show the passphrase: Passphrase' }).click()
  await page.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE)
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })))
  await nothingLeft(page, [PASSPHRASE])
  await signIn(page, 'admin', PASSPHRASE)
  await heading(page, 'Users')
  await page.reload()
  await heading(page, 'Sign in')
  await here.end()
})

test('a wrong passphrase is said beside the field; one that somebody else changed is asked for again', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  here.allowed.add(401).add(429)
  const json = { realName: 'Second', role: 'Administrator', passphrase: 'words of the second' }
  await expect(201, appliance.call('PUT', '/users/second', { as: ADMIN, json }))
  await signIn(page, 'admin', 'not the passphrase')
  await page.getByText('Wrong user name or passphrase.').waitFor()
  assert.equal(await page.getByLabel('Passphrase', { exact: true }).inputValue(), '')
  await signIn(page, 'second', 'words of the second')
  await heading(page, 'Overview')
  await page.getByRole('heading', { name: 'Needs attention', exact: true }).waitFor() // the last of what the page asks for by itself
  await expect(204, appliance.call('DELETE', '/users/second', { as: ADMIN }))
  await page.getByRole('link', { name: 'Keys', exact: true }).first().click()
  await heading(page, 'Sign in')
  assert.equal(await page.getByLabel('User', { exact: true }).inputValue(), 'second')
  await here.end()
})

test('what somebody else changed meanwhile is not undone unseen', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  here.allowed.add(412)
  await signIn(page, 'admin', PASSPHRASE)
  await open(page, 'Settings')
  const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Log', exact: true }) })
  await card.getByLabel('Port').fill('1514')
  const logging = { ipAddress: '0.0.0.0', port: 2514, logLevel: 'info' }
  await expect(204, appliance.call('PUT', '/config/logging', { as: ADMIN, json: logging }))
  await card.getByRole('button', { name: 'Save: Log' }).click()
  await card.getByText('Another administrator has changed this in the meantime.').waitFor()
  await page.waitForFunction(() => [...document.querySelectorAll('input')].some(({ value }) => value === '2514'))
  await card.getByLabel('Port').fill('514')
  await card.getByRole('button', { name: 'Save: Log' }).click()
  await card.getByText('Saved.').waitFor()
  const { port } = (await expect(200, appliance.call('GET', '/config/logging', { as: ADMIN }))).json() as {
    port: number
  }
  assert.equal(port, 514)
  await here.end()
})

test('what is typed while saved settings are read again stays, and is saved at once', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', PASSPHRASE)
  await open(page, 'Settings')
  const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Log', exact: true }) })
  const save = card.getByRole('button', { name: 'Save: Log' })
  await card.getByLabel('Port').fill('1514')
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/api/v1/config/logging', async (route) => {
    if (route.request().method() === 'GET') await held
    await route.continue()
  })
  await save.click()
  await card.getByText('Saved.').waitFor()
  await card.getByLabel('Port').fill('2514')
  await save.click()
  release()
  const logging = async () => (await expect(200, appliance.call('GET', '/config/logging', { as: ADMIN }))).json()
  await becomes(async () => ((await logging()) as { port: number }).port, 2514)
  await card.getByText('Saved.').waitFor()
  assert.equal(await card.getByLabel('Port').inputValue(), '2514')
  await page.unrouteAll({ behavior: 'wait' })
  await here.end()
})

test('switched off, there is no page, and the API is as before', async () => {
  const off = { status: 'off' }
  await expect(204, appliance.call('PUT', '/config/console', { as: ADMIN, json: off }))
  await expect(404, appliance.call('GET', '//'))
  await expect(200, appliance.call('GET', '/users', { as: ADMIN }))
  await expect(204, appliance.call('PUT', '/config/console', { as: ADMIN, json: { status: 'on' } }))
  await expect(200, appliance.call('GET', '//'))
})
