// @test long 120
/** Stored messages are neither shown nor kept after the account has lost the right to read them, or after they were deleted. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { ask, chatPid } from '../support/process.ts'
import { addBen, BEN, BEN_PASSWORD, type Ben } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'
import { cachedCount, until } from './stored.ts'

let ben: Ben
let ownerId = 0
let channelId = 0
const { browser, house } = await openHouse(async (house) => {
  ben = await addBen(house, { isInChannel: false })
  ownerId = (await ask(house.port, 'GET', '/users/me', { as: house.owner })).body.user_id
  await subscribe()
  const { body } = await ask(house.port, 'GET', '/users/me/subscriptions', { as: house.owner })
  channelId = body.subscriptions.find(({ name }: { name: string }) => name === 'private').stream_id
})

const subscribe = () =>
  house.post('/users/me/subscriptions', {
    ...{ subscriptions: [{ name: 'private' }], invite_only: true, principals: [ownerId, ben.id] },
    history_public_to_subscribers: true,
  })
async function unsubscribe(): Promise<void> {
  const query = new URLSearchParams({ subscriptions: '["private"]', principals: `[${ben.id}]` })
  const path = `/users/me/subscriptions?${query}`
  const { status, body } = await ask(house.port, 'DELETE', path, { as: house.owner })
  assert.equal(status, 200, JSON.stringify(body))
}

const addressOf = (topic: string) => `#narrow/channel/${channelId}-private/topic/${topic}`
const article = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })
const sayPrivately = (topic: string, content: string) =>
  house.post('/messages', { type: 'stream', to: channelId, topic, content })
const openTopic = (page: Page, topic: string) =>
  page.evaluate((to) => {
    location.hash = to
  }, addressOf(topic))

const isFill = (url: string) => url.includes('num_before=1000')

/** Ben's browser, which has stored the state and the topics of the private channel. */
async function openDevice(count: number) {
  const profile = mkdtempSync(join(tmpdir(), 'coffer-profile-'))
  const here = await visitPage(browser, house.port, { profile, trusted: true, statuses: [400, 500, 503] })
  await signIn(here.page, BEN, BEN_PASSWORD)
  await here.page.evaluate(() => navigator.serviceWorker.ready)
  await until(async () => (await cachedCount(here.page)) >= count, 'the messages are not stored')
  return { ...here, profile }
}

/** The page starts without an answer of the server, and shows what it has stored. */
async function startOffline(profile: string, topic: string, look: (page: Page) => Promise<void>): Promise<void> {
  const pid = await chatPid(house.coffer)
  process.kill(pid, 'SIGSTOP')
  try {
    const here = await visitPage(browser, house.port, { profile, trusted: true, path: `/${addressOf(topic)}` })
    here.mayBeAway = true
    await here.page.getByText('This is the state of').waitFor()
    await here.page.getByRole('heading', { name: topic, level: 1 }).waitFor()
    await look(here.page)
    await here.end()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
}

test('after a refusal no stored messages are shown, also not those that were shown before the refusal came', async () => {
  await sayPrivately('refused', 'zebra words')
  const { page, profile, end } = await openDevice(2)
  let isHeld = false
  await page.route('**/api/v1/messages?**', async (route) => {
    if (isHeld) await article(page, 'zebra words').waitFor()
    const body = { result: 'error', code: 'BAD_NARROW', msg: 'Invalid narrow operator: unknown channel' }
    return route.fulfill({ status: 400, contentType: 'application/json', body: JSON.stringify(body) })
  })
  await openTopic(page, 'refused')
  await page.getByText('unknown channel').waitFor()
  await sleep(1000) // longer than it takes to read stored messages
  assert.equal(await article(page, 'zebra words').count(), 0)

  isHeld = true
  await page.getByRole('button', { name: 'Try again' }).click()
  await article(page, 'zebra words').waitFor()
  await article(page, 'zebra words').waitFor({ state: 'detached' })
  await end()
  rmSync(profile, { recursive: true })
})

test('messages of a channel are not kept after the account has lost it', async () => {
  await sayPrivately('lost', 'hippo words')
  const { page, profile, end } = await openDevice(3)
  const before = await cachedCount(page)
  await unsubscribe()
  await until(async () => (await cachedCount(page)) < before, 'all messages are still stored')
  await end()
  await startOffline(profile, 'lost', async (offline) => {
    await sleep(1000) // longer than it takes to read stored messages
    assert.equal(await article(offline, 'hippo words').count(), 0)
  })
  rmSync(profile, { recursive: true })
  await subscribe()
})

test('what was stored before is gone at once when the server answers; the first messages are fetched until it succeeds', async () => {
  await sayPrivately('fetched', 'giraffe words')
  const { page, profile, end } = await openDevice(3)
  const before = await cachedCount(page)
  let fills = 0
  const { promise: isEmptied, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/api/v1/messages?**', async (route) => {
    if (!isFill(route.request().url())) return route.fallback()
    fills++
    await isEmptied
    if (fills > 2) return route.fallback()
    return route.fulfill({ status: 503, contentType: 'application/json', body: '{"result":"error","code":"BUSY"}' })
  })
  await page.reload()
  await until(async () => (await cachedCount(page)) <= 1, 'messages of before are still stored')
  release()
  await until(async () => (await cachedCount(page)) === before, 'the messages are not stored again')
  assert.equal(fills, 3)
  await end()
  rmSync(profile, { recursive: true })
})
