// @test long 90
/** Reading marks messages as read, and two browsers and the server agree on what is unread. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { createRealmView, isMuted } from '../../../firmware/chat-page/model/realm.ts'
import { becomes, WAIT_MS_MAX } from '../../console/browser.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { addBen, type Ben } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const STEPS = 50 // an account makes 200 calls a minute, those of its two browsers among them
const SEED = Number(process.env.COFFER_SEED ?? 46)
const TOPICS = ['one', 'two', 'three', 'four']

let ben: Ben
let ownId: number
const { browser, house } = await openHouse(async (house) => {
  ben = await addBen(house)
  ownId = (await ask(house.port, 'GET', '/users/me', { as: house.owner })).body.user_id
})

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
const go = (page: Page, place: string) =>
  page.evaluate((to) => {
    location.hash = to
  }, place)
const topicAddress = (topic: string) => `#narrow/channel/${house.channelId}-ops/topic/${topic}`

async function registered() {
  const form = { client_capabilities: '{"notification_settings_null":true,"empty_topic_name":true}' }
  return createRealmView((await ask(house.port, 'POST', '/register', { as: house.owner, form })).body)
}

/** Ids of unread messages of a topic, as a new client is told them. */
async function unreadIn(topic: string): Promise<number[]> {
  const groups = (await registered()).unread.groups()
  return groups.flatMap(({ conversation: one, ids }) => (one.kind === 'topic' && one.topic === topic ? ids : []))
}

test('only what was in sight in a focused tab is marked as read, not what is opened or jumped over', async () => {
  const ids: number[] = []
  for (let n = 0; n < 60; n++) ids.push((await house.say('reading', `line ${n}\n\nmore of it`, ben)).id)
  const here = await visitPage(browser, house.port)
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  // Playwright lets every tab believe that it is focused.
  await page.evaluate(() => Object.defineProperty(document, 'hasFocus', { value: () => false, configurable: true }))
  await go(page, topicAddress('reading'))
  await heading(page, 'reading')
  await page.getByText('line 3', { exact: true }).waitFor()
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 1500)))
  assert.deepEqual(await unreadIn('reading'), ids)

  await page.evaluate(() => Reflect.deleteProperty(document, 'hasFocus'))
  await page.waitForFunction(() => document.querySelectorAll('.message.unread').length < 60)
  await page.waitForFunction(
    () => {
      const box = document.querySelector('.scroll-area')?.getBoundingClientRect()
      return (
        box !== undefined &&
        [...document.querySelectorAll('.message.unread')].every((one) => {
          const { bottom } = one.getBoundingClientRect()
          return bottom <= box.top || bottom > box.bottom
        })
      )
    },
    undefined,
    { polling: 200 },
  )
  await becomes(async () => (await unreadIn('reading')).length < ids.length, true)
  const left = await unreadIn('reading')
  const read = ids.filter((id) => !left.includes(id))
  assert.ok(read.length < 40, `${read.length} were read`)
  await here.end()
})

type Step = { act: 'send' | 'direct' | 'read' | 'unread' | 'delete' | 'move' | 'mute' | 'open' | 'away'; by: number }

test('two browsers and the server agree on unread counts after a random script', async () => {
  const acts = ['send', 'send', 'send', 'direct', 'read', 'unread', 'delete', 'move', 'mute', 'open', 'away'] as const
  const step = fc.record({ act: fc.constantFrom(...acts), by: fc.nat(1000) })
  const script: Step[] = fc.sample(step, { numRuns: STEPS, seed: SEED })
  const windows = [await visitPage(browser, house.port), await visitPage(browser, house.port)]
  for (const { page } of windows) await signIn(page, OWNER, OWNER_PASSWORD)
  const ids: number[] = []
  const flags = (op: string, all: number[]) => house.post('/messages/flags', { op, flag: 'read', messages: all })
  for (const { act, by } of script) {
    const topic = TOPICS[by % TOPICS.length] ?? 'one'
    const some = ids.filter((_, at) => (at + by) % 3 === 0)
    const id = ids[by % Math.max(1, ids.length)]
    const { page } = windows[by % windows.length] ?? assert.fail()
    if (act === 'send') ids.push((await house.say(topic, `text ${by}`, ben)).id)
    else if (act === 'direct')
      ids.push((await house.post('/messages', { type: 'direct', to: [ownId], content: `direct ${by}` }, ben)).id)
    else if (act === 'mute')
      await house.post('/user_topics', { stream_id: house.channelId, topic, visibility_policy: by % 2 })
    else if (act === 'open') await go(page, topicAddress(topic))
    else if (act === 'away') await go(page, '#inbox')
    else if (id === undefined) continue
    else if (act === 'read') await flags('add', some)
    else if (act === 'unread') await flags('remove', some)
    else if (act === 'delete') {
      const { status } = await ask(house.port, 'DELETE', `/messages/${id}`, { as: house.owner })
      assert.equal(status, 200)
      ids.splice(ids.indexOf(id), 1)
    } else {
      const form = { topic, propagate_mode: 'change_one', send_notification_to_new_thread: 'false' }
      await ask(house.port, 'PATCH', `/messages/${id}`, { as: house.owner, form }) // 400 for a direct message
    }
  }
  for (const { page } of windows) {
    await go(page, '#inbox')
    await heading(page, 'Inbox')
  }
  const expected = async () => {
    const realm = await registered()
    return realm.unread
      .groups()
      .filter(({ conversation }) => !isMuted(realm, conversation))
      .map(({ conversation: one, ids }) => `${one.kind === 'topic' ? one.topic : 'direct'} ${ids.length}`)
      .sort()
  }
  const shown = (page: Page) =>
    page.evaluate((topics) => {
      const rows = [...document.querySelectorAll('main .group:not(.narrow-only *) .rows .row-link')]
      return rows
        .map((row) => {
          const name = row.querySelector('span')?.textContent ?? ''
          const count = row.querySelector('.count [aria-hidden]')?.textContent
          return `${[...topics, 'reading'].includes(name) ? name : 'direct'} ${count}`
        })
        .sort()
    }, TOPICS)
  for (const { page } of windows)
    for (let tries = 0; ; tries++) {
      const [now, wanted] = [await shown(page), await expected()]
      if (JSON.stringify(now) === JSON.stringify(wanted)) break
      if (tries === WAIT_MS_MAX / 1000) assert.deepEqual(now, wanted)
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 1000)))
    }
  for (const one of windows) await one.end()
})
