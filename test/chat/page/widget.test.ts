// @test long 20
/** A task of a to-do list whose change the server refuses; and buttons of a bot that are pressed again and again. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes } from '../../console/browser.ts'
import { ask } from '../support/process.ts'
import { visitTopic } from './browser.ts'
import { openHouse } from './house.ts'

const { browser, house } = await openHouse()

test('a task whose strike is refused has no check mark', async () => {
  await house.say('tasks', '/todo Drill\nSpare box: rack 4')
  const { page, end } = await visitTopic(browser, house, 'tasks', { statuses: [400] })
  await page.route('**/api/v1/submessage', (route) =>
    route.fulfill({ status: 400, json: { result: 'error', msg: 'refused here', code: 'BAD_REQUEST' } }),
  )
  const task = page.getByRole('checkbox', { name: 'Spare box' })
  await task.click()
  await page.getByText('refused here').waitFor()
  await becomes(() => task.isChecked(), false)
  await page.unroute('**/api/v1/submessage')
  await task.click()
  await page.locator('.done', { hasText: 'Spare box' }).waitFor()
  await becomes(() => task.isChecked(), true)
  await end()
})

test('a button of a bot sends one reply, which it tells; one without a reply is left out', async () => {
  const bot = await house.post('/bots', { full_name: 'Drill Bot', short_name: 'drill', bot_type: 1 })
  const { email } = (await ask(house.port, 'GET', `/users/${bot.user_id}`, { as: house.owner })).body.user
  const choices = [
    { type: 'multiple_choice', reply: 'erase all', long_name: 'Show the list', short_name: 's' },
    { type: 'multiple_choice', reply: 'stop', long_name: 'stop', short_name: 't' },
    { type: 'multiple_choice', reply: '', long_name: 'Nothing', short_name: 'n' },
  ]
  const extra_data = { type: 'choices', heading: 'Begin the drill?', choices }
  const widget_content = JSON.stringify({ widget_type: 'zform', extra_data })
  const message = { type: 'stream', to: house.channelId, topic: 'buttons', content: 'Begin the drill?' }
  await house.post('/messages', { ...message, widget_content }, { email, key: bot.api_key as string })
  const { page, requests, end } = await visitTopic(browser, house, 'buttons')
  const sent = () => requests.filter((one) => one === 'POST /api/v1/messages').length
  const buttons = page.getByRole('group', { name: 'Begin the drill?' }).getByRole('button')
  await buttons.first().waitFor()
  assert.deepEqual(await buttons.allTextContents(), ['Show the list', 'stop'])
  assert.equal(await buttons.first().getAttribute('title'), 'erase all')
  assert.equal(await buttons.last().getAttribute('title'), null)

  const stored = page.locator('article[data-id]') // one on its way to the server has no id
  await buttons.first().dblclick()
  await stored.filter({ hasText: 'erase all' }).waitFor()
  assert.equal(sent(), 1)

  const { promise: held, resolve: answer } = Promise.withResolvers<void>()
  await page.route('**/api/v1/messages', async (route) => {
    if (route.request().method() === 'POST') await held
    await route.continue()
  })
  await buttons.last().focus()
  await page.keyboard.down('Enter')
  const disabled = page.locator('fieldset button[aria-disabled=true]')
  await disabled.waitFor()
  await page.keyboard.up('Enter')
  await page.keyboard.press('Enter')
  await page.keyboard.down('Enter')
  answer()
  await stored.filter({ hasText: 'stop' }).waitFor()
  await disabled.waitFor({ state: 'detached' })
  await page.keyboard.down('Enter')
  await page.keyboard.up('Enter')
  assert.equal(sent(), 2)
  assert.deepEqual(await house.saidIn('buttons'), ['Begin the drill?', 'erase all', 'stop'])
  await end()
})
