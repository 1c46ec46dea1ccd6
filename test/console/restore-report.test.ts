// @test short 15
/** After a restore the page lists what could not be represented. */

import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { BACKUP_COST } from '../../firmware/backup/backup-key.ts'
import { encodeUser } from '../../firmware/backup/nethsm/records.ts'
import * as words from '../../firmware/console/words.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { forge } from '../backup/forge.ts'
import { BACKUP } from '../backup/rig.ts'
import { ADMIN, UNLOCK } from '../support/in-process.ts'
import { type Appliance, startAppliance } from '../support/suite.ts'
import { heading, launchBrowser, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'

const browser = await launchBrowser()
let appliance: Appliance

before(async () => {
  appliance = await startAppliance()
})
after(async () => {
  await browser.close()
  await appliance.dispose()
})

const utf8 = (text: string) => new TextEncoder().encode(text)

/** Backup of a NetHSM whose key has a tag that Coffer does not allow. */
function backup(): Buffer {
  const key = { mechanisms: [], priv: { raw: 'AAAAAAAAAAAAAAAAAAAAAA==' }, cert: null, operations: 0 }
  const salt = systemRandom(16)
  const passphrase = { salt, digest: createHmac('sha256', salt).update(ADMIN).digest(), cost: 'hmac' as const }
  const records = {
    '/authentication/admin': encodeUser({
      id: 'admin',
      realName: 'admin',
      role: 'Administrator',
      tags: [],
      accessKeys: [],
      revocations: [],
      passphrase,
    }),
    '/key/odd': utf8(JSON.stringify({ ...key, restrictions: { tags: ['good', 'bad tag'] } })),
  }
  return Buffer.from(forge([], records, {}, BACKUP_COST))
}

test('what a restore left out is on the overview and in the view Restore', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await heading(page, 'Set up this Coffer')
  await page.getByLabel('A backup').check()
  const file = { name: 'nethsm.backup', mimeType: 'application/octet-stream', buffer: backup() }
  await page.getByLabel('Backup', { exact: true }).setInputFiles(file)
  await page.getByLabel('Backup passphrase', { exact: true }).fill(BACKUP)
  await page.getByRole('button', { name: 'Restore' }).click()
  await heading(page, 'Coffer is locked')
  await page.getByLabel('Unlock passphrase', { exact: true }).fill(UNLOCK)
  await page.getByRole('button', { name: 'Unlock', exact: true }).click()
  await heading(page, 'Sign in')
  await signIn(page, 'admin', ADMIN)
  await heading(page, 'Overview')
  await page.getByRole('link', { name: words.overviewLeftOut(1) }).click()
  await heading(page, 'Restore')
  await page.getByRole('heading', { name: words.restoreLeftOut }).waitFor()
  await page.getByText(/bad tag/).waitFor()
  await examineAll(page, 'a report of a restore')

  // The same again, into the appliance in use: the report is there at once.
  await open(page, 'Restore')
  await page.getByLabel('Backup', { exact: true }).setInputFiles(file)
  await page.getByLabel('Backup passphrase', { exact: true }).fill(BACKUP)
  await page.getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill(words.restoreTyped)
  await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
  await page.getByText(words.restoreDone).waitFor()
  await page.getByRole('heading', { name: words.restoreLeftOut }).waitFor()
  await here.end()
})
