// @test long 30
/** A setting on the page while its change is on the way to the server. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage, visitTopic } from './browser.ts'
import { openHouse } from './house.ts'

const { browser, house } = await openHouse()

const SETTINGS = '**/api/v1/settings'

async function change(name: string, value: boolean): Promise<void> {
  const { status } = await ask(house.port, 'PATCH', '/settings', { as: house.owner, form: { [name]: String(value) } })
  assert.equal(status, 200)
}

async function openDisplay() {
  const here = await visitPage(browser, house.port, { statuses: [400] })
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await here.page.evaluate(() => {
    location.hash = '#settings/display'
  })
  await here.page.getByRole('heading', { name: 'Display', level: 1 }).waitFor()
  return { ...here, enterSends: here.page.getByLabel('Enter sends a message') }
}

test('a choice stays while it is saved, whatever other event arrives; the last choice is saved', async () => {
  const { page, enterSends, end } = await openDisplay()
  const [held, sent]: [Route[], (string | null)[]] = [[], []]
  await page.route(SETTINGS, async (route) => {
    sent.push(route.request().postData())
    if (sent.length <= 2) held.push(route)
    else await route.continue()
  })
  await enterSends.check()
  await page.getByLabel('Clock', { exact: true }).selectOption('2:30 PM')
  const other = page.getByLabel('Show who is typing')
  await other.and(page.locator(':checked')).waitFor()
  await change('receives_typing_notifications', false)
  await other.and(page.locator(':not(:checked)')).waitFor()
  assert.equal(await enterSends.isChecked(), true)
  assert.equal(await page.getByLabel('Clock', { exact: true }).locator(':checked').textContent(), '2:30 PM')
  await enterSends.uncheck()
  await enterSends.check()
  await enterSends.uncheck()
  await Promise.all(held.map((route) => route.continue()))
  await page.getByText('Saved.').nth(1).waitFor()
  await becomes(() => enterSends.isChecked(), false)
  assert.deepEqual(sent, ['enter_sends=true', 'twenty_four_hour_time=false', 'enter_sends=false'])
  await change('enter_sends', true)
  await enterSends.and(page.locator(':checked')).waitFor()
  await end()
})

test('a refused choice goes back to what is saved', async () => {
  const { page, enterSends, end } = await openDisplay()
  const before = await enterSends.isChecked()
  await page.route(SETTINGS, (route) =>
    route.fulfill({ status: 400, json: { result: 'error', msg: 'refused here', code: 'BAD_REQUEST' } }),
  )
  await enterSends.click()
  await page.getByRole('alert').getByText('refused here').waitFor()
  await becomes(() => enterSends.isChecked(), before)
  await end()
})

test('times in a list are those of the clock of the account, also when it changes', async () => {
  await house.say('times', 'first of the times')
  await house.say('times', 'second of the times')
  const { page, end } = await visitTopic(browser, house, 'times')
  const times = async () =>
    (await page.locator('article time').allTextContents()).map((text) => text.replace(/\s/u, ' '))
  await page.getByRole('article').nth(1).waitFor()
  for (const [is24, first, others] of [
    ['true', /^\d\d:\d\d$/, /^\d\d:\d\d$/],
    ['false', /^\d{1,2}:\d\d [AP]M$/, /^\d{1,2}:\d\d$/],
    ['true', /^\d\d:\d\d$/, /^\d\d:\d\d$/],
    ['null', /^\d{1,2}:\d\d [AP]M$/, /^\d{1,2}:\d\d$/], // after `true`, which shows another text
  ] as const) {
    const form = { twenty_four_hour_time: is24 }
    const { status } = await ask(house.port, 'PATCH', '/settings', { as: house.owner, form })
    assert.equal(status, 200)
    await page.waitForFunction(
      (pattern) =>
        new RegExp(pattern).test(document.querySelector('article time')?.textContent?.replace(/\s/u, ' ') ?? ''),
      first.source,
    )
    await becomes(async () => (await times()).slice(1).filter((time) => !others.test(time)), [])
    const label = await page.getByRole('article').first().getAttribute('aria-label')
    assert.match(label!.replace(/\s/gu, ' '), new RegExp(`, ${first.source.slice(1)}`))
  }
  await end()
})
