// @test long 30
/** Signing out while other calls of the page are on their way, which the server refuses with 401. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { ask } from '../support/process.ts'
import { visitTopic } from './browser.ts'
import { openHouse } from './house.ts'

const { browser, house } = await openHouse()

const SIGNED_OUT = 'You are signed out'

async function signOut(page: Page): Promise<void> {
  await page.getByLabel('Menu').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}

const refused = (page: Page, path: string) =>
  page.waitForResponse((response) => response.status() === 401 && response.url().includes(path))

test('the page says that it is signed out, though the waiting poll is refused first', async () => {
  const { page, end } = await visitTopic(browser, house, 'poll')
  const poll = refused(page, '/api/v1/events')
  // The request waits here, and the session ends as it would by it.
  const held = new Promise<Route>((resolve) => void page.route('**/api/v1/session', resolve))
  await signOut(page)
  const request = await held
  const { api_keys: keys } = (await ask(house.port, 'GET', '/users/me/api_keys', { as: house.owner })).body
  const { id } = keys.find(({ device }: { device: string | null }) => device !== null)
  assert.equal((await ask(house.port, 'DELETE', `/users/me/api_keys/${id}`, { as: house.owner })).status, 200)
  await poll
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await becomes(() => page.getByText(SIGNED_OUT).count(), 1)
  await request.continue()
  await end()
})

test('a call that is refused after that changes nothing', async () => {
  const { page, end } = await visitTopic(browser, house, 'typing')
  const { promise: isOut, resolve: go } = Promise.withResolvers<void>()
  await page.route('**/api/v1/typing', async (route) => {
    if (route.request().postData()?.includes('op=stop')) await isOut
    await route.continue()
  })
  const typing = refused(page, '/api/v1/typing')
  await page.locator('.compose textarea').fill('typed and left')
  await signOut(page)
  await page.getByText(SIGNED_OUT).waitFor()
  go()
  await (await typing).finished()
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 500)))
  assert.equal(await page.getByText(SIGNED_OUT).count(), 1)
  await end()
})
