// @test long 40
/** People see each other on the page: who is there, and who is typing. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { type Account, ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { addBen, BEN, BEN_PASSWORD, type Ben } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

let ben: Ben
const { browser, house } = await openHouse(async (house) => {
  ben = await addBen(house)
  await house.say('drill', 'first', ben)
})

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()

async function openAt(place: string, title: string, who: 'olivia' | 'ben' = 'olivia') {
  const here = await visitPage(browser, house.port)
  await signIn(here.page, ...((who === 'olivia' ? [OWNER, OWNER_PASSWORD] : [BEN, BEN_PASSWORD]) as [string, string]))
  const told: Record<string, string>[] = []
  here.page.on('request', (request: Request) => {
    if (/\/(typing|presence)$/.test(request.url()))
      told.push(Object.fromEntries(new URLSearchParams(request.postData() ?? '')))
  })
  await here.page.evaluate((to) => {
    location.hash = to
  }, place)
  await heading(here.page, title)
  const ops = () => told.flatMap(({ op }) => op ?? [])
  return { ...here, told, ops }
}

const idOf = async (as: Account): Promise<number> =>
  (await ask(house.port, 'GET', '/users/me', { as })).body.user_id as number
const set = async (as: Account, values: Record<string, string>) => {
  const { status } = await ask(house.port, 'PATCH', '/settings', { as, form: values })
  assert.equal(status, 200)
}
const box = (page: Page) => page.getByRole('textbox', { name: /^Message/ })

test('typing shows on the other side; ten keys tell it once, and an empty box ends it', async () => {
  const topic = `#narrow/channel/${house.channelId}-ops/topic/drill`
  const olivia = await openAt(topic, 'drill')
  const other = await openAt(topic, 'drill', 'ben')
  const notice = olivia.page.getByText('Ben Becker is typing…')
  const height = await olivia.page.locator('.typing').evaluate((line) => line.getBoundingClientRect().height)
  await box(other.page).pressSequentially('ten keys..')
  await notice.waitFor()
  await examineAll(olivia.page, 'a conversation in which somebody is typing')
  await olivia.page.setViewportSize({ width: 1280, height: 860 })
  assert.equal(await olivia.page.locator('.typing').evaluate((line) => line.getBoundingClientRect().height), height)
  assert.deepEqual(other.ops(), ['start'])
  await box(other.page).fill('')
  await notice.waitFor({ state: 'detached' })
  await box(other.page).fill('sent')
  await notice.waitFor()
  await other.page.getByRole('button', { name: 'Send' }).click()
  await olivia.page.getByRole('article').filter({ hasText: 'sent' }).waitFor()
  await notice.waitFor({ state: 'detached' })
  await becomes(other.ops, ['start', 'stop', 'start', 'stop'])
  assert.ok(other.told.every(({ type, topic: of }) => type === undefined || (type === 'channel' && of === 'drill')))

  await other.page.getByRole('article').filter({ hasText: 'sent' }).hover()
  await other.page.getByRole('button', { name: 'Edit', exact: true }).click()
  const edited = other.page.getByLabel('Text of the message')
  await edited.and(other.page.locator(':enabled')).waitFor() // once its text is loaded
  await edited.pressSequentially('!')
  await olivia.page.getByText('(editing…)').waitFor()
  await other.page.getByRole('button', { name: 'Save' }).click()
  await olivia.page.getByText('(edited)').waitFor()

  await set(ben, { send_stream_typing_notifications: 'false' })
  await other.page.reload()
  await heading(other.page, 'drill')
  const before = other.ops().length
  await box(other.page).pressSequentially('unseen')
  await other.page.getByRole('link', { name: 'Inbox' }).first().click()
  await heading(other.page, 'Inbox')
  assert.equal(other.ops().length, before)
  await set(ben, { send_stream_typing_notifications: 'true' })
  await olivia.end()
  await other.end()
})

test('typing shows in a direct conversation, but not of a muted user', async () => {
  const [mine, theirs] = [await idOf(house.owner), await idOf(ben)]
  const olivia = await openAt(`#narrow/dm/${theirs}-dm`, 'Ben Becker')
  await house.post('/typing', { op: 'start', type: 'direct', to: [mine] }, ben)
  const notice = olivia.page.getByText('Ben Becker is typing…')
  await notice.waitFor()
  await house.post(`/users/me/muted_users/${theirs}`, {})
  await notice.waitFor({ state: 'detached' })
  await ask(house.port, 'DELETE', `/users/me/muted_users/${theirs}`, { as: house.owner })
  await notice.waitFor()
  await olivia.end()
})

test('presence is shown in lists, on profiles and in direct conversations, and reported as the account permits', async () => {
  const theirs = await idOf(ben)
  const olivia = await openAt('#people', 'People')
  const { page } = olivia
  const row = page.getByRole('main').getByRole('link', { name: /Ben Becker/ })
  await house.post('/users/me/presence', { status: 'active' }, ben)
  await row.getByRole('img', { name: 'Active' }).waitFor()
  const sizes = await page.evaluate(() =>
    [...document.querySelectorAll('.presence')]
      .map((mark) => mark.getBoundingClientRect())
      .map((box) => [box.width, box.height]),
  )
  assert.ok(sizes.length > 1)
  assert.ok(
    sizes.every(([width, height]) => width === 10 && height === 10),
    JSON.stringify(sizes),
  )
  await examineAll(page, 'people with their presence')
  await page.setViewportSize({ width: 1280, height: 860 })
  await row.click()
  await heading(page, 'Ben Becker')
  await page.getByRole('main').getByText('Active', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Write a message' }).click()
  await page.getByRole('link', { name: 'Active' }).waitFor()
  await set(ben, { presence_enabled: 'false' })
  await page.getByRole('link', { name: /^Active \d+ minutes ago$/ }).waitFor()
  await page.evaluate((to) => {
    location.hash = to
  }, `#user/${theirs}`)
  await page
    .getByRole('main')
    .getByText(/^Active \d+ minutes ago$/)
    .waitFor()

  const hidden = await openAt('#people', 'People', 'ben')
  await hidden.page.reload()
  await heading(hidden.page, 'People')
  await hidden.page.mouse.move(100, 100)
  await hidden.page.keyboard.press('Tab')
  await becomes(() => hidden.told.length > 0, true)
  assert.ok(hidden.told.every(({ status, new_user_input: input }) => status === 'idle' && input === 'false'))
  await set(ben, { presence_enabled: 'true' })
  await hidden.end()

  await page.reload()
  await heading(page, 'Ben Becker')
  await page.bringToFront()
  await becomes(() => olivia.told.at(-1)?.status, 'active')
  assert.match(olivia.told.at(-1)!.last_update_id!, /^\d+$/)
  await olivia.end()
})
