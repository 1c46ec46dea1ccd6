// @test short 15
/** Orders of certificates on the page: set without showing the key again, why they fail, and ordered at once. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as acmeWords from '../../firmware/console/acme-words.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN } from '../support/suite.ts'
import { heading, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'
import { openProvisioned } from './provisioned.ts'

const KEY = 'c2VjcmV0LW9mLXRoZS1leHRlcm5hbC1hY2NvdW50'
const DIRECTORY = 'https://127.0.0.1/directory' // nothing is sent to an address of the appliance

const { browser, appliance } = await openProvisioned()

async function settings() {
  const shown = (await expect(200, appliance.call('GET', '/config/acme', { as: ADMIN }))).json<
    Record<string, unknown>
  >()
  const { ports: _ports, account: _account, ...rest } = shown
  return rest
}

test('orders are set, fail with their reason, are tried at once, and are switched off', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await open(page, 'Certificate')
  const card = (title: string) =>
    page.locator('.card', { has: page.getByRole('heading', { level: 2, name: title, exact: true }) })
  const form = card(acmeWords.settings)
  const field = (label: string) => form.getByLabel(label, { exact: true })
  const port = (name: 'appliance' | 'chat') => page.getByRole('region', { name: acmeWords.ports[name], exact: true })
  for (const name of ['appliance', 'chat'] as const) {
    await port(name).getByText(acmeWords.states.off!, { exact: true }).waitFor()
    assert.equal(await port(name).getByRole('button').count(), 0)
  }

  here.allowed.add(400)
  await field(acmeWords.directory).fill('http://ca.example.org/directory')
  await form.getByRole('button').click()
  await form.getByText('must be an https URL').waitFor()
  await field(acmeWords.directory).fill(DIRECTORY)
  await field(acmeWords.terms).selectOption({ label: acmeWords.termsAgreed })
  await field(acmeWords.contact).fill('admin@example.org, security@example.org')
  await field(acmeWords.challenge).selectOption('tls-alpn-01')
  await field(acmeWords.profile).fill('shortlived')
  await field(acmeWords.names.appliance).fill('coffer.example.org 192.0.2.7')
  await field(acmeWords.kid).fill('account-1')
  await field(acmeWords.key).fill(KEY)
  assert.equal(await field(acmeWords.key).getAttribute('type'), 'password')
  await form.getByRole('button').click()
  await form.getByText('Saved.').waitFor()
  const set = {
    directory: DIRECTORY,
    contact: ['admin@example.org', 'security@example.org'],
    termsAgreed: true,
    eab: { kid: 'account-1', key: true },
    challenge: 'tls-alpn-01',
    profile: 'shortlived',
    appliance: ['coffer.example.org', '192.0.2.7'],
    chat: [],
  }
  assert.deepEqual(await settings(), set)

  const own = port('appliance')
  await own.getByText(acmeWords.states.failing!, { exact: true }).waitFor() // without a reload of the page
  await own.getByText('leads to an address that nothing is sent to').waitFor()
  assert.ok(!(await page.content()).includes(KEY))
  await examineAll(page, 'orders of certificates')

  const renew = own.getByRole('button')
  const tried = page.waitForResponse((reply) => reply.url().endsWith('/config/acme/renew'))
  await renew.click()
  assert.equal((await tried).status(), 204)
  await own.getByText(acmeWords.states.failing!, { exact: true }).waitFor()

  const saved = () => page.waitForResponse((reply) => reply.request().method() === 'PUT' && reply.status() === 204)
  await field(acmeWords.profile).fill('')
  let done = saved()
  await form.getByRole('button').click()
  await done
  assert.deepEqual(await settings(), { ...set, profile: null }) // an empty field keeps the key

  // The form reads the settings again once they are saved, and would take back what was typed before that.
  await open(page, 'Overview')
  await open(page, 'Certificate')
  await field(acmeWords.directory).fill('')
  done = saved()
  await form.getByRole('button').click()
  await done
  await own.getByText(acmeWords.states.off!, { exact: true }).waitFor()
  assert.deepEqual(await settings(), { ...set, directory: null, profile: null, eab: null })
  await here.end()
})
