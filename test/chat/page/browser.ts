/**
 * A real browser on the page of a real chat, over TLS. An error on the browser's console, a violation of the policy and a
 * request to another origin fail the test.
 */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { after } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { defined } from '../../../firmware/base/defined.ts'
import { startProfile } from '../../../tools/browser.ts'
import { WAIT_MS_MAX } from '../../console/browser.ts'
import { childrenOf, commandLineOf } from '../../support/proc.ts'
import { OWNER, OWNER_PASSWORD } from '../support/process.ts'
import type { House } from './house.ts'

interface PageVisit {
  page: Page
  context: BrowserContext
  origin: string
  /** Statuses from 400 whose line on the browser's console is no fault. */
  allowed: Set<number>
  mayBeAway: boolean
  /** Every request that the page made, as `METHOD PATH`. */
  requests: string[]
  /** Throws unless all went well, and closes the window. */
  end(): Promise<void>
  kill(): Promise<void>
}

interface PageWindow {
  statuses?: number[]
  path?: string
  width?: number
  height?: number
  dark?: boolean
  touch?: boolean
  /** Language of the browser: a BCP 47 tag. */
  locale?: string
  profile?: string
  /** True if the browser trusts the certificate of the server. Needs a profile. */
  trusted?: boolean
}

/** The browser's own line when a page asks for a service worker: tests take certificates that it does not trust. */
const NO_SERVICE_WORKER = /^An (SSL certificate|unknown) error occurred when fetching the script\.$/

/** Calls that a visit may need. An account has 200 in a minute, and its visits on a fast computer make more. */
const CALLS_OF_VISIT = 40

/** Calls that are left until these times, in UNIX seconds: `x-ratelimit-reset` of each account's minute. */
const callsLeft = new Map<number, number>()

function noteCallsLeft(headers: Record<string, string>): void {
  const { 'x-ratelimit-reset': reset, 'x-ratelimit-remaining': left } = headers
  if (reset === undefined || left === undefined) return
  callsLeft.set(Number(reset), Math.min(callsLeft.get(Number(reset)) ?? Infinity, Number(left)))
}

async function untilCallsAreLeft(): Promise<void> {
  for (const [reset, left] of callsLeft) {
    const waitMs = reset * 1000 - Date.now()
    if (waitMs > 0 && left < CALLS_OF_VISIT) await setTimeout(waitMs)
    if (reset * 1000 <= Date.now()) callsLeft.delete(reset)
  }
}

const profiles = new Set<BrowserContext>()
after(async () => {
  for (const context of profiles) await context.close() // of a test that failed
})

/** A window of its own: nothing is shared with another. 401 of a browser without a session is no fault. */
export async function visitPage(browser: Browser, port: number, window: PageWindow = {}): Promise<PageVisit> {
  const {
    path = '/',
    width = 1280,
    height = 860,
    dark = false,
    touch = false,
    locale = 'en-US',
    statuses = [],
    profile,
    trusted = false,
  } = window
  await untilCallsAreLeft()
  const origin = `https://127.0.0.1:${port}`
  const options = {
    ignoreHTTPSErrors: !trusted,
    viewport: { width, height },
    colorScheme: dark ? ('dark' as const) : ('light' as const),
    reducedMotion: 'reduce' as const,
    hasTouch: touch,
    locale,
    permissions: ['clipboard-read', 'clipboard-write'],
  }
  const context = await (profile === undefined
    ? browser.newContext(options)
    : startProfile(profile, options, trusted ? await publicKeyHash(port) : undefined))
  if (profile !== undefined) {
    profiles.add(context)
    context.on('close', () => profiles.delete(context))
  }
  context.setDefaultTimeout(WAIT_MS_MAX)
  const page = context.pages()[0] ?? (await context.newPage())
  const faults: string[] = []
  const requests: string[] = []
  const allowed = new Set([401, ...statuses])
  const here: PageVisit = { page, context, origin, allowed, mayBeAway: false, requests, end, kill }
  page.on('pageerror', (error) => faults.push(`error: ${error.stack ?? error.message}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    if (!trusted && NO_SERVICE_WORKER.test(message.text())) return
    const status = /status of (\d{3})/.exec(message.text())?.[1]
    const isFault = status === undefined || !allowed.has(Number(status))
    if (isFault && !(here.mayBeAway && message.text().includes('net::ERR_'))) faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const url = request.url()
    requests.push(`${request.method()} ${url.replace(origin, '').replace(/\?.*/, '')}`)
    if (!url.startsWith(`${origin}/`) && !/^(data:|blob:)/.test(url)) faults.push(`request to ${url}`)
  })
  page.on('response', async (response) => {
    noteCallsLeft(response.headers())
    if (!response.headers()['content-type']?.startsWith('application/json')) return
    const text = await response.text().catch(() => '')
    if (text.includes('ignored_parameters_unsupported')) faults.push(`unknown parameters: ${response.url()} ${text}`)
  })
  await page.exposeFunction('reportFault', (text: string) => void faults.push(text))
  await page.addInitScript(() => {
    const report = (text: string) => (globalThis as unknown as { reportFault(text: string): void }).reportFault(text)
    addEventListener('securitypolicyviolation', (event) =>
      report(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    )
  })
  const answer = await page.goto(`${origin}${path}`)
  assert.equal(answer?.status(), 200, `${path} has no page: ${await answer?.text()}`)
  return here

  async function kill(): Promise<void> {
    const closed = new Promise((resolve) => context.once('close', resolve))
    const [pid] = childrenOf(process.pid).filter((pid) => commandLineOf(pid).includes(`--user-data-dir=${profile}`))
    process.kill(-pid!, 'SIGKILL') // with all of its processes
    await closed
    assert.deepEqual(faults, [])
  }

  async function end(): Promise<void> {
    await context.close()
    assert.deepEqual(faults, [])
  }
}

const keyHashes = new Map<number, string>()

async function publicKeyHash(port: number): Promise<string> {
  const known = keyHashes.get(port)
  if (known !== undefined) return known // a held server does not answer
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const key = defined(socket.getPeerX509Certificate()).publicKey.export({ type: 'spki', format: 'der' })
  socket.destroy()
  const hash = createHash('sha256').update(key).digest('base64')
  keyHashes.set(port, hash)
  return hash
}

export async function signIn(page: Page, email: string, password: string, remember = true): Promise<void> {
  await page.getByLabel('E-mail', { exact: true }).fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  if (!remember) await page.getByLabel('This is my device', { exact: false }).uncheck()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
}

/** A window in which the owner has opened a topic of the house's channel. */
export async function visitTopic(browser: Browser, house: House, topic: string, window: PageWindow = {}) {
  const here = await visitPage(browser, house.port, window)
  await signIn(here.page, OWNER, OWNER_PASSWORD)
  await here.page.evaluate((to) => {
    location.hash = to
  }, `#narrow/channel/${house.channelId}-ops/topic/${topic}`)
  await here.page.getByRole('heading', { name: topic, level: 1 }).waitFor()
  return here
}
