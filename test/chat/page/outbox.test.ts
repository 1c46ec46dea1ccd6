// @test long 150
/** Messages on their way and drafts: a network that is cut, a process that is killed, a browser that is closed, a refusal. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'
import { findInProfile } from './profile-files.ts'

const { browser, house } = await openHouse()

const box = (page: Page) => page.getByRole('textbox', { name: /^Message/ })
const enter = async (page: Page, text: string) => {
  await box(page).fill(text)
  await box(page).press('Control+Enter')
}
const openTopic = async (page: Page, topic: string) => {
  await page.evaluate((to) => {
    location.hash = to
  }, `#narrow/channel/${house.channelId}-ops/topic/${topic}`)
  await page.getByRole('heading', { name: topic, level: 1 }).waitFor()
}
const onItsWay = (page: Page) => page.getByRole('article', { name: 'Your message, on its way' })
const isSend = (method: string, url: string) => method === 'POST' && url.endsWith('/api/v1/messages')
const cutSends = (page: Page) =>
  page.route('**/api/v1/messages', (route) =>
    isSend(route.request().method(), route.request().url()) ? route.abort('connectionreset') : route.fallback(),
  )

test('the network cut before and after the commit at each of 20 sends, and the process killed: each is there once, in order', async () => {
  const here = await visitPage(browser, house.port, { statuses: [400, 500] }) // a killed process loses its queues
  const { page } = here
  here.mayBeAway = true
  await signIn(page, OWNER, OWNER_PASSWORD)
  await openTopic(page, 'cuts')
  const { promise: areEntered, resolve: release } = Promise.withResolvers<void>()
  const tries = new Map<string, number>()
  const answers: number[] = []
  let lives = 1
  await page.route('**/api/v1/messages', async (route) => {
    const request = route.request()
    if (!isSend(request.method(), request.url())) return route.fallback()
    await areEntered
    const key = request.headers()['idempotency-key']!
    const number = tries.get(key) ?? 0
    tries.set(key, number + 1)
    if (number === 0 && tries.size === 7) await killAndNote() // before the commit
    if (number === 0) return route.abort('connectionreset')
    if (number > 1) return route.continue()
    // The browser itself adds this header, after the place where a route sees the request.
    const headers = { ...(await request.allHeaders()), 'sec-fetch-site': 'same-origin' }
    const answer = await route.fetch({ headers })
    answers.push(answer.status())
    if (tries.size === 14) await killAndNote() // after it
    return route.abort('connectionreset')
  })
  const killAndNote = async () => {
    lives++
    await house.killChat()
  }
  const all = Array.from({ length: 20 }, (_, number) => `message ${number}`)
  for (const text of all) await enter(page, text)
  await becomes(() => onItsWay(page).count(), all.length)
  release()
  for (let round = 0; (await house.saidIn('cuts')).length < all.length; round++) {
    assert.ok(round < 600, `${[...tries.values()]}`)
    await sleep(500)
  }
  await onItsWay(page).first().waitFor({ state: 'detached' })
  assert.equal(lives, 3)
  assert.deepEqual(answers, Array(20).fill(200))
  assert.ok(
    [...tries.values()].every((count) => count >= 2),
    `a send was not cut twice: ${[...tries.values()]}`,
  )
  assert.deepEqual(await house.saidIn('cuts'), all)
  await page.reload()
  await page.getByText('message 19', { exact: true }).waitFor()
  await becomes(() => page.locator('.message .content').allTextContents(), all)
  await here.end()
})

test('what waits when the browser is closed is sent once by the next page, and no word of it is kept in clear', async () => {
  const profile = mkdtempSync(join(tmpdir(), 'coffer-profile-'))
  const here = await visitPage(browser, house.port, { profile })
  here.mayBeAway = true
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await openTopic(here.page, 'closed')
  await cutSends(here.page)
  await enter(here.page, 'zebra words on their way')
  await here.page.getByText('Not sent yet. Trying again').waitFor()
  await box(here.page).fill('giraffe words of a draft')
  await untilStored(here.page)
  await here.end()

  const again = await visitPage(browser, house.port, { profile })
  await again.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
  await openTopic(again.page, 'closed')
  await again.page.getByRole('article').filter({ hasText: 'zebra words on their way' }).waitFor()
  await onItsWay(again.page).waitFor({ state: 'detached' })
  assert.deepEqual(await house.saidIn('closed'), ['zebra words on their way'])
  await becomes(() => box(again.page).inputValue(), 'giraffe words of a draft')
  await again.end()
  for (const word of ['zebra words', 'giraffe words']) assert.deepEqual(findInProfile(profile, word), [])
  rmSync(profile, { recursive: true })
})

test('a tab that is closed right after the last key loses no text', async () => {
  const here = await visitPage(browser, house.port)
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await openTopic(here.page, 'closed tab')
  const next = await here.context.newPage() // the browser goes on
  await box(here.page).fill('words of a moment before')
  await here.page.close()
  await next.goto(`${here.origin}/#narrow/channel/${house.channelId}-ops/topic/closed.20tab`)
  await next.waitForFunction(() => document.querySelector('textarea')?.value === 'words of a moment before')
  await here.end()
})

/** A moment: each key is written by itself, behind what the browser has encrypted and put on disk before. */
const untilStored = (page: Page) =>
  page.evaluate(async () => {
    const answered = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => {
        request.onsuccess = () => resolve(request.result)
      })
    const database = await answered(indexedDB.open('coffer-chat'))
    const names = async () => JSON.stringify((await all()).map(({ iv }) => [...iv]))
    const all = () => answered<{ iv: Uint8Array }[]>(database.transaction('records').objectStore('records').getAll())
    for (let before = '', same = 0; same < 5; await new Promise((resolve) => setTimeout(resolve, 100))) {
      const now = await names()
      same = now === before ? same + 1 : 0
      before = now
    }
    database.close()
  })

test('a killed browser loses nothing that was typed a moment before', async () => {
  const profile = mkdtempSync(join(tmpdir(), 'coffer-profile-'))
  const before = await visitPage(browser, house.port, { profile })
  await signIn(before.page, OWNER, OWNER_PASSWORD)
  await before.end() // a browser writes cookies seldom, and when it is closed
  const here = await visitPage(browser, house.port, { profile })
  here.mayBeAway = true
  await here.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
  await openTopic(here.page, 'killed')
  await cutSends(here.page)
  await here.page.route('**/api/v1/drafts**', (route) => route.abort('connectionreset'))
  await enter(here.page, 'sent and never answered')
  await box(here.page).pressSequentially('half a sen')
  await here.page.getByText('Not sent yet. Trying again').waitFor()
  await untilStored(here.page)
  await here.kill()

  const again = await visitPage(browser, house.port, { profile })
  await again.page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
  await openTopic(again.page, 'killed')
  await again.page.getByRole('article').filter({ hasText: 'sent and never answered' }).waitFor()
  await onItsWay(again.page).waitFor({ state: 'detached' })
  await becomes(() => box(again.page).inputValue(), 'half a sen')
  assert.deepEqual(await house.saidIn('killed'), ['sent and never answered'])
  await again.end()
  rmSync(profile, { recursive: true })
})

test('a refused message stays with the words of the server: edit, try again, discard', async () => {
  const here = await visitPage(browser, house.port, { statuses: [400] })
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  await openTopic(page, 'refused')
  let isRefused = true
  await page.route('**/api/v1/messages', (route) => {
    if (!isSend(route.request().method(), route.request().url()) || !isRefused) return route.fallback()
    const body = { result: 'error', code: 'BAD_REQUEST', msg: 'You may not write here' }
    return route.fulfill({ status: 400, contentType: 'application/json', body: JSON.stringify(body) })
  })
  await enter(page, 'first text')
  await page.getByRole('alert').getByText('You may not write here').waitFor()
  await examineAll(page, 'a refused message')
  await page.setViewportSize({ width: 1280, height: 860 })
  await enter(page, 'second text')
  await page.getByText('You may not write here').nth(1).waitFor()
  await onItsWay(page).nth(1).getByRole('button', { name: 'Discard' }).click()
  await onItsWay(page).nth(1).waitFor({ state: 'detached' })
  await box(page).fill('typed meanwhile')
  await page.getByRole('button', { name: 'Edit' }).click()
  await becomes(() => box(page).inputValue(), 'first text\n\ntyped meanwhile')
  await onItsWay(page).waitFor({ state: 'detached' })
  await box(page).press('Control+Enter')
  await page.getByText('You may not write here').waitFor()
  isRefused = false
  await page.getByRole('button', { name: 'Try again' }).click()
  await onItsWay(page).waitFor({ state: 'detached' })
  assert.deepEqual(await house.saidIn('refused'), ['first text\n\ntyped meanwhile'])
  await here.end()
})

test('drafts are the same on two devices, and gone from both once they are sent', async () => {
  const one = await visitPage(browser, house.port)
  const other = await visitPage(browser, house.port)
  for (const { page } of [one, other]) {
    await signIn(page, OWNER, OWNER_PASSWORD, false)
    await openTopic(page, 'two devices')
  }
  await box(one.page).fill('begun at the desk')
  await other.page.waitForFunction(() => document.querySelector('textarea')?.value === 'begun at the desk')
  await box(other.page).fill('begun at the desk, ended on the phone')
  await one.page.waitForFunction(() => document.querySelector('textarea')?.value.endsWith('on the phone'))
  await box(other.page).press('Control+Enter')
  await one.page.waitForFunction(() => document.querySelector('textarea')?.value === '')
  await becomes(async () => {
    const { body } = await ask(house.port, 'GET', '/drafts', { as: house.owner })
    return body.drafts.filter(({ topic }: { topic: string }) => topic === 'two devices').length
  }, 0)
  await becomes(() => house.saidIn('two devices'), ['begun at the desk, ended on the phone'])
  const left = await one.page.evaluate(() => indexedDB.databases())
  assert.deepEqual(left, [], 'a session that is not remembered keeps something')
  await one.end()
  await other.end()
})

test('after sign-out no database is left', async () => {
  const here = await visitPage(browser, house.port)
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await openTopic(here.page, 'left')
  await box(here.page).fill('typed and left')
  const names = () => here.page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name))
  await becomes(names, ['coffer-chat'])
  await here.page.getByLabel('Menu').click()
  await here.page.getByRole('button', { name: 'Sign out' }).click()
  await here.page.getByText('You are signed out').waitFor()
  await becomes(names, [])
  await here.end()
})
