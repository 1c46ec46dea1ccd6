// @test long 30
/** A cold start to the inbox of an organization with 100 users: requests, and bytes on the wire. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const USERS = 100
const REQUESTS_MAX = 7
const BYTES_MAX = 120_000

const { browser, house } = await openHouse(async (house) => {
  for (let number = 1; number < USERS; number++) {
    const email = `person${number}@example.org`
    await house.post('/users', { email, full_name: `Person Number ${number}`, password: `words of person ${number}` })
  }
})

test('the inbox of 100 users needs 7 requests and 120 KB', async () => {
  await house.say('start', 'the first words')
  const before = await visitPage(browser, house.port)
  await signIn(before.page, OWNER, OWNER_PASSWORD)
  const cookies = await before.context.cookies()
  await before.end()

  const here = await visitPage(browser, house.port)
  await here.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await here.context.addCookies(cookies)
  const { page } = here
  const session = await here.context.newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.clearBrowserCache')
  const bytes = new Map<string, number>()
  const sizes = new Map<string, number>()
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (request.url.startsWith(here.origin)) bytes.set(requestId, 0)
    sizes.set(`${request.method} ${request.url.replace(here.origin, '')}`, 0)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (bytes.has(requestId)) bytes.set(requestId, encodedDataLength)
  })
  await page.reload()
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
  await page.getByRole('main').getByRole('link', { name: /start/ }).waitFor()
  const total = [...bytes.values()].reduce((sum, one) => sum + one, 0)
  assert.ok(bytes.size <= REQUESTS_MAX, `${bytes.size} requests: ${[...sizes.keys()].join(', ')}`)
  assert.ok(total <= BYTES_MAX, `${total} bytes`)
  await here.end()
})
