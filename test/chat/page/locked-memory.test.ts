// @test long 30
/** A lock removes the contents of the chat from the memory of every tab: the heap of scripts, after a garbage collection. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { visitTopic } from './browser.ts'
import { untilColored } from './colored.ts'
import { openHouse } from './house.ts'
import { cachedCount, until } from './stored.ts'

const WORD = 'okapi' // never named in the page by this test: the browser would have it in the heap
const { browser, house } = await openHouse()

const box = (page: Page) => page.getByRole('textbox', { name: /^Message/ })

async function heapOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page)
  const chunks: string[] = []
  session.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => chunks.push(chunk))
  await session.send('HeapProfiler.collectGarbage')
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  await session.detach()
  return chunks.join('')
}

const isColored = (tab: Page) => (ms: number) =>
  tab
    .waitForFunction(() => CSS.highlights.get('code-keyword')?.size, null, { timeout: ms })
    .then(() => true)
    .catch(() => false)

/** Each with some of what is before it. */
const findIn = (text: string) => [...text.matchAll(new RegExp(`.{0,60}${WORD}.{0,40}`, 'gs'))].map(([found]) => found)

test('after a lock no tab has words of the chat in memory; after the unlock they are shown, and the typed text', async () => {
  await house.say('memory', `${WORD} words of the day\n\`\`\`python\nimport ${WORD}\n\`\`\``)
  const here = await visitTopic(browser, house, 'memory', { statuses: [500] })
  here.mayBeAway = true
  const { page, context } = here
  await page.getByRole('article').waitFor()
  await until(async () => (await cachedCount(page)) >= 2, 'state and messages are not stored')
  const other = await context.newPage()
  await other.goto(page.url())
  await other.getByRole('article').waitFor()
  const tabs = [page, other]
  for (const tab of tabs) await untilColored(isColored(tab), () => tab.reload())
  for (const tab of tabs)
    assert.notDeepEqual(findIn(await heapOf(tab)), [], 'the snapshot does not show what is in memory')
  await box(page).fill('half a sentence')
  await expect(204, house.coffer.call('POST', '/lock', { as: ADMIN }))
  for (const tab of tabs) await tab.getByRole('heading', { name: 'Sealed' }).waitFor()
  for (const [number, tab] of tabs.entries()) assert.deepEqual(findIn(await heapOf(tab)), [], `tab ${number}`)
  await expect(204, house.coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  for (const tab of tabs) assert.match(await tab.getByRole('article').innerText(), new RegExp(WORD))
  await becomes(() => box(page).inputValue(), 'half a sentence')
  await here.end()
})
