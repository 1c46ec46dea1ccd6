/** Updates in the page: another kind of file, notes, discarded, installed and good, and one that does not prove good. */

import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { freePort } from '../../tools/free-ports.ts'
import { ADMIN_PASSPHRASE, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { makeUpdates, NOTES } from '../support/updates.ts'
import { heading, launchBrowser, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'

const browser = await launchBrowser()

test('discarded, installed and good, and left with its reason', async (t) => {
  t.after(() => browser.close())
  const program = await buildForTests()
  const { key, good, next, bad } = await makeUpdates()
  const data = makeDataDirectory(t)
  cpSync(key, join(data, 'release.pub'))
  // The same after each start: the page stays where it is.
  const settings = { COFFER_PORT: `${await freePort()}` }
  const coffer = startCoffer(t, { program, data, settings })
  await coffer.see(/Unprovisioned/)
  await provision(coffer)

  const here = await visit(browser, await coffer.target())
  const { page } = here
  here.mayBeAway = true
  here.allowed.add(400).add(412).add(503) // of another kind of file; just when it stops; on trial
  await signIn(page, 'admin', ADMIN_PASSPHRASE)
  await open(page, 'Update')
  await upload(page, key)
  await page.getByText('Status 400').waitFor()
  await examineAll(page, 'an image that was refused')
  await upload(page, good)
  await page.getByText(NOTES).waitFor()
  assert.equal(await page.locator('main :is(b, img, script)').count(), 0)
  assert.equal(await page.title(), 'Update · Coffer')
  await examineAll(page, 'an update that waits')
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByText('The image was discarded.').waitFor()
  await upload(page, good)
  await page.getByText(NOTES).waitFor()
  await page.getByRole('button', { name: 'Install' }).click()
  await unlock(page)
  await page.getByText(`Version ${next}.0 is running and has passed its trial.`).waitFor()

  await upload(page, bad)
  await page.getByText(NOTES).waitFor()
  await page.getByRole('button', { name: 'Install' }).click()
  await unlock(page)
  await page.getByText('The new version failed its trial.').waitFor()
  await page
    .getByText(/exit code 3/)
    .first()
    .waitFor()
  await examineAll(page, 'an update that was left')
  await here.end()
})

async function upload(page: Page, file: string): Promise<void> {
  await page.getByLabel('Update image').setInputFiles(file)
  await page.getByRole('button', { name: 'Upload' }).click()
}

async function unlock(page: Page): Promise<void> {
  await heading(page, 'Coffer is locked')
  await page.getByLabel('Unlock passphrase', { exact: true }).fill(UNLOCK_PASSPHRASE)
  await page.getByRole('button', { name: 'Unlock', exact: true }).click()
  await heading(page, 'Update')
}
