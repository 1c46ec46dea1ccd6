// @test short 60
/** A first day on the page of the chat, with the bundle and the processes as they are shipped: contract sections 1.2.1 and 3.10. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { becomes, launchBrowser } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Coffer, startCoffer } from '../../support/process.ts'
import { type Account, ask, keyOf, makeOrganization, OWNER, OWNER_PASSWORD, reach } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'

const BEN = 'ben@example.org'
const BEN_PASSWORD = 'words of ben becker'

const browser = await launchBrowser()
const data = mkdtempSync(join(tmpdir(), 'coffer-chat-page-'))
let coffer: Coffer
let port: number
let owner: Account

const stops: (() => unknown)[] = []
before(async () => {
  const program = await buildForTests()
  coffer = startCoffer({ after: (stop: () => unknown) => void stops.push(stop) } as never, {
    program,
    data,
    settings: { COFFER_CHAT_PORT: '0' },
  })
  await coffer.target()
  await provision(coffer)
  await makeOrganization(coffer)
  port = (await reach(coffer, 'running')).port!
  owner = await keyOf(port)
  await post('/users/me/subscriptions', { subscriptions: [{ name: 'ops', description: 'Servers and drills' }] })
})
after(async () => {
  await browser.close()
  for (const stop of stops) await stop()
  rmSync(data, { recursive: true, force: true })
})

async function post(path: string, values: Record<string, unknown>, as = owner) {
  const form = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  const { status, body } = await ask(port, 'POST', path, { as, form })
  assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
  return body
}

const say = (topic: string, content: string) =>
  post('/messages', { type: 'stream', to: 'ops', topic, content }) as Promise<{ id: number }>

const write = async (page: Page, text: string) => {
  const box = page.getByRole('textbox', { name: /^Message/ })
  await box.fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('article').filter({ hasText: text }).waitFor()
  await becomes(() => box.inputValue(), '')
}

const sidebar = (page: Page) => page.getByRole('navigation')

test('invited, joined, read, answered, signed out: both sides see it at once, and nothing is left', async () => {
  const channels = (await ask(port, 'GET', '/users/me/subscriptions', { as: owner })).body.subscriptions
  await post('/invites', { invitee_emails: BEN, stream_ids: [channels[0].stream_id], invite_as: 200 })
  const olivia = await visitPage(browser, port)
  await signIn(olivia.page, OWNER, OWNER_PASSWORD)
  await olivia.page
    .getByRole('main')
    .getByRole('link', { name: /Notification Bot/ })
    .first()
    .click()
  const link = await olivia.page.getByRole('link', { name: /\/join\// }).getAttribute('href')
  assert.match(link!, new RegExp(`^https://127\\.0\\.0\\.1:${port}/join/#[\\w-]+/$`))

  const ben = await visitPage(browser, port, { path: link!.replace(/^https:\/\/[^/]*/, ''), statuses: [400] })
  const { page } = ben
  await page.getByRole('heading', { name: 'Join Example' }).waitFor()
  await examineAll(page, 'join')
  await page.getByText(BEN).waitFor()
  await page.getByLabel('Your name').fill('Ben Becker')
  await page.getByLabel('Password', { exact: true }).fill('short')
  await page.getByRole('button', { name: 'Join' }).click()
  await page.getByRole('alert').getByText('The action failed').waitFor()
  await page.getByLabel('Password', { exact: true }).fill(BEN_PASSWORD)
  await page.getByLabel('Name of this device').fill('A desk')
  await page.getByRole('button', { name: 'Join' }).click()
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/')
  assert.ok(!page.url().includes(link!.split('#')[1]!.slice(0, -1)), 'the key of the invitation stays in the address')
  const [cookie] = await ben.context.cookies()
  assert.equal(cookie!.name, '__Host-Http-coffer')
  assert.ok(cookie!.httpOnly && cookie!.secure && cookie!.sameSite === 'Strict' && cookie!.expires > 0)

  await say('backups', 'Restored the tar, **@Ben Becker** @**Ben Becker**')
  const row = page.getByRole('main').getByRole('link', { name: /backups/ })
  await row.getByText('1 unread').waitFor()
  await row.getByRole('img', { name: 'You are mentioned' }).waitFor()
  await examineAll(page, 'inbox')
  await page.setViewportSize({ width: 1280, height: 860 })
  await row.click()
  await page.getByRole('heading', { name: 'backups', level: 1 }).waitFor()
  await page.getByText('Restored the tar').waitFor()
  await sidebar(page).getByRole('link', { name: 'backups', exact: true }).waitFor() // read: without a count
  await examineAll(page, 'topic')
  await page.setViewportSize({ width: 1280, height: 860 })

  await olivia.page.goto(`${olivia.origin}/#narrow/channel/${channels[0].stream_id}-ops/topic/backups`)
  await olivia.page.getByText('Restored the tar').waitFor()
  await write(page, 'Which one, a.tar?')
  await olivia.page.getByRole('article').filter({ hasText: 'Which one, a.tar?' }).waitFor()
  await sidebar(page).getByRole('link', { name: 'ops' }).click()
  await page.getByLabel('Topic', { exact: true }).fill('a new: topic')
  await examineAll(page, 'channel')
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.getByRole('textbox', { name: /^Message/ }).fill('its first message')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('heading', { name: 'a new: topic', level: 1 }).waitFor()
  await page.getByRole('article').filter({ hasText: 'its first message' }).waitFor()

  const left = await page.evaluate(async () =>
    JSON.stringify([
      { ...localStorage },
      { ...sessionStorage },
      document.cookie,
      location.href,
      await indexedDB.databases(),
    ]),
  )
  for (const secret of [cookie!.value, BEN_PASSWORD, 'its first message']) assert.ok(!left.includes(secret), left)
  assert.ok(!coffer.output().includes(cookie!.value), 'the secret of the session is in the log')
  await page.getByLabel('Menu').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out').waitFor()
  await becomes(() => ben.context.cookies(), [])
  assert.ok(!(await page.content()).includes('its first message'))
  await ben.context.addCookies([cookie!])
  await page.reload()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByLabel('E-mail', { exact: true }).fill(BEN)
  await page.getByLabel('Password', { exact: true }).fill('wrong words')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('The e-mail or the password is wrong.').waitFor()
  await examineAll(page, 'sign-in')
  await ben.end()
  await olivia.end()
})

test('a revoked session empties the page within its next request', async () => {
  const here = await visitPage(browser, port)
  await signIn(here.page, OWNER, OWNER_PASSWORD, false)
  const [cookie] = await here.context.cookies()
  assert.equal(cookie!.expires, -1, 'the cookie outlives the browser')
  const { api_keys: keys } = (await ask(port, 'GET', '/users/me/api_keys', { as: owner })).body
  const { id } = keys.findLast(({ device }: { device: string | null }) => device !== null)
  assert.equal((await ask(port, 'DELETE', `/users/me/api_keys/${id}`, { as: owner })).status, 200)
  await here.page.getByText('This session has ended').waitFor()
  await becomes(() => here.context.cookies(), [])
  await here.end()
})

test('a lock shows Sealed and nothing of the chat; after the unlock the page and the typed text go on', async () => {
  await say('locks', 'words that nobody sees while it is locked')
  const here = await visitPage(browser, port, { statuses: [500] })
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  await sidebar(page).getByRole('link', { name: 'ops' }).click()
  await page.getByRole('main').getByRole('link', { name: /locks/ }).click()
  await page.getByText('words that nobody sees').waitFor()
  await page.getByRole('textbox', { name: /^Message/ }).fill('half a sentence')
  here.mayBeAway = true // one process of the chat takes the place of another
  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  await page.getByRole('heading', { name: 'Sealed' }).waitFor()
  assert.ok(!(await page.content()).includes('words that nobody sees'))
  await examineAll(page, 'sealed')
  await page.setViewportSize({ width: 1280, height: 860 })
  const other = await visitPage(browser, port, { statuses: [500] })
  other.mayBeAway = true
  await other.page.getByRole('heading', { name: 'Sealed' }).waitFor()
  const manifest = await other.page.evaluate(async () => (await fetch('/manifest.webmanifest')).json())
  assert.equal(manifest.name, 'Coffer')
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await page.getByText('words that nobody sees').waitFor()
  await becomes(() => page.getByRole('textbox', { name: /^Message/ }).inputValue(), 'half a sentence')
  await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await write(page, 'half a sentence, and the rest')
  await here.end()
  await other.end()
})

const HOSTILE = [
  '<script>alert(1)</script><img src=x onerror=alert(1)>',
  '[x](javascript:alert(1)) [y](data:text/html,<script>alert(1)</script>)',
  '![](https://evil.example/pixel.png) https://evil.example/pixel.png',
  '[https://bank.example/login](https://evil.example/)',
  '`</code><svg onload=alert(1)>` $$\\href{javascript:alert(1)}{x}$$ $$\\includegraphics{https://evil.example/x.png}$$',
  '$$\\rule{10000em}{10000em}$$ $$\\raise{9999em}{x}$$',
  '```"><img src=https://evil.example/x>\nx\n```',
  '```spoiler <b onclick=alert(1)>\n<iframe src=https://evil.example>\n```',
  `${'\u202e'}${'\u0300'.repeat(500)} ${'w'.repeat(5000)}`,
  `${'> '.repeat(60)}deep\n\n${'* '.repeat(40)}x`,
  ':smile: '.repeat(400),
  '@**all** <time:2026-01-01T00:00:00Z> #**ops>"><img src=x onerror=alert(1)>**',
]

test('hostile messages run nothing, fetch nothing, and paint nothing outside of themselves', async () => {
  for (const text of HOSTILE) await say('hostile "><img src=x onerror=alert(1)>', text)
  const { id } = await say('hostile "><img src=x onerror=alert(1)>', 'the last of them')
  const here = await visitPage(browser, port)
  const { page, requests } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  await page
    .getByRole('main')
    .getByRole('link', { name: /hostile/ })
    .click()
  await page.locator(`[data-id="${id}"]`).waitFor()
  await page.getByText('(evil.example)').first().waitFor()
  const found = await page.evaluate(() => ({
    active: document.querySelectorAll('main :is(script, iframe, object, embed, form:not(.compose), base, link, meta)')
      .length,
    handlers: [...document.querySelectorAll('main *')].filter((one) =>
      [...one.attributes].some(({ name, value }) => name.startsWith('on') || /^\s*javascript:/i.test(value)),
    ).length,
    outside: [...document.querySelectorAll('.message')].filter((one) => getComputedStyle(one).contain !== 'paint')
      .length,
    over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }))
  assert.deepEqual(found, { active: 0, handlers: 0, outside: 0, over: 0 })
  const known = /^(GET \/($|page\/|manifest|user_avatars\/|api\/v1\/(events|messages))|(POST|DELETE) \/api\/v1\/)/
  assert.deepEqual(
    requests.filter((one) => !known.test(one)),
    [],
  )
  await examineAll(page, 'hostile messages')
  await here.end()
})
