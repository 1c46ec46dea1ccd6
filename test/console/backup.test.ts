// @test short 10
/** Making a backup on the page: what it omits is said before and after, and a canceled dialog of the browser is no error. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, passphraseOf, provision, startAppliance } from '../support/suite.ts'
import { heading, launchBrowser, open, signIn, visit } from './browser.ts'
import { examine } from './examine.ts'

const browser = await launchBrowser()
let appliance: Appliance

before(async () => {
  appliance = await startAppliance()
  await provision(appliance)
  await addUser(appliance, 'keeper', 'Backup')
  const json = { newPassphrase: 'words that open a backup', currentPassphrase: '' }
  await expect(204, appliance.call('PUT', '/config/backup-passphrase', { as: ADMIN, json }))
  await expect(204, appliance.call('PUT', '/config/ntp', { as: ADMIN, json: { ntpIP: '127.0.0.9' } }))
})
after(async () => {
  await browser.close()
  await appliance.dispose()
})

test('an incomplete backup is announced, named, and not the last one on the overview', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'keeper', passphraseOf('keeper'))
  await heading(page, 'Overview')
  await open(page, 'Backup')
  const form = page.getByLabel('Format', { exact: true })
  await form.waitFor()
  assert.equal(await form.inputValue(), 'nethsm')
  const warning = page.getByText('A backup in this format is incomplete. It omits: the time server.')
  await warning.waitFor()
  await form.selectOption('coffer')
  await warning.waitFor({ state: 'detached' })
  await form.selectOption('nethsm')
  await warning.waitFor()
  await examine(page, 'a backup that omits something')

  // Its dialog is the system's, which no test can press: as in browsers without it, the file is downloaded.
  await page.evaluate(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker'))
  const make = page.getByRole('button', { name: 'Make a backup' })
  await make.click()
  await page.getByText(/\.backup, .*: saved, but incomplete\. It omits: the time server\./).waitFor()
  await page.evaluate(() => {
    location.hash = '#/sign-in'
  })
  await heading(page, 'Sign in')
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await page.getByText('No complete backup was ever made.').waitFor()

  await open(page, 'Backup')
  await page.getByLabel('Format', { exact: true }).selectOption('coffer')
  await make.click()
  await page.getByText(/\.backup, .*: complete\./).waitFor()
  await open(page, 'Overview')
  await page.getByText('Last complete backup').waitFor()
  assert.equal(await page.getByText('No complete backup was ever made.').count(), 0)
  await here.end()
})

test('a canceled save dialog leaves no message and starts no backup', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  // Only a person can close the browser's own dialog; it then rejects like this.
  await page.addInitScript(() => {
    Object.assign(window, {
      showSaveFilePicker: async () => {
        document.title = 'asked'
        throw new DOMException('The user aborted a request.', 'AbortError')
      },
    })
  })
  await page.reload()
  await signIn(page, 'keeper', passphraseOf('keeper'))
  await heading(page, 'Overview')
  await open(page, 'Backup')
  const requests: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  await page.getByRole('button', { name: 'Make a backup' }).click()
  await page.waitForFunction(() => document.title === 'asked')
  await page.getByRole('button', { name: 'Make a backup' }).waitFor()
  assert.deepEqual(await page.getByRole('alert').allTextContents(), [''])
  assert.deepEqual(
    requests.filter((url) => /\/system\/backup(\?|$)/.test(url)),
    [],
  )
  await here.end()
})
