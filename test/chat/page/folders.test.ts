// @test long 40
/** Channels by folder in the side bar and the inbox: what the server has and what its events say. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const NAMES = ['anchors', 'boats', 'drills', 'tides']
const ids = new Map<string, number>()
const folders = new Map<string, number>()
const { browser, house } = await openHouse(async (house) => {
  await house.post('/users/me/subscriptions', { subscriptions: NAMES.map((name) => ({ name })) })
  const { subscriptions } = (await ask(house.port, 'GET', '/users/me/subscriptions', { as: house.owner })).body
  for (const { name, stream_id: id } of subscriptions) ids.set(name, id)
  for (const name of ['Sea', 'Land']) {
    const { channel_folder_id: id } = await house.post('/channel_folders/create', { name, description: '' })
    folders.set(name, id)
  }
})

const change = async (method: string, path: string, form: Record<string, string>) => {
  const { status, body } = await ask(house.port, method, path, { as: house.owner, form })
  assert.equal(status, 200, JSON.stringify(body))
}
const moveTo = (channel: string, folder: string | null) =>
  change('PATCH', `/streams/${ids.get(channel)}`, { folder_id: String(folder === null ? null : folders.get(folder)) })

/** Headings and channels of a list, in order. */
const shown = (page: Page, where: 'nav' | 'main') =>
  page.evaluate(
    (where) =>
      [...document.querySelectorAll(`${where} h3, ${where} a[href*="narrow/channel/"]`)]
        .map((one) => (one.tagName === 'H3' ? `[${one.textContent}]` : (one.textContent ?? '').trim()))
        .filter((text) => text !== 'welcome'),
    where,
  )

const until = (page: Page, where: 'nav' | 'main', wanted: string[]) => becomes(() => shown(page, where), wanted)

test('channels lie under the names of their folders, in the order of the folders, and move with events', async () => {
  await moveTo('boats', 'Sea')
  await moveTo('tides', 'Sea')
  await moveTo('drills', 'Land')
  const here = await visitPage(browser, house.port)
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  await until(page, 'nav', ['[Sea]', 'boats', 'tides', '[Land]', 'drills', '[Other channels]', 'anchors', 'ops'])
  await examineAll(page, 'folders')
  await until(page, 'main', ['[Sea]', 'boats', 'tides', '[Land]', 'drills', '[Other channels]', 'anchors', 'ops'])
  await page.setViewportSize({ width: 1280, height: 860 })

  const all = (await ask(house.port, 'GET', '/channel_folders', { as: house.owner })).body.channel_folders
  assert.equal(all.length, 2)
  await change('PATCH', '/channel_folders', { order: JSON.stringify([folders.get('Land'), folders.get('Sea')]) })
  await change('PATCH', `/channel_folders/${folders.get('Land')}`, { name: 'Shore' })
  await until(page, 'nav', ['[Shore]', 'drills', '[Sea]', 'boats', 'tides', '[Other channels]', 'anchors', 'ops'])
  await page.reload()
  await until(page, 'nav', ['[Shore]', 'drills', '[Sea]', 'boats', 'tides', '[Other channels]', 'anchors', 'ops'])

  await change('POST', '/users/me/subscriptions/properties', {
    subscription_data: JSON.stringify([{ stream_id: ids.get('tides'), property: 'pin_to_top', value: true }]),
  })
  await moveTo('drills', null)
  await until(page, 'nav', ['tides', '[Sea]', 'boats', '[Other channels]', 'anchors', 'drills', 'ops'])

  await page.evaluate(
    (to) => {
      location.hash = to
    },
    `#channels/${ids.get('anchors')}`,
  )
  await page.getByLabel('Folder', { exact: true }).selectOption('Shore')
  await until(page, 'nav', ['tides', '[Shore]', 'anchors', '[Sea]', 'boats', '[Other channels]', 'drills', 'ops'])

  await page.evaluate(() => {
    location.hash = '#settings/display'
  })
  await page.getByLabel('Show folders of channels in the sidebar').uncheck()
  await until(page, 'nav', ['tides', 'anchors', 'boats', 'drills', 'ops'])
  await here.end()
})
