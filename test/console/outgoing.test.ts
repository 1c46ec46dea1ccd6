// @test short 15
/** Outgoing connections on the page: set without showing the password again, and tested. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import * as words from '../../firmware/console/words.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN } from '../support/suite.ts'
import { heading, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'
import { openProvisioned } from './provisioned.ts'

const SECRET = 'a password of the proxy'

const { browser, appliance } = await openProvisioned()

const settings = async () =>
  (await expect(200, appliance.call('GET', '/config/outgoing', { as: ADMIN }))).json<Record<string, unknown>>()

const card = (page: Page, title: string) =>
  page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) })

test('a proxy is set and taken away, and a connection is tested', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await open(page, 'Settings')
  const form = card(page, words.outgoing)
  const field = (label: string) => form.getByLabel(label, { exact: true })
  await field(words.outgoingResolvers).fill('192.0.2.1, [2001:db8::1]:53')
  await field(words.outgoingProxy).fill('proxy.example.org')
  await form.getByRole('button').click()
  await form.getByText(words.outgoingNoPlace).waitFor()
  await field(words.outgoingProxy).fill('proxy.example.org:3128')
  await field(words.outgoingProxyUser).fill('coffer')
  await field(words.outgoingProxyPassword).fill(SECRET)
  await field(words.outgoingProxyExcept).fill('.example.net 10.0.0.0/8')
  await form.getByRole('button').click()
  await form.getByText('Saved.').waitFor()
  const proxy = { host: 'proxy.example.org', port: 3128, user: 'coffer', password: true }
  assert.deepEqual(await settings(), {
    resolvers: ['192.0.2.1', '[2001:db8::1]:53'],
    proxy,
    proxyExcept: ['.example.net', '10.0.0.0/8'],
    authorities: '',
    publicAuthorities: true,
  })
  assert.equal(await field(words.outgoingProxyPassword).getAttribute('type'), 'password')
  await page.waitForFunction((label) => {
    const field = [...document.querySelectorAll('label')].find(({ textContent }) => textContent === label)
    return (document.getElementById(field?.htmlFor ?? '') as HTMLInputElement | null)?.value === ''
  }, words.outgoingProxyPassword)
  await examineAll(page, 'outgoing connections')

  await field(words.outgoingPublic).selectOption({ label: words.outgoingPublicOff })
  const saved = page.waitForResponse((reply) => reply.request().method() === 'PUT' && reply.status() === 204)
  await form.getByRole('button').click()
  await saved
  assert.deepEqual((await settings()).proxy, proxy) // an empty field keeps the password

  await field(words.outgoingProxy).fill('')
  const cleared = page.waitForResponse((reply) => reply.request().method() === 'PUT' && reply.status() === 204)
  await form.getByRole('button').click()
  await cleared
  assert.equal((await settings()).proxy, null)

  const testing = card(page, words.outgoingTest)
  await testing.getByLabel(words.outgoingHost, { exact: true }).fill('127.0.0.1')
  await testing.getByRole('button').click()
  await testing.getByText('leads to an address that nothing is sent to').waitFor()
  await here.end()
})
