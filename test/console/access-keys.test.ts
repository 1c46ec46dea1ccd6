// @test short 15
/** The transit API on the page: switched on, and an access key that is made, shown once with commands for a shell, used and deleted. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import * as words from '../../firmware/console/words.ts'
import { BAO, needsBao, run } from '../kms/transit/bao.ts'
import { expect } from '../support/appliance.ts'
import { makeDataDirectory } from '../support/process.ts'
import { ADMIN, addUser, passphraseOf } from '../support/suite.ts'
import { heading, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'
import { openProvisioned } from './provisioned.ts'

const { browser, appliance } = await openProvisioned()

const card = (page: Page, title: string) =>
  page.locator('.card', { has: page.getByRole('heading', { name: title, exact: true }) })

const interfaces = async () => (await expect(200, appliance.call('GET', '/config/interfaces', { as: ADMIN }))).json()

const lookUp = async (token: string) =>
  (await appliance.call('GET', '//v1/auth/token/lookup-self', { headers: { 'x-vault-token': token } })).status

test('the transit API is switched on; an access key is made, shown once and deleted', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await open(page, 'Settings')
  const form = card(page, words.settingsInterfaces)
  await form.getByLabel(words.settingsTransit, { exact: true }).selectOption({ label: words.settingsOn })
  await form.getByLabel(words.settingsTokenHours, { exact: true }).fill('many')
  await form.getByRole('button').click()
  await form.getByText(words.notWhole(words.settingsTokenHours)).waitFor()
  await form.getByLabel(words.settingsTokenHours, { exact: true }).fill('12')
  await form.getByRole('button').click()
  await form.getByText('Saved.').waitFor()
  assert.deepEqual(await interfaces(), { transit: 'on', tokenHours: 12 })
  await examineAll(page, 'settings with the transit API')

  await open(page, 'My account')
  const keys = card(page, words.accessKeys)
  await keys.getByText(words.accessKeysNone).waitFor()
  await keys.getByLabel(words.accessKeysName, { exact: true }).fill('backup server')
  await keys.getByRole('button', { name: words.accessKeysMake }).click()
  await keys.getByText(words.accessKeysOnce).waitFor()
  const shown = await keys.innerText()
  const [token] = /s\.COFR[\w-]+/.exec(shown) ?? []
  assert.ok(token !== undefined)
  assert.ok(shown.includes(`export BAO_ADDR=https://${appliance.host}:${appliance.port}`))
  assert.ok(!shown.includes('sops'), 'administrators encrypt nothing')
  assert.equal(await lookUp(token), 200)
  await examineAll(page, 'a new access key')

  await open(page, 'Overview')
  await heading(page, 'Overview')
  await open(page, 'My account')
  await keys.getByText('backup server').waitFor()
  assert.ok(!(await page.content()).includes(token), 'shown once')
  await keys.getByRole('button', { name: words.accessKeysDeleteNamed('backup server') }).click()
  await page.getByRole('dialog').getByRole('button', { name: words.accessKeysDelete, exact: true }).click()
  await keys.getByText(words.accessKeysNone).waitFor()
  assert.equal(await lookUp(token), 403)
  await here.end()
})

test('the commands that the page shows with a new access key verify the certificate', needsBao(), async (t) => {
  const json = { transit: 'on', tokenHours: 12 }
  await expect(204, appliance.call('PUT', '/config/interfaces', { as: ADMIN, json }))
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  await open(page, 'My account')
  const keys = card(page, words.accessKeys)
  await keys.getByLabel(words.accessKeysName, { exact: true }).fill('a shell')
  await keys.getByRole('button', { name: words.accessKeysMake }).click()
  const shown = keys.getByRole('figure').filter({ has: page.getByRole('group', { name: words.accessKeysBao }) })
  await shown.getByRole('button', { name: words.copy }).click()
  await shown.getByText(words.copied).waitFor()
  const commands = await page.evaluate(() => navigator.clipboard.readText())
  const home = makeDataDirectory(t)
  const inShell = (lines: string) =>
    run('sh', ['-e', '-c', lines], { PATH: `${dirname(BAO)}:${process.env.PATH}`, HOME: home }, home)
  await assert.rejects(inShell(commands), /certificate signed by unknown authority/)
  const certificate = await expect(200, appliance.call('GET', '/config/tls/cert.pem', { as: ADMIN }))
  writeFileSync(join(home, 'coffer.pem'), certificate.text())
  const printed = await inShell(commands.replace('# export BAO_CACERT', 'export BAO_CACERT'))
  assert.match(printed, /^policies +\[.*administrator.*\]$/m)
  await here.end()
})

test('an operator is shown commands for sops with a new access key', async () => {
  await addUser(appliance, 'web', 'Operator')
  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'web', passphraseOf('web'))
  await heading(page, 'Overview')
  await open(page, 'My account')
  const keys = card(page, words.accessKeys)
  await keys.getByLabel(words.accessKeysName, { exact: true }).fill('sops')
  await keys.getByRole('button', { name: words.accessKeysMake }).click()
  await keys.getByText(words.accessKeysOnce).waitFor()
  const origin = `https://${appliance.host}:${appliance.port}`
  const shown = await keys.innerText()
  assert.ok(shown.includes(`sops encrypt --hc-vault-transit '${origin}/v1/transit/keys/sops' plain.yaml`))
  await examineAll(page, 'a new access key of an operator')
  await here.end()
})
