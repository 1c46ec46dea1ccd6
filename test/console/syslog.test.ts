// @test short 15
/** The log server over TLS on the page: set, its state shown, and taken away. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import * as words from '../../firmware/console/words.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN } from '../support/suite.ts'
import { heading, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'
import { openProvisioned } from './provisioned.ts'

const FINGERPRINT = `sha-256${':0A'.repeat(32)}`

const { browser, appliance } = await openProvisioned()

async function settings() {
  const shown = (await expect(200, appliance.call('GET', '/config/syslog', { as: ADMIN }))).json()
  return { server: shown.server, port: shown.port, send: shown.send, fingerprints: shown.fingerprints }
}

const card = (page: Page, title: string) =>
  page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) })

test('a log server is set, its state is shown, and it is taken away', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await open(page, 'Settings')
  const form = card(page, words.syslog)
  const field = (label: string) => form.getByLabel(label, { exact: true })
  await form.getByText('Nothing is sent.').waitFor()
  await field(words.syslogServer).fill('log.invalid')
  await field(words.syslogPort).fill('6515')
  await field(words.syslogSend).selectOption({ label: words.syslogSendAudit })
  await field(words.syslogFingerprints).fill(FINGERPRINT)
  await form.getByRole('button').click()
  await form.getByText('Saved.').waitFor()
  const set = { server: 'log.invalid', port: 6515, send: 'audit', fingerprints: [FINGERPRINT] }
  assert.deepEqual(await settings(), set)
  await form
    .getByText(/^(?:Cannot forward.*)?Confirmed up to line 0 of the audit log; [1-9]\d* lines? waits?/)
    .waitFor()
  await examineAll(page, 'the log server over TLS')

  await field(words.syslogFingerprints).fill('')
  await field(words.syslogServer).fill('')
  await form.getByRole('button').click()
  await form.getByText('Nothing is sent.').waitFor()
  assert.deepEqual(await settings(), { ...set, server: null, fingerprints: [] })
  await here.end()
})
