// @test long 60
/**
 * Push notifications in a real browser: subscribed in Settings, sent by the real processes to a push service of this test, and handed to
 * the service worker by the debugger's protocol, as the browser of a phone does. Contract section 3.9.1 of the chat.
 */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, Page, Worker } from 'playwright-core'
import { systemRandom } from '../../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import { openProxy } from '../../acme/support/whole.ts'
import { becomes, WAIT_MS_MAX } from '../../console/browser.ts'
import { examineAll } from '../../console/examine.ts'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { type Account, ask, askUntil, keyOf, OWNER, OWNER_PASSWORD, reach } from '../support/process.ts'
import { newBrowser } from '../support/push.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const HOST = 'push.example.org'
const received: { path: string; body: Buffer }[] = []
let status = 201
const identity = await makeTlsIdentity(systemRandom, undefined, [HOST])
const service = createServer({ key: Buffer.from(identity.key), cert: identity.cert }, async (request, response) => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  received.push({ path: request.url!, body: Buffer.concat(pieces) })
  response.writeHead(status).end()
})
await new Promise<void>((done) => service.listen(0, '127.0.0.1', done))
after(() => service.close())
const { port: pushPort } = service.address() as AddressInfo
const proxyPort = await openProxy({ after } as never)

let ben: Account
let ownerId = 0
const { browser, house } = await openHouse(async (house) => {
  const { coffer } = house
  const outgoing = {
    proxy: { host: 'localhost', port: proxyPort },
    authorities: identity.cert,
    publicAuthorities: false,
  }
  await expect(204, coffer.call('PUT', '/config/outgoing', { as: ADMIN, json: outgoing }))
  await setPush(false)
  const person = { email: 'ben@example.org', password: 'words of ben becker', full_name: 'Ben Becker' }
  await house.post('/users', person)
  ben = await keyOf(house.port, person.email, person.password)
  ownerId = (await ask(house.port, 'GET', '/users/me', { as: house.owner })).body.user_id
})

const setPush = (content: boolean | null) =>
  expect(
    204,
    house.coffer.call('PUT', '/chat/settings', {
      as: ADMIN,
      json: {
        webPush: content === null ? null : { hosts: [`${HOST}:${pushPort}`], contact: 'https://example.org/', content },
      },
    }),
  )

async function until(isDone: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + WAIT_MS_MAX; !(await isDone()); await sleep(100))
    assert.ok(performance.now() < deadline, house.coffer.output())
}

type Subscribed = ReturnType<typeof newBrowser>

/** The browser's own push service cannot be reached: `PushManager` gives the subscription of this test. */
async function standInForPushService(page: Page, { subscription }: Subscribed): Promise<void> {
  const { endpoint, p256dh, auth } = subscription
  const at = endpoint.replace(HOST, `${HOST}:${pushPort}`)
  await page.addInitScript(
    ({ at, p256dh, auth }) => {
      const root = globalThis as unknown as Record<string, { permission: string }>
      const made = {
        toJSON: () => ({ endpoint: at, keys: { p256dh, auth } }),
        get options() {
          const text = localStorage.getItem('pushed') ?? ''
          const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
          return { applicationServerKey: Uint8Array.from(bytes, (one) => one.charCodeAt(0)).buffer }
        },
        unsubscribe: async () => localStorage.removeItem('pushed'),
      }
      Object.assign(PushManager.prototype, {
        getSubscription: async () => (localStorage.getItem('pushed') === null ? null : made),
        subscribe: async ({ applicationServerKey }: { applicationServerKey: string }) => {
          localStorage.setItem('pushed', applicationServerKey)
          return made
        },
      })
      Object.defineProperty(root.Notification, 'permission', { get: () => 'granted' })
      Object.assign(root.Notification!, { requestPermission: async () => 'granted' })
    },
    { at, p256dh, auth },
  )
}

interface ShownNotice {
  title: string
  body: string
  tag: string
}

/** Notifications that the worker shows: a headless browser denies them. */
async function standInForNotifications(worker: Worker): Promise<() => Promise<ShownNotice[]>> {
  await worker.evaluate(() => {
    const shown = new Map<string, ShownNotice & { close(): void }>()
    const root = globalThis as unknown as { shown: typeof shown; registration: object }
    root.shown = shown
    Object.assign(root.registration, {
      showNotification: async (title: string, options: ShownNotice) => {
        shown.set(options.tag, { ...options, title, close: () => void shown.delete(options.tag) })
      },
      getNotifications: async () => [...shown.values()],
    })
  })
  return () =>
    worker.evaluate(() =>
      [...(globalThis as unknown as { shown: Map<string, ShownNotice> }).shown.values()].map(
        ({ title, body, tag }) => ({
          title,
          body,
          tag,
        }),
      ),
    )
}

/** Delivers a text as the browser does when its push service has one. */
async function openDelivery(context: BrowserContext, origin: string) {
  const page = await context.newPage()
  await page.goto('about:blank')
  const session = await context.newCDPSession(page)
  let registrationId = ''
  session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
    for (const one of registrations)
      if (one.scopeURL === `${origin}/` && !one.isDeleted) registrationId = one.registrationId
  })
  await session.send('ServiceWorker.enable')
  await until(() => registrationId !== '')
  return (text: object) =>
    session.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data: JSON.stringify(text) })
}

async function workerOf(context: BrowserContext): Promise<Worker> {
  await until(() => context.serviceWorkers().length > 0)
  return context.serviceWorkers()[0]!
}

const openNotifications = (page: Page) =>
  page.evaluate(() => {
    location.hash = '#settings/notifications'
  })

/** A browser that trusts the server, in which the owner has turned push notifications on. */
async function openDevice(path: string, mayBeAway = false) {
  const profile = mkdtempSync(join(tmpdir(), 'coffer-profile-'))
  const subscribed = newBrowser(path)
  const here = await visitPage(browser, house.port, { profile, trusted: true, statuses: [500] })
  here.mayBeAway = mayBeAway
  const { page, context, origin } = here
  await standInForPushService(page, subscribed)
  await page.reload()
  await signIn(page, OWNER, OWNER_PASSWORD)
  await openNotifications(page)
  await page.getByLabel('Notify me in this browser').check()
  await page.getByRole('button', { name: 'Send a test' }).waitFor()
  const worker = await workerOf(context)
  const shown = await standInForNotifications(worker)
  const deliver = await openDelivery(context, origin)
  /** The text of the next message to arrive, as the browser decrypts it. */
  const nextPush = async (act: () => Promise<unknown>) => {
    const isOwn = (one: { path: string }) => one.path === path
    const before = received.filter(isOwn).length
    await act()
    await until(() => received.filter(isOwn).length > before)
    return subscribed.open(received.filter(isOwn).at(-1)!.body)
  }
  const end = async () => {
    await here.end()
    rmSync(profile, { recursive: true, force: true })
  }
  return { ...here, worker, shown, deliver, nextPush, end }
}

const toOwner = (content: string) => house.post('/messages', { type: 'direct', to: [ownerId], content }, ben)

test('a message is shown with the text that the session fetches; a click opens it, and reading it closes it', async () => {
  const here = await openDevice('/one')
  const { page, worker, shown, deliver, nextPush } = here
  await examineAll(page, 'push settings')
  const tested = await nextPush(() => page.getByRole('button', { name: 'Send a test' }).click())
  assert.deepEqual(tested, { test: true })
  await page.getByText('The push service has accepted the notification.').waitFor()
  await deliver(tested)
  await until(async () => (await shown()).length === 1)
  assert.equal((await shown())[0]?.body, 'Notifications of this page arrive in this browser.')

  await page.close() // no tab is open any more
  const pushed = await nextPush(() => toOwner('a **bold** word'))
  assert.deepEqual(Object.keys(pushed), ['id'])
  await deliver(pushed)
  await until(async () => (await shown()).length === 2)
  const [, { title, body, tag }] = (await shown()) as [ShownNotice, ShownNotice]
  assert.deepEqual([title, body], ['Ben Becker', 'a bold word'])

  const { id } = await house.say('notified', '@**Olivia Owner** look', ben)
  await deliver({ id })
  await until(async () => (await shown()).some(({ body }) => body === '@Olivia Owner look'))
  assert.equal((await shown()).at(-1)?.title, 'Ben Becker (#ops > notified)')

  // The next notification removes those of messages that were read elsewhere.
  await house.post('/messages/flags', { messages: [pushed.id], op: 'add', flag: 'read' })
  const { id: next } = await house.say('notified', '@**Olivia Owner** again', ben)
  await deliver({ id: next })
  await until(async () => (await shown()).some(({ body }) => body === '@Olivia Owner again'))
  await until(async () => !(await shown()).some((one) => one.tag === tag))
  assert.equal((await shown()).length, 2) // one of its conversation, and the test

  const opened = await worker.evaluate(async () => {
    const root = globalThis as unknown as {
      shown: Map<string, { tag: string }>
      clients: { openWindow: (url: string) => Promise<null> }
      dispatchEvent(event: Event): void
    }
    const urls: string[] = []
    root.clients.openWindow = async (url) => {
      urls.push(url)
      return null
    }
    const notification = [...root.shown.values()].at(-1)
    const waits: Promise<unknown>[] = []
    const event = Object.assign(new Event('notificationclick'), {
      notification,
      waitUntil: (done: Promise<unknown>) => void waits.push(done),
    })
    root.dispatchEvent(event)
    await Promise.all(waits)
    return urls
  })
  assert.equal(opened.length, 1)
  assert.match(opened[0]!, new RegExp(`^/#narrow/channel/\\d+-ops/topic/notified/near/${next}$`))
  await here.end()
})

test('in an open tab a click shows the conversation; a lock closes all, and shows no text', async () => {
  const here = await openDevice('/two', true) // one process of the chat takes the place of another
  const { page, worker, shown, deliver } = here
  const { id } = await toOwner('while a tab is open')
  const click = (tag: string) =>
    worker.evaluate(async (tag) => {
      const root = globalThis as unknown as { shown: Map<string, object>; dispatchEvent(event: Event): void }
      const waits: Promise<unknown>[] = []
      const waitUntil = (done: Promise<unknown>) => void waits.push(done)
      root.dispatchEvent(
        Object.assign(new Event('notificationclick'), { notification: root.shown.get(tag), waitUntil }),
      )
      await Promise.all(waits)
    }, tag)
  await page.bringToFront()
  await page.evaluate(() => {
    document.hasFocus = () => false
  })
  await worker.evaluate(() => {
    const { clients } = globalThis as unknown as { clients: { matchAll(options: object): Promise<object[]> } }
    const all = clients.matchAll.bind(clients)
    clients.matchAll = async (options) =>
      (await all(options)).map((one) => ({
        focused: false,
        focus: async () => one,
        postMessage: (message: unknown) => (one as { postMessage(message: unknown): void }).postMessage(message),
      }))
  })
  await deliver({ id })
  await until(async () => (await shown()).some(({ body }) => body === 'while a tab is open'))
  await click((await shown()).at(-1)!.tag)
  await page.getByRole('heading', { name: 'Ben Becker', level: 1 }).waitFor()
  await becomes(shown, [])

  const { id: read } = await toOwner('read in the tab')
  const { id: second } = await toOwner('before the lock')
  const closed = () => page.evaluate(() => (globalThis as unknown as { noticesClosed: number[] }).noticesClosed)
  await page.evaluate(
    (ids) => {
      const root = globalThis as unknown as { noticesClosed: number[] }
      root.noticesClosed = []
      let open = ids
      const close = (id: number) => {
        open = open.filter((one) => one !== id)
        root.noticesClosed.push(id)
      }
      ServiceWorkerRegistration.prototype.getNotifications = async () =>
        open.map((messageId) => ({ data: { messageId }, close: () => close(messageId) }) as never)
    },
    [read, second],
  )
  await house.post('/messages/flags', { messages: [read], op: 'add', flag: 'read' })
  await until(async () => (await closed()).length > 0)
  assert.deepEqual(await closed(), [read])
  await expect(204, house.coffer.call('POST', '/lock', { as: ADMIN }))
  await page.getByRole('heading', { name: 'Sealed' }).waitFor()
  await until(async () => (await closed()).length > 1)
  await deliver({ id: second })
  await until(async () => (await shown()).length === 1)
  assert.deepEqual(
    (await shown()).map(({ title, body }) => [title, body]),
    [['New message', 'Open the chat to read it']],
  )
  await expect(204, house.coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await reach(house.coffer, 'running')
  await askUntil(({ status }) => status === 200, house.port, 'GET', '/users/me', { as: house.owner })
  await here.end()
})

test('with `content` the text is shown without the server; without a session nothing is', async () => {
  await setPush(true)
  const here = await openDevice('/three', true)
  const { page, context, shown, deliver, nextPush } = here
  await page.close()
  const pushed = await nextPush(() => toOwner('told by the push service'))
  assert.equal(pushed.text, 'told by the push service')
  await context.setOffline(true)
  await deliver(pushed)
  await until(async () => (await shown()).length === 1)
  assert.deepEqual([(await shown())[0]!.title, (await shown())[0]!.body], ['Ben Becker', 'told by the push service'])
  await context.setOffline(false)

  const { body } = await ask(house.port, 'GET', '/users/me/api_keys', { as: house.owner })
  for (const { id, device } of body.api_keys)
    if (device !== null) await ask(house.port, 'DELETE', `/users/me/api_keys/${id}`, { as: house.owner })
  await deliver(pushed)
  await until(async () => (await shown()).length === 0)
  const before = received.length
  await toOwner('after the session')
  await sleep(500)
  assert.equal(received.length, before)
  await here.end()
  await setPush(false)
})

test('Settings say why a browser cannot be notified', async () => {
  const here = await visitPage(browser, house.port)
  const { page } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  await openNotifications(page)
  await page.getByText('This browser cannot get notifications while the page is closed').waitFor()
  await here.end()

  const foreign = await visitPage(browser, house.port)
  await signIn(foreign.page, OWNER, OWNER_PASSWORD, false)
  await openNotifications(foreign.page)
  await foreign.page.getByText('sign in with “This is my device”').waitFor()
  await setPush(null)
  await foreign.page.reload()
  await foreign.page.getByText('The administrator of the server has listed no push services.').waitFor()
  await setPush(false)
  await foreign.end()
})

test('a subscription that the push service has forgotten is made anew at the next start; turned off, nothing comes', async () => {
  const here = await openDevice('/four')
  const { page, nextPush } = here
  status = 410
  await nextPush(() => toOwner('gone'))
  status = 201
  const subscribed = async () =>
    (await page.evaluate(async () => (await fetch('/api/v1/web_push')).json())).subscribed as boolean
  await until(async () => !(await subscribed()))
  await page.reload()
  await until(subscribed)
  await openNotifications(page)
  await page.getByLabel('Notify me in this browser').uncheck()
  await until(async () => !(await subscribed()))
  await becomes(() => page.evaluate(() => localStorage.getItem('pushed')), null)
  await here.end()
})
