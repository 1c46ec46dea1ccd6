// @test short 15
/** The quota of a namespace on the page. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import * as words from '../../firmware/console/words.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, provision, startAppliance } from '../support/suite.ts'
import { heading, launchBrowser, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'

const browser = await launchBrowser()
let appliance: Appliance

before(async () => {
  appliance = await startAppliance()
  await provision(appliance)
  await expect(204, appliance.call('PUT', '/namespaces/team', { as: ADMIN }))
})
after(async () => {
  await browser.close()
  await appliance.dispose()
})

const quota = async (): Promise<unknown> =>
  (await expect(200, appliance.call('GET', '/namespaces/team/quota', { as: ADMIN }))).json()

test('an administrator reads and sets the quota of a namespace', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await open(page, 'Namespaces')
  await page.getByRole('link', { name: 'team', exact: true }).click()
  await heading(page, 'team')
  const [keys, users] = [page.getByLabel(words.namespacesKeys), page.getByLabel(words.namespacesUsers)]
  const save = page.getByRole('button', { name: words.settingsSave(words.namespacesQuota) })
  await keys.waitFor()
  assert.deepEqual([await keys.inputValue(), await users.inputValue()], ['10000', '1000'])
  await keys.fill('20000')
  for (const wrong of ['', 'many', '-1', '1.5']) {
    await users.fill(wrong)
    await save.click()
    await page.getByText(words.notWhole(words.namespacesUsers)).waitFor()
  }
  await examineAll(page, 'a quota that is refused')
  assert.deepEqual(await quota(), { keys: 10_000, users: 1000 })
  here.allowed.add(400)
  await users.fill('10000001')
  await save.click()
  await page.getByText('Status 400').waitFor()
  assert.equal(await keys.inputValue(), '20000') // a refusal loses nothing
  await users.fill('0')
  await save.click()
  await page.getByText(words.settingsSaved).waitFor()
  assert.deepEqual(await quota(), { keys: 20_000, users: 0 })
  await here.end()
})
