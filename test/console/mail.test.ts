// @test short 15
/** Alerts on the page: the overview shows the list of the API, and mail is set without showing the password again, and tested. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Alert } from '../../firmware/client/types.ts'
import * as mailWords from '../../firmware/console/mail-words.ts'
import * as words from '../../firmware/console/words.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN } from '../support/suite.ts'
import { heading, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'
import { openProvisioned } from './provisioned.ts'

const SECRET = 'a password of the mail server'

const { browser, appliance } = await openProvisioned()

const get = async <T>(path: string) => (await expect(200, appliance.call('GET', path, { as: ADMIN }))).json<T>()

const card = (page: Page, title: string) =>
  page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) })

test('the overview shows each alert of the API, with a link to what mends it', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  const alerts = await get<Alert[]>('/alerts')
  assert.ok(alerts.some(({ id }) => id === 'backup'))
  const shown = card(page, words.overviewAttention)
  for (const { text } of alerts) await shown.getByText(text, { exact: true }).waitFor()
  await shown.getByRole('link', { name: words.overviewMend.backup }).waitFor() // no passphrase is set
  await here.end()
})

test('mail is set, changed without its password, taken away, and tested', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await open(page, 'Settings')
  const form = card(page, mailWords.mail)
  const field = (label: string) => form.getByLabel(label, { exact: true })
  const save = async () => {
    const saved = page.waitForResponse((reply) => reply.request().method() === 'PUT' && reply.status() === 204)
    await form.getByRole('button').click()
    await saved
  }
  await field(mailWords.server).fill('127.0.0.1')
  await field(mailWords.port).fill('1')
  await field(mailWords.security).selectOption('none')
  await field(mailWords.user).fill('coffer')
  await field(mailWords.password).fill(SECRET)
  await field(mailWords.from).fill('coffer@example.org')
  await field(mailWords.to).fill('one@example.org two@example.org')
  await field(mailWords.alerts).fill('disk store')
  await save()
  await form.getByText('Saved.').waitFor()
  const expected = {
    ...{ server: '127.0.0.1', port: 1, security: 'none', user: 'coffer', from: 'coffer@example.org' },
    ...{ to: ['one@example.org', 'two@example.org'], alerts: ['disk', 'store'], password: true },
  }
  assert.deepEqual(await get('/config/mail'), expected)
  assert.equal(await field(mailWords.password).getAttribute('type'), 'password')
  await examineAll(page, 'mail of alerts')
  await field(mailWords.alerts).fill('')
  await save()
  assert.deepEqual(await get('/config/mail'), { ...expected, alerts: null }) // an empty field keeps the password

  const testing = card(page, mailWords.test)
  await testing.getByRole('button').click()
  await testing.getByText(/The mail was not taken: it could not be reached \(ECONNREFUSED\)/).waitFor()

  await field(mailWords.server).fill('')
  await save()
  assert.equal((await get<{ server: string | null }>('/config/mail')).server, null)
  await here.end()
})
