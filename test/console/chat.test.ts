// @test short 20
/** The chat on the page: its organization is made, set, recovered and removed, without any other client. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import * as chatWords from '../../firmware/console/chat-words.ts'
import * as words from '../../firmware/console/words.ts'
import { ask } from '../chat/support/process.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, provision, startAppliance } from '../support/suite.ts'
import { heading, launchBrowser, open, signIn, type Visit, visit } from './browser.ts'
import { examineAll } from './examine.ts'

const OWNER = 'olivia@example.org'
const PASSWORD = 'a password of an owner'
const NEW_PASSWORD = 'another password of hers'

const browser = await launchBrowser()
let appliance: Appliance

before(async () => {
  appliance = await startAppliance({ settings: { COFFER_CHAT_PORT: '0' } })
  await provision(appliance)
})
after(async () => {
  await browser.close()
  await appliance.dispose()
})

async function begin(): Promise<Visit> {
  const here = await visit(browser, appliance)
  await signIn(here.page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(here.page, 'Overview')
  await open(here.page, 'Chat')
  return here
}

const get = async <T>(path: string): Promise<T> =>
  (await expect(200, appliance.call('GET', path, { as: ADMIN }))).json<T>()
const chat = () => get<{ state: string; port: number }>('/chat')
const settings = () => get<Record<string, unknown>>('/chat/settings')

const card = (page: Page, title: string) =>
  page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) })

async function fillTwice(page: Page, label: string, text: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).fill(text)
  await page.getByLabel(`${label}, again`, { exact: true }).fill(text)
}

const statusOfSignIn = async (password: string): Promise<number> =>
  (await ask((await chat()).port, 'POST', '/fetch_api_key', { form: { username: OWNER, password } })).status

test('an organization is made, with an owner who signs in', async () => {
  const here = await begin()
  const { page } = here
  await page.getByLabel(chatWords.name).fill('Example')
  await page.getByLabel(chatWords.url).fill('chat.example.org')
  await page.getByLabel(chatWords.fullName).fill('Olivia Owner')
  await page.getByLabel(chatWords.email).fill(OWNER)
  await fillTwice(page, chatWords.password, PASSWORD)
  here.allowed.add(400)
  const make = page.getByRole('button', { name: chatWords.make })
  await make.click()
  await page.getByText('must be like https://chat.example.org').waitFor()
  await examineAll(page, 'an organization that is refused')
  await page.getByLabel(chatWords.url).fill('')
  assert.equal(await page.getByLabel(chatWords.name).inputValue(), 'Example') // a refusal loses nothing
  await make.click()
  await page.getByText(chatWords.states.running, { exact: true }).waitFor()
  const { port } = await chat()
  assert.equal(await page.getByRole('link', { name: `https://127.0.0.1:${port}` }).count(), 1)
  assert.equal(await statusOfSignIn(PASSWORD), 200)
  await examineAll(page, 'the chat')
  await here.end()
})

test('settings are shown, changed and refused without a loss', async () => {
  const here = await begin()
  const { page } = here
  const form = card(page, chatWords.settings)
  const save = form.getByRole('button')
  await form.getByLabel(chatWords.quota).fill('many')
  await form.getByLabel(chatWords.hosts).fill('hooks.example.org:8443 hooks.example.net')
  await save.click()
  await form.getByText(words.notWhole(chatWords.quota)).waitFor()
  assert.equal((await settings()).uploadQuotaMib, null)
  await form.getByLabel(chatWords.quota).fill('1000')
  await form.getByLabel(chatWords.previews).selectOption({ label: chatWords.previewsOn })
  await form.getByLabel(chatWords.url).fill('https://chat.example.org')
  await save.click()
  await form.getByText('Saved.').waitFor()
  assert.deepEqual(await settings(), {
    url: 'https://chat.example.org',
    ownerFullContentAccess: false,
    uploadQuotaMib: 1000,
    outgoingHosts: ['hooks.example.org:8443', 'hooks.example.net'],
    externalPreviews: true,
    jwt: null,
    webPush: null,
  })
  await page.getByRole('link', { name: 'https://chat.example.org' }).waitFor()
  await form.getByLabel(chatWords.quota).fill('')
  await form.getByLabel(chatWords.hosts).fill('')
  const saved = page.waitForResponse((reply) => reply.request().method() === 'PUT' && reply.status() === 204)
  await save.click()
  await saved
  const { uploadQuotaMib, outgoingHosts } = await settings()
  assert.deepEqual([uploadQuotaMib, outgoingHosts], [null, []])
  await here.end()
})

test('tokens are set with a secret or a public key, and never shown', async () => {
  const here = await begin()
  const { page } = here
  const form = card(page, chatWords.token)
  const save = form.getByRole('button')
  const algorithm = form.getByLabel(chatWords.tokenAlgorithm)
  await form.getByText(chatWords.tokenIsOff).waitFor()
  await algorithm.selectOption('HS256')
  await form.getByLabel(chatWords.tokenSecret).fill('short')
  await save.click()
  await form.getByText(chatWords.tokenShort).waitFor()
  await algorithm.selectOption('ES256')
  await form.getByLabel(chatWords.tokenKey).fill('no key')
  await save.click()
  await form.getByText(chatWords.tokenNoKey).waitFor()
  assert.equal((await settings()).jwt, null)
  const key = { id: 'tokens', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json: key }))
  const pem = await expect(200, appliance.call('GET', '/keys/tokens/public.pem', { as: ADMIN }))
  await form.getByLabel(chatWords.tokenKey).fill(pem.text())
  await save.click()
  await form.getByText(chatWords.tokenIs('ES256')).waitFor()
  assert.deepEqual((await settings()).jwt, { algorithm: 'ES256' })
  await algorithm.selectOption('HS256')
  await form.getByLabel(chatWords.tokenSecret).fill('a secret of more than thirty-two bytes')
  await save.click()
  await form.getByText(chatWords.tokenIs('HS256')).waitFor()
  assert.equal(await form.getByLabel(chatWords.tokenSecret).inputValue(), '')
  await algorithm.selectOption({ label: chatWords.tokenOff })
  await save.click()
  await form.getByText(chatWords.tokenIsOff).waitFor()
  assert.equal((await settings()).jwt, null)
  await here.end()
})

test('an owner is recovered by a new password', async () => {
  const here = await begin()
  const { page } = here
  const form = card(page, chatWords.recover)
  here.allowed.add(404)
  await form.getByLabel(chatWords.email).fill('nobody@example.org')
  await fillTwice(page, chatWords.password, NEW_PASSWORD)
  await form.getByRole('button', { name: chatWords.recover }).click()
  await form.getByText('Status 404').waitFor()
  await form.getByLabel(chatWords.email).fill(OWNER)
  await form.getByRole('button', { name: chatWords.recover }).click()
  await form.getByText(chatWords.recovered).waitFor()
  assert.deepEqual([await statusOfSignIn(NEW_PASSWORD), await statusOfSignIn(PASSWORD)], [200, 401])
  await here.end()
})

test('its certificate is made anew, and a file without a certificate is not sent, at either port', async () => {
  const here = await begin()
  const { page } = here
  const puts: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'PUT') puts.push(request.url())
  })
  for (const view of ['Chat', 'Certificate']) {
    await open(page, view)
    await page
      .getByLabel('Certificate chain in PEM')
      .setInputFiles({ name: 'no.pem', mimeType: 'text/plain', buffer: Buffer.from('no certificate') })
    await page.getByRole('button', { name: 'Install', exact: true }).click()
    await page.getByText('This file does not hold a certificate in PEM.').waitFor()
  }
  assert.deepEqual(puts, [])
  await open(page, 'Chat')
  const pem = (await appliance.call('GET', '/chat/tls/cert.pem', { as: ADMIN })).text()
  const fingerprint = new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase()
  await page.getByText(fingerprint).waitFor() // in hex, as browsers show it
  const before = (await appliance.call('GET', '/chat/tls/public.pem', { as: ADMIN })).text()
  await page.getByRole('button', { name: 'Generate a new key' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('new key')
  await page.getByRole('dialog').getByRole('button', { name: 'Generate a new key' }).click()
  await page.getByText(chatWords.certificateAfterwards).waitFor()
  assert.notEqual((await appliance.call('GET', '/chat/tls/public.pem', { as: ADMIN })).text(), before)
  await here.end()
})

test('the organization is removed only by its name', async () => {
  const here = await begin()
  const { page } = here
  here.allowed.add(400)
  await page.getByRole('button', { name: chatWords.remove }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel(chatWords.name).fill('Another')
  await dialog.getByRole('button', { name: chatWords.remove }).click()
  await dialog.getByText('Status 400').waitFor()
  assert.equal((await chat()).state, 'running')
  await examineAll(page, 'removing the organization')
  await dialog.getByLabel(chatWords.name).fill('Example')
  await dialog.getByRole('button', { name: chatWords.remove }).click()
  await page.getByRole('button', { name: chatWords.make }).waitFor()
  assert.equal((await chat()).state, 'none')
  await here.end()
})

test('a view whose script is gone, as after an update, says to reload the page', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  here.allowed.add(404)
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await page.route('**/console/*.js', (route) => route.fulfill({ status: 404 }))
  await open(page, 'Chat')
  await page.getByText(words.partMissing).waitFor()
  await here.end()
})
