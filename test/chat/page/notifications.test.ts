// @test long 120
/** Notifications in the page: title, icon, badge, sound, notification; and the interface of the desktop app. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { becomes, WAIT_MS_MAX } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { ask, askUntil, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { addBen, BEN, BEN_PASSWORD, type Ben } from './ben.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

let ben: Ben
let ownerId = 0
const { browser, house } = await openHouse(async (house) => {
  ben = await addBen(house, { isInChannel: false })
  ownerId = (await ask(house.port, 'GET', '/users/me', { as: house.owner })).body.user_id
})

interface Told {
  shown: { title: string; body: string }[]
  /** Bodies of those that the page has closed. */
  closed: string[]
  sounds: number
  badges: number[]
  events: unknown[][]
}

/** Stand-ins: a headless browser denies notifications, plays no sound, and is no desktop app. */
async function listen(page: Page, hasFocus: boolean, isDesktop = false): Promise<() => Promise<Told>> {
  await page.addInitScript(
    ({ hasFocus, isDesktop }) => {
      const told: Told = { shown: [], closed: [], sounds: 0, badges: [], events: [] }
      const root = globalThis as unknown as Record<string, unknown>
      root.told = told
      document.hasFocus = () => hasFocus
      navigator.setAppBadge = async (count = 0) => void told.badges.push(count)
      root.Notification = class {
        static permission = 'granted'
        close: () => void
        constructor(title: string, { body }: { body: string }) {
          told.shown.push({ title, body })
          this.close = () => void told.closed.push(body)
        }
      }
      const start = OscillatorNode.prototype.start
      OscillatorNode.prototype.start = function (...values) {
        told.sounds++
        return start.apply(this, values)
      }
      if (isDesktop)
        root.electron_bridge = {
          send_event: (...values: unknown[]) => told.events.push(values),
          on_event: (name: string, act: () => void) => {
            root[`app ${name}`] = act
          },
          set_send_notification_reply_message_supported: (isSupported: boolean) => {
            root['app replies'] = isSupported
          },
          new_notification: (title: string, { body, tag }: { body: string; tag: string }, act: unknown) => {
            told.shown.push({ title, body })
            root['app tag'] = tag
            root['app act'] = act
            return { close: () => void told.closed.push(body) }
          },
        }
    },
    { hasFocus, isDesktop },
  )
  return () => page.evaluate(() => (globalThis as unknown as { told: Told }).told)
}

const tell = (content: string) => house.post('/messages', { type: 'direct', to: [ownerId], content }, ben)

async function until(isDone: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + WAIT_MS_MAX; !(await isDone()); await sleep(100))
    assert.ok(performance.now() < deadline)
}

test('a direct message changes title, icon and badge, is heard and shown; not while the page has the focus', async () => {
  const here = await visitPage(browser, house.port)
  const { page } = here
  const told = await listen(page, false)
  await page.reload()
  await signIn(page, OWNER, OWNER_PASSWORD)
  await tell('a **bold** word')
  await until(async () => (await told()).shown.length === 1)
  assert.deepEqual((await told()).shown, [{ title: 'Ben Becker', body: 'a bold word' }])
  await until(async () => (await told()).sounds === 1)
  await page.locator('link[rel=icon][href$="#favicon-pms"]').waitFor({ state: 'attached' })
  await page.waitForFunction(() => /^\(\d+\) Inbox/.test(document.title))
  const count = Number.parseInt((await page.title()).slice(1), 10)
  await becomes(async () => (await told()).badges.at(-1), count)

  const { status } = await ask(house.port, 'PATCH', '/settings', {
    as: house.owner,
    form: { pm_content_in_desktop_notifications: 'false', enable_sounds: 'false' },
  })
  assert.equal(status, 200)
  await tell('a secret word')
  await until(async () => (await told()).shown.length === 2)
  assert.deepEqual((await told()).shown[1], { title: 'Ben Becker', body: 'New direct message' })
  assert.equal((await told()).sounds, 1)
  await here.end()

  const focused = await visitPage(browser, house.port)
  const toldFocused = await listen(focused.page, true)
  await focused.page.reload()
  await signIn(focused.page, OWNER, OWNER_PASSWORD)
  await tell('seen in the page')
  await until(async () => (await toldFocused()).badges.length > 1)
  assert.deepEqual((await toldFocused()).shown, [])
  await focused.end()
})

test('the desktop app is told the name, the icon and the number, and shows the notification itself', async () => {
  const here = await visitPage(browser, house.port)
  const told = await listen(here.page, false, true)
  await here.page.reload()
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await tell('for the desktop app')
  await until(async () => (await told()).shown.length === 1)
  let events: unknown[][] = []
  const last = (name: string) => events.findLast(([one]) => one === name)?.[1]
  await until(async () => {
    events = (await told()).events
    return Number(last('total_unread_count')) > 0
  })
  assert.equal(last('realm_name'), 'Example')
  assert.match(String(last('realm_icon_url')), new RegExp(`^${here.origin}/`))
  await here.page.evaluate(() => {
    const app = globalThis as unknown as Record<string, (...values: unknown[]) => void>
    app['app act']!('reply', 'answered in the app')
    app['app act']!('click', null)
  })
  await here.page.getByRole('heading', { name: 'Ben Becker', level: 1 }).waitFor()
  await here.page.getByRole('article').filter({ hasText: 'answered in the app' }).waitFor()
  const appActs = (name: string) =>
    here.page.evaluate((key) => (globalThis as unknown as Record<string, () => void>)[key]!(), `app ${name}`)
  await appActs('show-notification-settings')
  await here.page.getByRole('heading', { name: 'Notifications', level: 1 }).waitFor()
  await appActs('show-keyboard-shortcuts')
  await here.page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await here.page.keyboard.press('Escape')
  await here.page.getByRole('dialog').waitFor({ state: 'detached' })
  await tell('a second one for the app')
  await until(async () => (await told()).shown.length === 2)
  await here.page.evaluate(() => {
    const app = globalThis as unknown as Record<string, unknown>
    if (app['app replies'] !== true) throw new Error('replies are not supported')
    ;(app['app send_notification_reply_message'] as (tag: unknown, text: string) => void)(
      app['app tag'],
      'replied from the app',
    )
  })
  await here.page.getByRole('heading', { name: 'Ben Becker', level: 1 }).waitFor()
  await here.page.getByRole('article').filter({ hasText: 'replied from the app' }).waitFor()
  await appActs('logout')
  await here.page.getByText('You are signed out').waitFor()
  await here.end()
})

test('a notification is closed when its message is read, and at a lock; one of after the unlock is shown', async () => {
  const here = await visitPage(browser, house.port, { statuses: [500] })
  const { page } = here
  here.mayBeAway = true // one process of the chat takes the place of another
  const told = await listen(page, false)
  await page.reload()
  await signIn(page, OWNER, OWNER_PASSWORD)
  const { id } = await house.say('notified', `@**all** words to be read`, ben)
  await until(async () => (await told()).shown.length === 1)
  const flags = { messages: [id], op: 'add', flag: 'read' }
  await house.post('/messages/flags', flags)
  await until(async () => (await told()).closed.length === 1)

  await house.say('notified', `@**all** words before the lock`, ben)
  await until(async () => (await told()).shown.length === 2)
  assert.deepEqual((await told()).closed, ['@all words to be read'])
  await expect(204, house.coffer.call('POST', '/lock', { as: ADMIN }))
  await page.getByRole('heading', { name: 'Sealed' }).waitFor()
  await becomes(async () => (await told()).closed, ['@all words to be read', '@all words before the lock'])

  await expect(204, house.coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  const form = { type: 'stream', to: String(house.channelId), topic: 'notified', content: '@**all** after the unlock' }
  await askUntil(({ status }) => status === 200, house.port, 'POST', '/messages', { as: ben, form })
  await until(async () => (await told()).shown.length === 3)
  assert.equal((await told()).shown[2]?.body, '@all after the unlock')
  assert.equal((await told()).closed.length, 2)
  await here.end()
})

test('a reply to a notification after the sign-out is not sent, also not by the next account', async () => {
  const here = await visitPage(browser, house.port)
  const { page } = here
  const told = await listen(page, false, true)
  await page.reload()
  await signIn(page, OWNER, OWNER_PASSWORD)
  await house.say('replies', '@**all** for the owner', ben)
  await until(async () => (await told()).shown.length === 1)
  await page.getByLabel('Menu').click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out').waitFor()
  await page.evaluate(() => {
    const app = globalThis as unknown as Record<string, (...values: unknown[]) => void>
    app['app act']!('reply', 'words of the owner')
    app['app act']!('click', null)
  })

  await signIn(page, BEN, BEN_PASSWORD)
  await page.evaluate((to) => {
    location.hash = to
  }, `#narrow/channel/${house.channelId}-ops/topic/replies`)
  // Messages of a conversation are sent one after the other.
  await page.getByRole('textbox', { name: /^Message/ }).fill('words of Ben')
  await page.getByRole('textbox', { name: /^Message/ }).press('Control+Enter')
  await until(async () => (await house.saidIn('replies')).includes('words of Ben'))
  assert.deepEqual(await house.saidIn('replies'), ['@**all** for the owner', 'words of Ben'])
  await becomes(async () => (await told()).closed, ['@all for the owner'])
  await here.end()
})

test('in the app, a notification replaces the earlier one of its conversation; a reply to that one is sent, or kept', async () => {
  const here = await visitPage(browser, house.port, { statuses: [500] })
  const { page } = here
  here.mayBeAway = true // one process of the chat takes the place of another
  const told = await listen(page, false, true)
  await page.reload()
  await signIn(page, OWNER, OWNER_PASSWORD)
  const { id } = await house.say('twice', '@**all** for the first time', ben)
  await until(async () => (await told()).shown.length === 1)
  await house.say('twice', '@**all** for the second time', ben)
  await until(async () => (await told()).shown.length === 2)
  await becomes(async () => (await told()).closed, ['@all for the first time'])
  const reply = (text: string) =>
    page.evaluate(
      ({ id, text }) => {
        const app = globalThis as unknown as Record<string, (tag: string, text: string) => void>
        app['app send_notification_reply_message']!(String(id), text)
      },
      { id, text },
    )
  await reply('to the earlier one')
  await page.getByRole('heading', { name: 'twice', level: 1 }).waitFor()
  await until(async () => (await house.saidIn('twice')).includes('to the earlier one'))

  await expect(204, house.coffer.call('POST', '/lock', { as: ADMIN }))
  await page.getByRole('heading', { name: 'Sealed' }).waitFor()
  await becomes(async () => (await told()).closed, ['@all for the first time', '@all for the second time'])
  await reply('written while it is locked')
  await expect(204, house.coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  const box = page.getByRole('textbox', { name: /^Message/ })
  await box.waitFor()
  await becomes(() => box.inputValue(), 'written while it is locked')
  assert.ok(!(await house.saidIn('twice')).includes('written while it is locked'))
  await here.end()
})

test('Settings ask for the permission, and say when the browser refuses', async () => {
  const here = await visitPage(browser, house.port)
  const { page } = here
  await page.addInitScript(() => {
    const undecided = { permission: 'default', requestPermission: async () => 'denied' }
    Object.assign(globalThis, { Notification: undecided })
  })
  await page.reload()
  await signIn(page, OWNER, OWNER_PASSWORD)
  await page.evaluate(() => {
    location.hash = '#settings/notifications'
  })
  await page.getByRole('button', { name: 'Allow notifications' }).click()
  await page.getByText('This browser shows no notifications of this page').waitFor()
  await examineAll(page, 'notifications')
  await here.end()
})
