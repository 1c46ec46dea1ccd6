// @test long 240
/** Every view: axe-core, light and dark, narrow and wide, in both directions of writing; no view scrolls sideways. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { examine } from '../../console/examine.ts'
import { OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { furnishViews, go, overflow, VIEW_HEIGHT, viewsOf } from './every-view.ts'
import { openHouse } from './house.ts'

const WIDTHS = [360, 1280]
const OVERFLOW_WIDTHS = [320, 640] // a small phone; 1280 pixels at 200 %

let benId: number
const { browser, house } = await openHouse(async (house) => {
  benId = await furnishViews(house)
})

async function turn(page: Page, dir: 'ltr' | 'rtl'): Promise<void> {
  await page.evaluate((dir) => {
    document.documentElement.dir = dir
  }, dir)
}

const faults: string[] = []

/** All findings are told at once. */
async function note(work: Promise<void>): Promise<void> {
  await work.catch((error: Error) => faults.push(error.message))
}

async function look(page: Page, view: string): Promise<void> {
  for (const dir of ['ltr', 'rtl'] as const) {
    await turn(page, dir)
    for (const width of WIDTHS)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: VIEW_HEIGHT })
        await note(examine(page, `${view}, ${dir}, ${colorScheme}, ${width} wide`))
      }
    for (const width of OVERFLOW_WIDTHS) {
      await page.setViewportSize({ width, height: VIEW_HEIGHT })
      const over = await overflow(page)
      if (over !== 0) faults.push(`${view}, ${dir}, scrolls sideways by ${over} px at ${width} px`)
    }
  }
  await turn(page, 'ltr')
}

test('axe-core finds nothing in any view, and none scrolls sideways', async () => {
  const here = await visitPage(browser, house.port)
  await look(here.page, 'sign-in')
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  for (const view of viewsOf(house, benId)) {
    await go(here.page, view)
    await look(here.page, view)
  }
  assert.deepEqual(faults, [])
  await here.end()
})
