// @test short 15
/** Versions of a key on the page: added, retired, deleted, and shown to Operators who can do none of it. Contract section 7.11. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { KeyVersions } from '../../firmware/client/types.ts'
import * as versionWords from '../../firmware/console/version-words.ts'
import * as words from '../../firmware/console/words.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, passphraseOf, provision, startAppliance } from '../support/suite.ts'
import { heading, launchBrowser, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'

/** Ends the text of an item, and not that of the button that deletes versions. */
const RETIRED = new RegExp(`: ${versionWords.retired}$`)

const browser = await launchBrowser()
let appliance: Appliance

before(async () => {
  appliance = await startAppliance()
  await provision(appliance)
  await addUser(appliance, 'web', 'Operator')
  for (const [id, type] of [
    ['web-key', 'EC_P256'],
    ['plain', 'EC_P256K1'],
  ]) {
    const json = { id, type, mechanisms: ['ECDSA_Signature'] }
    await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json }))
  }
})
after(async () => {
  await browser.close()
  await appliance.dispose()
})

const card = (page: Page) =>
  page.locator('.card', { has: page.getByRole('heading', { name: versionWords.versions, exact: true }) })

const versionsOf = async (): Promise<KeyVersions> =>
  (await expect(200, appliance.call('GET', '/keys/web-key/versions', { as: ADMIN }))).json()

const limit = (json: object, id = 'web-key') =>
  expect(204, appliance.call('PUT', `/keys/${id}/versions`, { as: ADMIN, json }))

async function openKey(page: Page, id: string): Promise<void> {
  await open(page, 'Keys')
  await page.getByRole('link', { name: id, exact: true }).click()
  await heading(page, id)
}

test('a version is added, older ones are retired and allowed again', async () => {
  const here = await visit(browser, appliance)
  here.allowed.add(404).add(400) // of keys without a certificate, and of a limit that is refused
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await openKey(page, 'web-key')
  const versions = card(page)
  await versions.getByText(`${versionWords.version(1)} (`).waitFor()
  for (const number of [2, 3]) {
    await versions.getByRole('button', { name: versionWords.add }).click()
    await page.getByRole('dialog').getByRole('button', { name: versionWords.add, exact: true }).click()
    await versions.getByText(`${versionWords.version(number)} (`).waitFor()
  }
  assert.equal((await versionsOf()).latest, 3)
  await examineAll(page, 'versions of a key')
  const lowest = versions.getByLabel(versionWords.lowest, { exact: true })
  const retire = versions.getByRole('button', { name: versionWords.retire })
  await lowest.fill('many')
  await versions.getByText(versionWords.badNumber).waitFor()
  await lowest.fill('4')
  await retire.click()
  await versions.getByText('latest key version is 3').waitFor()
  assert.equal((await versionsOf()).minDecryption, 1)
  await lowest.fill('2')
  await retire.click()
  await versions.getByText(RETIRED).waitFor()
  const { minDecryption, minEncryption } = await versionsOf()
  assert.deepEqual([minDecryption, minEncryption], [2, 0])
  await versions.getByLabel(versionWords.lowest, { exact: true }).fill('1')
  await retire.click()
  await versions.getByText(RETIRED).waitFor({ state: 'detached' })
  const after = await versionsOf()
  assert.deepEqual([after.minDecryption, after.minEncryption], [1, 0])
  await openKey(page, 'plain')
  await page.getByRole('heading', { name: words.keyManage }).waitFor()
  assert.equal(await card(page).count(), 0)
  await here.end()
})

test('a limit that was set apart stays, and a change that was not seen is not undone', async () => {
  const here = await visit(browser, appliance)
  here.allowed.add(404).add(412)
  const { page } = here
  await limit({ minDecryption: 2, minEncryption: 3 })
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await openKey(page, 'web-key')
  const lowest = card(page).getByLabel(versionWords.lowest, { exact: true })
  const retire = card(page).getByRole('button', { name: versionWords.retire })
  await lowest.fill('1')
  await retire.click()
  await card(page).getByText(RETIRED).waitFor({ state: 'detached' })
  const { minDecryption, minEncryption } = await versionsOf()
  assert.deepEqual([minDecryption, minEncryption], [1, 3])
  await limit({ minDecryption: 3 })
  await lowest.fill('2')
  const painted = lowest.evaluate(
    (field: HTMLInputElement) =>
      new Promise((resolve) => {
        const list = field.closest('.card')!.querySelector('ul')!
        const changes = { subtree: true, childList: true, characterData: true }
        new MutationObserver(() => requestAnimationFrame(() => resolve(field.value))).observe(list, changes)
      }),
  )
  await retire.click()
  await card(page).getByText(words.problemChanged).waitFor()
  await card(page).getByText(RETIRED).first().waitFor()
  assert.equal(await painted, '3') // in the frame that first shows the other versions
  assert.equal((await versionsOf()).minDecryption, 3)
  await limit({ minDecryption: 1, minEncryption: 0 })
  await here.end()
})

test('an Operator sees the versions and changes none', async () => {
  const here = await visit(browser, appliance)
  here.allowed.add(404)
  const { page } = here
  await signIn(page, 'web', passphraseOf('web'))
  await heading(page, 'Overview')
  await openKey(page, 'web-key')
  await card(page)
    .getByText(`${versionWords.version(3)} (`)
    .waitFor()
  assert.equal(await card(page).getByRole('button').count(), 0)
  await here.end()
})

test('retired versions are deleted when the name of the key is typed, and the key leaves the page', async () => {
  const here = await visit(browser, appliance)
  here.allowed.add(404).add(412)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await openKey(page, 'web-key')
  const remove = card(page).getByRole('button', { name: versionWords.deleteRetired, exact: true })
  await card(page).getByRole('button', { name: versionWords.add }).waitFor()
  assert.equal(await remove.count(), 0, 'no version is retired')
  await limit({ minDecryption: 2 })
  await openKey(page, 'web-key')
  await remove.click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(versionWords.deleteText(1)).waitFor()
  await examineAll(page, 'deleting versions of a key')
  await dialog.getByRole('textbox').fill('other')
  await dialog.getByRole('button', { name: versionWords.deleteRetired }).click()
  await dialog.getByText(words.confirmWrong).waitFor()
  assert.equal((await versionsOf()).minAvailable, 0)
  // Another administrator retires one more meanwhile, which this one has not seen.
  await limit({ minDecryption: 3 })
  await dialog.getByRole('textbox').fill('web-key')
  await dialog.getByRole('button', { name: versionWords.deleteRetired }).click()
  await dialog.getByText(words.problemChanged).waitFor()
  await dialog.getByText(versionWords.deleteText(2)).waitFor()
  await dialog.getByRole('button', { name: versionWords.deleteRetired }).click()
  await heading(page, 'Keys')
  await page.getByRole('link', { name: 'plain', exact: true }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'web-key', exact: true }).count(), 0)
  const { minDecryption, minEncryption, minAvailable, versions } = await versionsOf()
  assert.deepEqual([minDecryption, minEncryption, minAvailable], [3, 3, 3])
  assert.deepEqual(
    versions.map(({ version }) => version),
    [3],
  )
  await here.end()
})

test('a deletion whose answer is lost is done when it is repeated', async () => {
  const here = await visit(browser, appliance)
  here.allowed.add(404).add(412)
  const { page } = here
  await makeRetired('lost')
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await openKey(page, 'lost')
  await card(page).getByRole('button', { name: versionWords.deleteRetired, exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill('lost')
  await page.route('**/keys/lost/versions', async (route) => {
    if (route.request().method() !== 'PUT') return route.continue()
    await route.fetch()
    await route.fulfill({ status: 503, json: { message: 'The answer is lost' } })
  })
  here.allowed.add(503)
  await dialog.getByRole('button', { name: versionWords.deleteRetired }).click()
  await dialog.getByText('The answer is lost').waitFor()
  await page.unroute('**/keys/lost/versions')
  await dialog.getByRole('button', { name: versionWords.deleteRetired }).click()
  await heading(page, 'Keys')
  await here.end()
})

test('the page of a key says that it could not be loaded again', async () => {
  const here = await visit(browser, appliance)
  here.allowed.add(404).add(412)
  const { page } = here
  await makeRetired('gone')
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await openKey(page, 'gone')
  const lowest = card(page).getByLabel(versionWords.lowest, { exact: true })
  await lowest.waitFor()
  await limit({ minAvailable: 2, minEncryption: 2 }, 'gone')
  await lowest.fill('1')
  await card(page).getByRole('button', { name: versionWords.retire }).click()
  await page.getByRole('button', { name: words.again }).waitFor()
  await here.end()
})

/** Makes a key of two versions, the first of them retired. */
async function makeRetired(id: string): Promise<void> {
  const json = { id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json }))
  await expect(201, appliance.call('POST', `/keys/${id}/versions`, { as: ADMIN }))
  await limit({ minDecryption: 2 }, id)
}
