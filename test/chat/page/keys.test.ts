// @test long 60
/** The day by keys alone, with the shortcuts of Zulip's web client, and by touch. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { addBen, type Ben } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const ASK_EVERY_MS = 1000

let ben: Ben
const { browser, house } = await openHouse(async (house) => {
  ben = await addBen(house)
})

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
const article = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })
const has = (page: Page, selector: string) =>
  page.waitForFunction((selector) => document.activeElement?.matches(selector), selector)
const flagsOf = async (id: number) =>
  (await ask(house.port, 'GET', `/messages/${id}`, { as: house.owner })).body.message.flags as string[]

async function until(isTrue: () => Promise<boolean>, everyMs = 100): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, everyMs))
}

/** Asks seldom: the page calls with the same account, whose calls in a minute are limited. */
async function untilFlags(id: number, areRight: (flags: readonly string[]) => boolean): Promise<void> {
  while (!areRight(await flagsOf(id))) await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
}

test('a day by keys alone: sign in, read, answer, react, edit, star, find, and every view', async () => {
  const { id } = await house.say('drill', 'Who restores the tar?', ben)
  await house.post('/messages', { type: 'direct', to: [OWNER], content: 'Did it work?' }, ben)
  const here = await visitPage(browser, house.port)
  const { page } = here
  const { keyboard } = page
  const press = async (...keys: string[]) => {
    for (const key of keys) await keyboard.press(key)
  }
  await heading(page, 'Sign in')
  for (let n = 0; !(await page.evaluate(() => document.activeElement?.matches('input'))); n++) {
    assert.ok(n < 10, 'no field is reached')
    await press('Tab')
  }
  await keyboard.type(OWNER)
  await press('Tab')
  await keyboard.type(OWNER_PASSWORD)
  await press('Enter')
  await heading(page, 'Inbox')

  await press('p')
  await heading(page, 'Ben Becker')
  await press('n')
  await heading(page, 'drill')
  await article(page, 'Who restores').waitFor()
  await press('j')
  await has(page, 'article')
  await press('+')
  await page.getByRole('button', { name: /^\+1: / }).waitFor()
  await press('Control+s')
  await untilFlags(id, (flags) => flags.includes('starred'))
  await press('>')
  await has(page, '.compose textarea')
  await keyboard.type('I do.')
  await press('Control+Enter')
  await article(page, 'I do.').and(page.locator('[data-id]')).waitFor() // one on its way to the server has no id
  await press('Escape')
  await has(page, 'article')
  await press('e')
  await has(page, '.edit textarea')
  await press('Control+End')
  await keyboard.type(' Now.')
  await press('Control+Enter')
  await article(page, 'I do. Now.').waitFor()
  await press('Home')
  await has(page, `article[data-id="${id}"]`)
  await press('u')
  await heading(page, 'Ben Becker')
  for (const [key, title, focused = 'h1'] of [
    ['t', 'Recent conversations'],
    ['a', 'All messages'],
    ['d', 'Drafts'],
    ['q', 'Channels', '.find input'],
    ['w', 'People', '.find input'],
    ['Shift+I', 'Inbox'],
    ['x', 'New direct message'],
  ] as const) {
    await press(key)
    await heading(page, title)
    await has(page, focused)
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  }
  await press('/')
  await heading(page, 'Search')
  await has(page, 'input[type=search]')
  await keyboard.type('restores')
  await press('Enter')
  await page.locator('.result').first().waitFor()
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
  await press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await examineAll(page, 'the list of shortcuts')
  await page.setViewportSize({ width: 1280, height: 860 })
  await press('a')
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.match(page.url(), /search/)

  await page.evaluate((to) => {
    location.hash = to
  }, `#narrow/channel/${house.channelId}-ops/topic/drill`)
  await heading(page, 'drill')
  await article(page, 'Who restores').first().waitFor()
  await press('r')
  await has(page, '.compose textarea')
  await keyboard.type('nta/?')
  await becomes(() => page.getByRole('textbox', { name: /^Message/ }).inputValue(), 'nta/?')
  await here.end()
})

async function begin() {
  const here = await visitPage(browser, house.port)
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const goTo = (address: string) =>
    page.evaluate((to) => {
      location.hash = to
    }, address)
  return {
    ...here,
    press,
    goTo,
    openTopic: (topic: string) => goTo(`#narrow/channel/${house.channelId}-ops/topic/${topic}`),
  }
}

test('keys find the way: followed topics, direct messages, names, filters, areas, home', async () => {
  await house.post('/user_topics', { stream_id: house.channelId, topic: 'release', visibility_policy: 3 })
  await house.say('release', 'of a followed topic', ben)
  await house.say('noise', 'of another topic', ben)
  await house.post('/messages', { type: 'direct', to: [OWNER], content: 'a direct word' }, ben)
  const { page, press, end } = await begin()
  await press('Shift+N')
  await heading(page, 'release')
  await press('Shift+P')
  await page.locator('.result', { hasText: 'a direct word' }).waitFor()
  assert.match(page.url(), /#narrow\/is\/dm$/)
  await press('j')
  await has(page, '.result:first-child > a')
  await press('q')
  await heading(page, 'Channels')
  await has(page, '.find input')
  await press('F6')
  await has(page, '.side nav a')
  await press('Shift+F6')
  await has(page, 'h1')
  await press('w')
  await heading(page, 'People')
  await has(page, '.find input')
  await page.keyboard.type('wqna?')
  await becomes(() => page.getByLabel('Find people').inputValue(), 'wqna?')
  await press('Control+k')
  const switcher = page.getByRole('dialog', { name: 'Go to' })
  await switcher.getByRole('option', { name: 'release' }).waitFor()
  await examineAll(page, 'the list of places')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.keyboard.type('bec')
  await switcher.getByRole('option').first().getByText('Ben Becker').waitFor()
  await press('Control+a')
  await page.keyboard.type('no')
  await press('ArrowDown', 'ArrowUp', 'Enter')
  await heading(page, 'noise')
  await article(page, 'of another topic').waitFor()
  await press('F6')
  await has(page, '.compose textarea')
  await press('Control+[')
  await has(page, 'article')
  await press('c')
  await heading(page, '#ops')
  await has(page, '.compose .field input')
  await page.keyboard.type('plans')
  await press('Tab')
  await page.keyboard.type('first of the *plans*')
  await press('Alt+p')
  await page.getByRole('region', { name: 'Preview' }).getByText('first of the plans').waitFor()
  await press('Control+.')
  await heading(page, 'plans')
  await has(page, '.compose textarea')
  const box = page.getByRole('textbox', { name: /^Message/ })
  await becomes(() => box.inputValue(), 'first of the *plans*')
  await page.keyboard.type('?')
  await becomes(() => box.inputValue(), 'first of the *plans*?')
  await box.fill('')
  await press('Shift+F6')
  await has(page, 'h1')
  await press('Escape')
  await heading(page, 'Inbox')
  await press('c')
  await switcher.waitFor()
  await press('Escape')
  await switcher.waitFor({ state: 'detached' })
  await end()
})

test('keys act on the message with the focus', async () => {
  const first = await house.say('acts', 'first of the acts\n\n'.repeat(80), ben)
  const { id } = await house.say('acts', 'second of the acts', ben)
  await house.post(`/messages/${id}/reactions`, { emoji_name: 'tada' }, ben)
  await ask(house.port, 'PATCH', '/realm', { as: house.owner, form: { enable_read_receipts: 'true' } })
  const { page, press, openTopic, end } = await begin()
  await openTopic('acts')
  await heading(page, 'acts')
  const own = article(page, 'second of the acts')
  await own.waitFor()
  await press('Home')
  await has(page, `article[data-id="${first.id}"]`)
  await press('j')
  await has(page, `article[data-id="${id}"]`)
  await press('k')
  await has(page, `article[data-id="${first.id}"]`)
  await press('Shift+G')
  await has(page, `article[data-id="${id}"]`)
  const scrolled = () => page.locator('.scroll-area').evaluate((box) => box.scrollTop)
  const left = () => page.locator('.scroll-area').evaluate((box) => box.scrollHeight - box.clientHeight - box.scrollTop)
  await until(async () => (await left()) < 1)
  const bottom = await scrolled()
  await press('Shift+K')
  await until(async () => (await scrolled()) < bottom - 300)
  await press('Shift+J')
  await until(async () => (await scrolled()) > bottom - 50)

  await press('=')
  await page.getByRole('button', { name: 'tada: Ben Becker, Olivia Owner' }).waitFor()
  await press('=')
  await page.getByRole('button', { name: 'tada: Ben Becker', exact: true }).waitFor()
  await press('-')
  await page.getByText('Collapsed.').waitFor()
  await untilFlags(id, (flags) => flags.includes('collapsed'))
  await press('-')
  await own.waitFor()
  await press('Shift+U')
  await untilFlags(id, (flags) => !flags.includes('read'))
  await press('Shift+V')
  await page.getByRole('dialog', { name: 'Read by' }).waitFor()
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await has(page, `article[data-id="${id}"]`)
  await press('Shift+H') // there is no history yet
  await has(page, `article[data-id="${id}"]`)
  await press('i')
  await page.getByRole('button', { name: 'Copy the link' }).waitFor()
  await press('Escape')
  await page.getByRole('button', { name: 'Copy the link' }).waitFor({ state: 'detached' })
  await has(page, `article[data-id="${id}"]`)
  await press('Shift+M')
  await page.getByRole('button', { name: 'Follow' }).waitFor()
  await press('Escape')
  await page.getByRole('button', { name: 'Follow' }).waitFor({ state: 'detached' })
  await own.focus()
  // A keyboard without a key for the sign: AltGr is Control and Alt to the browser.
  await own.evaluate((element) =>
    element.dispatchEvent(
      new KeyboardEvent('keydown', {
        ...{ key: '@', ctrlKey: true, altKey: true, modifierAltGraph: true, bubbles: true, cancelable: true },
      }),
    ),
  )
  await has(page, '.compose textarea')
  await becomes(() => page.getByRole('textbox', { name: /^Message/ }).inputValue(), `@**Ben Becker|${ben.id}** `)
  await press('Escape')
  await has(page, `article[data-id="${id}"]`)
  await press('m')
  const move = page.getByRole('dialog', { name: 'Move' })
  await move.getByLabel('Topic').fill('moved')
  await examineAll(page, 'the dialog of a move')
  await page.setViewportSize({ width: 1280, height: 860 })
  await move.getByRole('button', { name: 'Move' }).click()
  await heading(page, 'moved')
  assert.equal((await house.saidIn('acts')).length, 1)
  await press('a')
  await heading(page, 'All messages')
  await own.focus()
  await press('z')
  await heading(page, 'moved')
  assert.match(page.url(), new RegExp(`/near/${id}$`))
  await own.focus()
  await press('s')
  await heading(page, '#ops')
  await press('a')
  await heading(page, 'All messages')
  await own.focus()
  await press('s')
  await heading(page, 'moved')
  const form = { content: 'second of the acts, edited' }
  await ask(house.port, 'PATCH', `/messages/${id}`, { as: ben, form })
  await own.getByText('(edited)').waitFor()
  await own.focus()
  await press('Shift+H')
  await page.getByRole('dialog', { name: 'Edit history' }).waitFor()
  await press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await press('Shift+R')
  await heading(page, 'Ben Becker')
  await has(page, '.compose textarea')
  await end()
})

test('a key opens the picture of a message', async () => {
  const { page, context, press, openTopic, origin, end } = await begin()
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
  const { email, key } = house.owner
  const answer = await page.request.post(`${origin}/api/v1/user_uploads`, {
    headers: { authorization: `Basic ${Buffer.from(`${email}:${key}`).toString('base64')}` },
    multipart: { file: { name: 'pixel.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') } },
  })
  const { url } = await answer.json()
  await house.say('picture', `[pixel.png](${url})`)
  await openTopic('picture')
  await page.getByRole('article').getByRole('img').waitFor()
  await press('j')
  await has(page, 'article')
  const [opened] = await Promise.all([context.waitForEvent('page'), press('v')])
  await opened.waitForURL(`${origin}${url}`)
  await end()
})

test('a key acts as soon as a view is there', async () => {
  const { page, end } = await begin()
  await page.addInitScript(() => {
    const observer = new MutationObserver(() => {
      if (document.querySelector('main h1')?.textContent !== 'Inbox') return
      observer.disconnect()
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 't', bubbles: true, cancelable: true }))
    })
    observer.observe(document, { childList: true, subtree: true })
  })
  await page.reload()
  await heading(page, 'Recent conversations')
  await end()
})

test('the same by touch at 360 by 740: read, answer, react, and back', async () => {
  await house.say('phone', 'Are you on the way?', ben)
  const here = await visitPage(browser, house.port, { width: 360, height: 740, touch: true })
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  await page.getByRole('main').getByRole('link', { name: /phone/ }).first().tap()
  await heading(page, 'phone')
  await article(page, 'Are you on the way?').tap()
  await page.getByRole('button', { name: 'Add a reaction' }).tap()
  await page.getByLabel('Find an emoji').fill('tada')
  await page.getByRole('button', { name: 'tada', exact: true }).tap()
  await page.getByRole('button', { name: /^tada: / }).waitFor()
  const box = page.getByRole('textbox', { name: /^Message/ })
  await box.tap()
  await box.fill('In ten minutes.')
  const send = page.getByRole('button', { name: 'Send' })
  const size = await send.boundingBox()
  assert.ok(size !== null && size.height >= 40, `the button is ${size?.height} px high`)
  await send.tap()
  await article(page, 'In ten minutes.').waitFor()
  assert.equal(
    await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
    0,
  )
  await page.getByRole('link', { name: 'Back to the inbox' }).tap()
  await heading(page, 'Inbox')
  await here.end()
})

test('a key that is held down acts once: it sends no draft, and no reaction again', async () => {
  const { id } = await house.say('held', 'a message to answer', ben)
  await house.post(`/messages/${id}/reactions`, { emoji_name: 'tada' }, ben)
  const { page, press, goTo, openTopic, requests, end } = await begin()
  const { keyboard } = page
  const sent = () => requests.filter((one) => one === 'POST /api/v1/messages')
  let collapses = 0
  page.on('request', (request) => {
    if (request.postData()?.includes('flag=collapsed')) collapses++
  })
  const settings = { as: house.owner, form: { enter_sends: 'true' } }
  assert.equal((await ask(house.port, 'PATCH', '/settings', settings)).status, 200)
  await openTopic('held')
  await article(page, 'a message to answer').waitFor()
  const box = page.getByRole('textbox', { name: /^Message/ })
  await box.fill('unfinished')
  await page.getByText('Enter sends').first().waitFor()
  await article(page, 'a message to answer').focus()
  await keyboard.down('Enter')
  await has(page, '.compose textarea')
  await keyboard.down('Enter')
  await keyboard.up('Enter')
  assert.equal(await box.inputValue(), 'unfinished')
  assert.deepEqual(sent(), [])

  await article(page, 'a message to answer').focus()
  await keyboard.down('=')
  await page.getByRole('button', { name: 'tada: Ben Becker, Olivia Owner' }).waitFor()
  await keyboard.down('=')
  await keyboard.up('=')
  await keyboard.down('-')
  await page.getByText('Collapsed.').waitFor()
  await keyboard.down('-')
  await keyboard.up('-')
  assert.equal(requests.filter((one) => one.endsWith('/reactions')).length, 1)
  await becomes(() => collapses, 1)
  await press('-')
  await article(page, 'a message to answer').waitFor()
  await becomes(() => collapses, 2)

  await page.getByRole('heading', { name: 'held', level: 1 }).focus()
  await keyboard.down('Enter')
  await has(page, '.compose textarea')
  await keyboard.down('Enter')
  await keyboard.up('Enter')
  assert.equal(await box.inputValue(), 'unfinished')
  assert.deepEqual(sent(), [])

  await goTo(`#narrow/channel/${house.channelId}-ops`)
  await heading(page, '#ops')
  await box.fill('unfinished too')
  await page.getByRole('heading', { name: '#ops', level: 1 }).focus()
  await keyboard.down('Enter')
  await has(page, '.compose .field input')
  await keyboard.down('Enter')
  await keyboard.up('Enter')
  assert.equal(await box.inputValue(), 'unfinished too')
  assert.deepEqual(sent(), [])
  await end()
})

test('what one types while a dialog loads reaches no other field; a failure and a sign-out close the dialog', async () => {
  await house.say('late', 'a message of the topic', ben)
  const here = await begin()
  const { page, press, goTo, openTopic, end } = here
  await openTopic('late')
  await article(page, 'a message of the topic').waitFor()
  const box = page.getByRole('textbox', { name: /^Message/ })
  await box.fill('unfinished')
  const { promise: held, resolve: fulfill } = Promise.withResolvers<void>()
  let isFailing = true
  here.allowed.add(503) // in place of the script
  await page.route('**/*.js', async (route) => {
    if (isFailing) return route.fulfill({ status: 503 })
    await held
    await route.continue()
  })
  await press('Control+k')
  await page.getByRole('alert').filter({ hasText: 'A part of this page is missing' }).waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  isFailing = false
  await box.focus()
  await press('Control+k')
  const switcher = page.getByRole('dialog', { name: 'Go to' })
  await switcher.waitFor()
  await page.keyboard.type('lost')
  await press('Control+Enter')
  assert.equal(await box.inputValue(), 'unfinished')
  fulfill()
  await switcher.getByRole('option').first().waitFor()
  await has(page, 'dialog input')
  assert.equal(await box.inputValue(), 'unfinished')
  assert.deepEqual(await house.saidIn('late'), ['a message of the topic'])

  await goTo('#inbox')
  await here.context.clearCookies()
  await house.say('late', 'ends the wait for events', ben)
  await signIn(page, OWNER, OWNER_PASSWORD)
  assert.equal(await page.getByRole('dialog').count(), 0)
  await end()
})

test('from a link to a message, a key opens the conversation with the box; other keys stay the browser’s own', async () => {
  const { id } = await house.say('linked', 'first of the linked', ben)
  const second = await house.say('linked', 'second of the linked', ben)
  const { page, press, goTo, end } = await begin()
  const place = `#narrow/channel/${house.channelId}-ops/topic/linked`
  await goTo(`${place}/near/${id}`)
  await article(page, 'second of the linked').waitFor()
  const marked = page.locator(`.marked[data-id="${id}"]`)
  await marked.waitFor()
  const box = page.getByRole('textbox', { name: /^Message/ })
  await box.fill('ta')
  await press('Control+.')
  await page.waitForFunction((end) => location.hash.endsWith(end), '/topic/linked')
  await marked.waitFor({ state: 'detached' })
  await has(page, '.compose textarea')
  await article(page, 'second of the linked').waitFor()
  await page.keyboard.type('q')
  await becomes(() => box.inputValue(), 'taq')
  await box.fill('')

  const isTaken = (selector: string, init: { key: string; ctrlKey?: boolean; metaKey?: boolean }) =>
    page.evaluate(
      ({ selector, init }) =>
        !document
          .querySelector(selector)
          ?.dispatchEvent(new KeyboardEvent('keydown', { ...init, bubbles: true, cancelable: true })),
      { selector, init },
    )
  await press('Escape')
  await has(page, 'article')
  await press('End')
  await has(page, `article[data-id="${second.id}"]`)
  assert.equal(await isTaken('article:focus', { key: 'ArrowDown' }), false)
  assert.equal(await isTaken('article:focus', { key: 'ArrowUp' }), true)
  await has(page, `article[data-id="${id}"]`)
  assert.equal(await isTaken('article:focus', { key: 'ArrowUp' }), false)
  assert.equal(await isTaken('article:focus', { key: '[', metaKey: true }), false)
  await goTo('#about')
  await page.getByRole('heading', { level: 1 }).filter({ hasText: 'Example' }).waitFor()
  assert.equal(await isTaken('h1', { key: 'ArrowDown' }), false)
  assert.equal(await isTaken('h1', { key: '[', ctrlKey: true }), true)
  await heading(page, 'Inbox')
  await end()
})

test('a quote that arrives late does not move the focus into the box of another conversation', async () => {
  const { id } = await house.say('quoted', 'a message to quote', ben)
  await house.say('elsewhere', 'a message of another topic', ben)
  const { page, press, openTopic, end } = await begin()
  await openTopic('quoted')
  await article(page, 'a message to quote').focus()
  const { promise: held, resolve: fulfill } = Promise.withResolvers<void>()
  await page.route(`**/api/v1/messages/${id}?*`, async (route) => {
    await held
    await route.continue()
  })
  await press('>')
  await openTopic('elsewhere')
  await heading(page, 'elsewhere')
  await article(page, 'a message of another topic').focus()
  fulfill()
  await until(async () => {
    const { body } = await ask(house.port, 'GET', '/drafts', { as: house.owner })
    return body.drafts?.some(({ topic }: { topic: string }) => topic === 'quoted') // saved seconds after the quote
  }, ASK_EVERY_MS)
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'ARTICLE')
  await openTopic('quoted')
  await heading(page, 'quoted')
  const box = page.getByRole('textbox', { name: /^Message/ })
  await until(async () => (await box.inputValue()).includes('a message to quote'))
  await end()
})
