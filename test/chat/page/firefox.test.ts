// @test long 60
/** A day on the page in Firefox: the other tests run in Chromium. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes } from '../../console/browser.ts'
import { fileNeeds } from '../../support/tools.ts'
import { ask, chatPid, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { visitInFirefox } from './firefox.ts'
import { startHouse } from './house.ts'
import { cachedCount, until } from './stored.ts'

await fileNeeds('firefox-esr')
const house = startHouse()

const BEN_PASSWORD = 'words of ben becker'
const STORED = 3 // the state, and two conversations

test('joined, read, answered, reacted, searched, started without the server, signed out and in again', async (t) => {
  const invited = { stream_ids: [house.channelId], invite_as: 400 }
  const { invite_link: link } = await house.post('/invites/multiuse', invited)
  await house.say('drill', 'Restored the tar, @**all**')
  const here = await visitInFirefox(t, house.port, new URL(link).pathname + new URL(link).hash)
  const { page, see, seeText, click, fill } = here
  const go = (place: string) =>
    page.evaluate((to) => {
      location.hash = to
    }, place)

  await see('heading', 'Join Example')
  await fill('textbox', 'E-mail', 'ben@example.org')
  await fill('textbox', 'Your name', 'Ben Becker')
  await page.locator('input[autocomplete=new-password]').fill(BEN_PASSWORD)
  assert.equal(await page.$eval('input[maxlength="60"]', ({ value }) => value), 'Firefox on Linux')
  await click('button', 'Join')
  await see('heading', 'Inbox')
  const [cookie] = await page.browserContext().cookies()
  assert.deepEqual([cookie?.name, cookie?.httpOnly, cookie?.secure], ['__Host-Http-coffer', true, true])

  await house.say('backups', 'Which one? @**Ben Becker**')
  await page.locator('main ::-p-text(backups)').click()
  await see('heading', 'backups')
  await seeText('Which one?')
  await page.locator('.compose textarea').fill('The **second** one.')
  await click('button', 'Send')
  await page.locator('article ::-p-xpath(.//strong[.="second"])').wait()
  await becomes(async () => (await house.saidIn('backups')).at(-1), 'The **second** one.')

  await page.locator('article ::-p-text(Which one?)').hover()
  await click('button', 'Add a reaction')
  await page.locator('.emoji-picker input').fill('octo')
  await click('button', 'octopus')
  await see('button', 'octopus: Ben Becker')
  const { body } = await ask(house.port, 'GET', '/messages', {
    as: house.owner,
    form: { anchor: 'newest', num_before: '2', num_after: '0', narrow: '[["topic","backups"]]' },
  })
  assert.equal(body.messages[0].reactions[0].emoji_name, 'octopus')

  await house.say('backups', 'Thank you, that was it.')
  await seeText('Thank you, that was it.')

  await go('#search')
  await see('heading', 'Search')
  await page.locator('input[type=search]').fill('restored')
  await page.keyboard.press('Enter')
  await page.locator('.result .highlight ::-p-text(Restored)').wait()

  await go('#settings/devices')
  await see('heading', 'Devices')
  await seeText('and starts without a connection')
  await go('#settings/notifications')
  await seeText('The administrator of the server has listed no push services.')
  await until(async () => (await cachedCount(page)) >= STORED, 'state and two conversations are not stored')
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}))
  const pid = await chatPid(house.coffer)
  process.kill(pid, 'SIGSTOP')
  try {
    await page.goto(`https://127.0.0.1:${house.port}/`)
    await see('heading', 'Inbox')
    await seeText('No connection. This is the state of')
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  await page.waitForFunction(() => !document.body.textContent?.includes('No connection'))

  await page.locator('summary[aria-label=Menu]').click()
  await click('button', 'Sign out')
  await seeText('You are signed out')
  await becomes(() => page.browserContext().cookies(), [])
  await becomes(() => page.evaluate(() => indexedDB.databases()), [])
  await becomes(() => page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length), 0)

  await fill('textbox', 'E-mail', OWNER)
  await page.locator('input[type=password]').fill(OWNER_PASSWORD)
  await click('button', 'Sign in')
  await see('heading', 'Inbox')
  await here.end()
})
