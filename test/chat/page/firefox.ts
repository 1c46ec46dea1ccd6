/**
 * Firefox on the page of a real chat, over WebDriver BiDi. The rules are those of browser.ts. A violation of the policy is an error of the
 * page there.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { launch, type Page } from 'puppeteer-core'
import { defined } from '../../../firmware/base/defined.ts'
import { WAIT_MS_MAX } from '../../console/browser.ts'
import type { Ending } from '../../support/process.ts'

const PROGRAM = '/usr/bin/firefox-esr'

interface FirefoxVisit {
  page: Page
  /** Waits for an element with this role and exactly this name. */
  see(role: string, name: string): Promise<unknown>
  seeText(text: string): Promise<unknown>
  click(role: string, name: string): Promise<void>
  fill(role: string, name: string, text: string): Promise<void>
  /** Throws unless all went well. */
  end(): Promise<void>
}

/** A browser of its own. 401 of one without a session is no fault. */
export async function visitInFirefox(t: Ending, port: number, path = '/'): Promise<FirefoxVisit> {
  const home = mkdtempSync(join(tmpdir(), 'coffer-firefox-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const profile = join(home, 'profile')
  mkdirSync(profile)
  writeFileSync(join(profile, 'cert_override.txt'), await exceptionFor(port))
  const browser = await launch({
    browser: 'firefox',
    executablePath: PROGRAM,
    userDataDir: profile,
    timeout: WAIT_MS_MAX,
    protocolTimeout: WAIT_MS_MAX,
    defaultViewport: { width: 1280, height: 860 },
    env: { ...process.env, HOME: home },
  })
  t.after(() => browser.close())
  const [page = await browser.newPage()] = await browser.pages()
  page.setDefaultTimeout(WAIT_MS_MAX)
  const origin = `https://127.0.0.1:${port}`
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`error: ${error instanceof Error ? error.stack : String(error)}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (['error', 'warn', 'assert'].includes(message.type())) faults.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !/^(data:|blob:)/.test(url)) faults.push(`request to ${url}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400 && response.status() !== 401) faults.push(`${response.status()} of ${response.url()}`)
  })
  const answer = await page.goto(`${origin}${path}`)
  assert.equal(answer?.status(), 200)
  const find = (role: string, name: string) => page.locator(`::-p-aria([name="${name}"][role="${role}"])`)
  return {
    page,
    see: (role, name) => find(role, name).wait(),
    seeText: (text) => page.locator(`::-p-text(${text})`).wait(),
    click: (role, name) => find(role, name).click(),
    fill: (role, name, text) => find(role, name).fill(text),
    async end() {
      await browser.close()
      assert.deepEqual(faults, [])
    },
  }
}

/** As Firefox keeps that a person has accepted a certificate which it does not trust. */
async function exceptionFor(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = defined(socket.getPeerX509Certificate())
  socket.destroy()
  return `127.0.0.1:${port}:\tOID.2.16.840.1.101.3.4.2.1\t${fingerprint256}\t\n` // SHA-256
}
