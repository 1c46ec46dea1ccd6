// @test long 60
/** Files of messages on the page: how they come into the text, uploads that are canceled or refused, and large pictures. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { visitTopic } from './browser.ts'
import { openHouse } from './house.ts'

const { browser, house } = await openHouse()

const box = (page: Page) => page.getByRole('textbox', { name: /^Message/ })

const open = (topic: string, window: Parameters<typeof visitTopic>[3] = {}) => visitTopic(browser, house, topic, window)

test('files come by picker, paste and drop, and their links are sent with the message', async () => {
  const here = await open('files')
  const { page } = here
  await page.locator('input[type=file]').setInputFiles([
    { name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('the plan') },
    { name: 'b [x].txt', mimeType: 'text/plain', buffer: Buffer.from('b') },
  ])
  const bring = (kind: 'paste' | 'drop', name: string) =>
    box(page).evaluate(
      (field, [kind, name]) => {
        const transfer = new DataTransfer()
        transfer.items.add(new File(['brought'], name!, { type: 'text/plain' }))
        const event = new Event(kind!, { bubbles: true, cancelable: true })
        Object.defineProperty(event, kind === 'paste' ? 'clipboardData' : 'dataTransfer', { value: transfer })
        field.dispatchEvent(event)
      },
      [kind, name] as [string, string],
    )
  await bring('paste', 'pasted.txt')
  await bring('drop', 'dropped.txt')
  for (const name of ['plan.txt', 'b [x].txt', 'pasted.txt', 'dropped.txt'])
    await page.getByRole('list', { name: 'Files' }).getByText(name).waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
  await examineAll(page, 'files')
  await page.setViewportSize({ width: 1280, height: 860 })
  await box(page).press('Control+Enter')
  await page.getByRole('link', { name: 'dropped.txt' }).waitFor()
  await becomes(async () => (await house.saidIn('files')).length, 1)
  const [content] = await house.saidIn('files')
  for (const name of ['plan.txt', 'b _x_.txt', 'pasted.txt', 'dropped.txt'])
    assert.ok(content!.includes(`[${name}](/user_uploads/`), content)
  const plan = await page.getByRole('link', { name: 'plan.txt' }).getAttribute('href')
  assert.equal(await page.evaluate(async (path) => (await fetch(path)).text(), plan!), 'the plan')
  await here.end()
})

test('a canceled upload leaves nothing in the text, and a refused one says why', async () => {
  const here = await open('canceled', { statuses: [400] })
  here.mayBeAway = true
  const { page } = here
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  await page.route('**/api/v1/user_uploads', async (route) => {
    await held
    await route.abort().catch(() => {})
  })
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
  await page.getByRole('progressbar', { name: 'Uploading a.txt' }).waitFor()
  await box(page).fill('not sent while a file is on its way')
  await box(page).press('Control+Enter')
  await page.getByRole('button', { name: 'Uploading…' }).waitFor()
  await page.getByRole('button', { name: 'Remove a.txt' }).click()
  await page.getByRole('list', { name: 'Files' }).waitFor({ state: 'detached' })
  release()
  await becomes(() => box(page).inputValue(), 'not sent while a file is on its way')
  await page.unroute('**/api/v1/user_uploads')
  await page.route('**/api/v1/user_uploads', (route) =>
    route.fulfill({ status: 400, json: { result: 'error', code: 'BAD_REQUEST', msg: 'There is no room' } }),
  )
  await page
    .locator('input[type=file]')
    .setInputFiles({ name: 'b.txt', mimeType: 'text/plain', buffer: Buffer.from('b') })
  await page.getByText('There is no room').waitFor()
  assert.deepEqual(await house.saidIn('canceled'), [])
  await here.end()
})

test('a large picture is sent smaller, without what its camera noted; the original on demand', async () => {
  const here = await open('pictures')
  const { page } = here
  // A JPEG of 4,000 by 3,000 pixels with an Exif segment that names a place.
  const bytes = await page.evaluate(async () => {
    const canvas = new OffscreenCanvas(4000, 3000)
    const context = canvas.getContext('2d')!
    context.fillStyle = '#0b6b5d'
    context.fillRect(0, 0, 4000, 3000)
    const plain = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/jpeg' })).arrayBuffer())
    const note = new TextEncoder().encode('Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0 GPS 52.52N 13.40E')
    const length = note.length + 2
    return [...plain.subarray(0, 2), 0xff, 0xe1, length >> 8, length & 255, ...note, ...plain.subarray(2)]
  })
  const original = Buffer.from(bytes)
  assert.ok(original.includes('52.52N'))
  await page.locator('input[type=file]').setInputFiles({ name: 'roof.jpg', mimeType: 'image/jpeg', buffer: original })
  await page.getByRole('button', { name: /^Send the original/ }).waitFor()
  const sent = async () => {
    const path = /\((\/user_uploads\/[^)]*)\)/.exec(await box(page).inputValue())![1]!
    return page.evaluate(async (path) => {
      const blob = await (await fetch(path)).blob()
      const { width, height } = await createImageBitmap(blob)
      return { width, height, bytes: [...new Uint8Array(await blob.arrayBuffer())] }
    }, path)
  }
  const small = await sent()
  assert.deepEqual([small.width, small.height], [2560, 1920])
  assert.ok(!Buffer.from(small.bytes).includes('52.52N'), 'the place is in the picture')
  await page.getByRole('button', { name: /^Send the original/ }).click()
  await page.getByRole('button', { name: /^Send the original/ }).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
  const whole = await sent()
  assert.deepEqual([whole.width, whole.height], [4000, 3000])
  assert.ok(Buffer.from(whole.bytes).equals(original))
  assert.equal((await box(page).inputValue()).split('/user_uploads/').length, 2, 'both are in the text')
  await here.end()
})
