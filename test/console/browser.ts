/**
 * A real browser on the page of a real appliance, over TLS. Whatever goes wrong unseen is a fault: an error on the browser's
 * console, a violation of the policy, a request to another origin or one that would send the browser's own credentials.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { BROWSER_PACKAGES, startBrowser } from '../../tools/browser.ts'
import type { Appliance } from '../support/suite.ts'

/** In CI the computer does other things as well. */
export const WAIT_MS_MAX = process.env.CI === 'true' ? 120_000 : 30_000

/** At the top of a file whose every test needs the browser. `flags` of Chromium's command line. */
export async function launchBrowser(...flags: string[]): Promise<Browser> {
  const browser = await startBrowser(...flags)
  if (browser !== null) return browser
  assert.notEqual(process.env.CI, 'true', 'no browser: .ci/run installs it')
  test('every test of this file', { skip: `to run this: sudo apt install ${BROWSER_PACKAGES}` }, () => {})
  await once(process, 'beforeExit')
  await setTimeout(0)
  process.exit(0)
}

export interface Visit {
  page: Page
  origin: string
  /** Statuses from 400 whose line on the browser's console is no fault; a test names those that it provokes. */
  allowed: Set<number>
  mayBeAway: boolean
  /** Throws unless all went well, and closes the window. */
  end(): Promise<void>
}

interface Window {
  width?: number
  height?: number
  dark?: boolean
}

export async function visit(
  browser: Browser,
  appliance: Pick<Appliance, 'host' | 'port'>,
  window: Window = {},
): Promise<Visit> {
  const { width = 1280, height = 900, dark = false } = window
  const origin = `https://${appliance.host}:${appliance.port}`
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    // A color half way between two is not meant, and axe-core would judge it.
    reducedMotion: 'reduce',
    acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(WAIT_MS_MAX)
  const page = await context.newPage()
  const faults: string[] = []
  const here: Visit = { page, origin, allowed: new Set(), mayBeAway: false, end }
  page.on('pageerror', (error) => faults.push(`error: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    const text = message.text()
    const status = /status of (\d{3})/.exec(text)?.[1]
    if (status !== undefined && here.allowed.has(Number(status))) return
    if (here.mayBeAway && text.includes('net::ERR_')) return
    faults.push(`console: ${text}`)
  })
  page.on('request', (request) => {
    const url = request.url()
    const isHere = url.startsWith(`${origin}/`) || url.startsWith('data:') || url.startsWith(`blob:${origin}/`)
    if (!isHere) faults.push(`request to ${url}`)
    if (url.includes('passphrase=')) faults.push(`a passphrase in ${url}`)
  })
  await page.exposeFunction('reportFault', (text: string) => void faults.push(text))
  await page.addInitScript(() => {
    const report = (text: string) => (globalThis as unknown as { reportFault(text: string): void }).reportFault(text)
    addEventListener('securitypolicyviolation', (event) =>
      report(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    )
    const fetched = globalThis.fetch
    globalThis.fetch = (input, init) => {
      if (init?.credentials !== 'omit') report(`fetch of ${String(input)} with credentials ${init?.credentials}`)
      if (init?.redirect !== 'error') report(`fetch of ${String(input)} follows redirections`)
      return fetched(input, init)
    }
  })
  const answer = await page.goto(`${origin}/`)
  assert.equal(answer?.status(), 200, `${origin}/ has no page: ${await answer?.text()}`)
  return here

  async function end(): Promise<void> {
    await context.close()
    assert.deepEqual(faults, [])
  }
}

export const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name, ...(typeof name === 'string' && { exact: true }) }).waitFor()

export async function signIn(page: Page, user: string, passphrase: string): Promise<void> {
  await page.getByLabel('User', { exact: true }).fill(user)
  await page.getByLabel('Passphrase', { exact: true }).fill(passphrase)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

const FIRST_PAUSE_MS = 20
const PAUSE_MS_MAX = 1000 // fewer calls of the server than an account may make in a minute

/** Waits until `read` gives `wanted`: what a page shows after an act may need another frame. Fails with what was read last. */
export async function becomes<T>(read: () => T | Promise<T>, wanted: T): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    const found = await read()
    if (isDeepStrictEqual(found, wanted)) return
    if (performance.now() > deadline) return assert.deepEqual(found, wanted)
    await setTimeout(pauseMs)
  }
}

export async function open(page: Page, view: string): Promise<void> {
  await page.getByRole('navigation').waitFor()
  const fold = page.getByRole('navigation').locator('.fold')
  if ((await fold.isVisible()) && (await fold.getAttribute('aria-expanded')) === 'false') await fold.click()
  await page.getByRole('navigation').getByRole('link', { name: view, exact: true }).click()
  await heading(page, view)
}

/** No passphrase in storage, address, history, cookies or the whole page as text. */
export async function nothingLeft(page: Page, secrets: readonly string[]): Promise<void> {
  const kept = await page.evaluate(async () => {
    const databases = await indexedDB.databases()
    return JSON.stringify([
      { ...localStorage },
      { ...sessionStorage },
      databases,
      document.cookie,
      location.href,
      history.state,
      document.documentElement.outerHTML,
      [...document.querySelectorAll('input, textarea')].map((field) => (field as HTMLInputElement).value),
      performance.getEntries().map(({ name }) => name),
    ])
  })
  assert.ok(kept.includes('<h1'))
  for (const secret of secrets)
    for (const form of [secret, btoa(secret), encodeURIComponent(secret)])
      assert.ok(!kept.includes(form), `left in the page: ${form}`)
}
