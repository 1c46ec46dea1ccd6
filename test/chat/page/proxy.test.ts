// @test long 30
/** A reverse proxy that answers at once that it cannot reach the chat: the page does as without an answer. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'
import { cachedCount, until } from './stored.ts'

const { browser, house } = await openHouse()

interface Instead {
  /** All requests by default. */
  below?: string
  status: number
  type: string
  body: string
}

/** The proxy's own answer; null while it reaches the chat. */
let instead: Instead | null = null
const htmlOf = (status: number): Instead => ({ status, type: 'text/html', body: '<h1>The gateway answers</h1>' })
const agent = new Agent({ rejectUnauthorized: false, keepAlive: true })
const identity = await makeTlsIdentity(systemRandom, undefined, ['127.0.0.1'])
const proxy = createServer({ key: Buffer.from(identity.key), cert: identity.cert }, (asked, answer) => {
  if (instead !== null && asked.url?.startsWith(instead.below ?? '/')) {
    answer.writeHead(instead.status, { 'content-type': instead.type }).end(instead.body)
    return
  }
  const { method, url, headers } = asked
  const passed = request({ host: '127.0.0.1', port: house.port, method, path: url, headers, agent }, (reply) => {
    answer.writeHead(reply.statusCode!, reply.headers)
    reply.pipe(answer)
  })
  passed.on('error', () => answer.destroy())
  answer.on('close', () => passed.destroy())
  asked.pipe(passed)
}).listen(0, '127.0.0.1')
await once(proxy, 'listening')
const { port } = proxy.address() as AddressInfo
after(() => {
  proxy.close().closeAllConnections()
  agent.destroy()
})

const article = (page: Page, text: string) => page.getByRole('article').filter({ hasText: text })

const pathOf = (topic: string) => `/#narrow/channel/${house.channelId}-ops/topic/${topic}`

/** A browser that has stored the page, its state and the topic. */
async function openDevice(topic: string) {
  const profile = mkdtempSync(join(tmpdir(), 'coffer-profile-'))
  const window = { profile, trusted: true, statuses: [500, 502, 503, 504] }
  const here = await visitPage(browser, port, window)
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  await page.goto(here.origin + pathOf(topic))
  await article(page, 'zebra words').waitFor()
  await page.evaluate(() => navigator.serviceWorker.ready)
  await until(async () => (await cachedCount(page)) >= 2, 'the state is not stored')
  await until(() => page.evaluate(async () => (await caches.keys()).length === 1), 'the page is not stored')
  await here.end()
  return { profile, open: () => visitPage(browser, port, { ...window, path: pathOf(topic) }) }
}

for (const status of [502, 504])
  test(`behind a proxy that answers ${status} the stored page and its state are shown, and what is written then is sent`, async () => {
    const topic = `gateway${status}`
    await house.say(topic, 'zebra words')
    const device = await openDevice(topic)
    instead = htmlOf(status)
    try {
      const here = await device.open()
      const { page } = here
      await article(page, 'zebra words').waitFor()
      await page.getByText('This is the state of').waitFor()
      const box = page.getByRole('textbox', { name: /^Message/ })
      await box.fill('giraffe words')
      await box.press('Control+Enter')
      await page.getByRole('article', { name: 'Your message, on its way' }).waitFor()
      instead = null
      await article(page, 'giraffe words').and(page.locator('[data-id]')).waitFor()
      await page.getByText('This is the state of').waitFor({ state: 'detached' })
      assert.deepEqual(await house.saidIn(topic), ['zebra words', 'giraffe words'])
      await here.end()
    } finally {
      instead = null
    }
    rmSync(device.profile, { recursive: true })
  })

test('a proxy whose own login has expired answers 401 to calls: nobody is signed out, and what is written is sent later', async () => {
  await house.say('login', 'zebra words')
  const here = await visitPage(browser, port, { statuses: [401] })
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  await page.goto(here.origin + pathOf('login'))
  await article(page, 'zebra words').waitFor()
  instead = { ...htmlOf(401), below: '/api/' }
  try {
    const box = page.getByRole('textbox', { name: /^Message/ })
    await box.fill('giraffe words')
    const refused = page.waitForResponse((answer) => answer.url().endsWith('/messages') && answer.status() === 401)
    await box.press('Control+Enter')
    await refused
    await page.getByRole('article', { name: 'Your message, on its way' }).waitFor()
    instead = null
    await article(page, 'giraffe words').and(page.locator('[data-id]')).waitFor()
    assert.deepEqual(await house.saidIn('login'), ['zebra words', 'giraffe words'])
    await here.end()
  } finally {
    instead = null
  }
})

test('the chat says that it is sealed, also by a 503: nothing that is stored is shown', async () => {
  await house.say('sealed', 'zebra words')
  const device = await openDevice('sealed')
  const body = JSON.stringify({ result: 'error', code: 'SERVER_NOT_READY', msg: 'The appliance is locked' })
  instead = { status: 503, type: 'application/json', body }
  try {
    const here = await device.open()
    await here.page.getByRole('heading', { name: 'Sealed' }).waitFor()
    assert.equal(await article(here.page, 'zebra words').count(), 0)
    await here.end()
  } finally {
    instead = null
  }
  rmSync(device.profile, { recursive: true })
})
