// @test long 60
/** Requests and bytes of a start without anything in the browser, to the inbox of an organization with 100 users. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Request } from 'playwright-core'
import { OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const USERS = 100
const REQUESTS_MAX = 7
const KB_MAX = 120

const { browser, house } = await openHouse(async (house) => {
  const user = (number: number) => ({
    ...{
      email: `user${number}@example.net`,
      full_name: `Person Number ${number}`,
      password: `a password of ${number}`,
    },
  })
  for (let number = 1; number < USERS; number++) await house.post('/users', user(number))
  await house.say('backups', 'one message that is unread')
})

for (const [language, inbox] of [
  ['en', 'Inbox'],
  ['de', 'Posteingang'],
] as const)
  test(`a cold start in ${language} is small, and loads no other language`, async (t) => {
    const first = await visitPage(browser, house.port)
    await signIn(first.page, OWNER, OWNER_PASSWORD)
    if (language !== 'en') {
      await first.page.evaluate(() => {
        location.hash = '#settings/display'
      })
      await first.page.getByLabel('Language').selectOption('Deutsch')
      await first.page.getByRole('heading', { name: 'Anzeige', level: 1 }).waitFor()
    }
    const cookies = await first.context.cookies()
    await first.end()
    const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: language })
    await context.addCookies(cookies)
    const page = await context.newPage()
    const requests: Request[] = []
    page.on('request', (request) => requests.push(request))
    await page.goto(`https://127.0.0.1:${house.port}/`)
    await page.getByRole('heading', { name: inbox, level: 1 }).waitFor()
    // Messages are stored some seconds after the start.
    const isOfStart = (one: Request) => !one.url().includes('num_before=1000')
    const isPoll = (one: Request) => one.url().includes('/api/v1/events')
    const answered = requests.filter((one) => !isPoll(one) && isOfStart(one))
    let bytes = 0
    for (const one of answered) {
      const { responseBodySize, responseHeadersSize } = await one.sizes()
      bytes += responseBodySize + responseHeadersSize
    }
    // One poll waits for events; how many were answered meanwhile depends on the computer.
    const counted = [...answered, ...requests.filter(isPoll).slice(0, 1)]
    const paths = counted.map((one) => new URL(one.url()).pathname)
    t.diagnostic(`${paths.join(' ')}: ${bytes} bytes`)
    assert.ok(paths.length <= REQUESTS_MAX, paths.join('\n'))
    assert.ok(bytes <= KB_MAX * 1000, `${bytes} bytes`)
    assert.equal(paths.filter((path) => path.endsWith('.js')).length, 1)
    await context.close()
  })
