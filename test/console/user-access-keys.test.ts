// @test short 15
/** The page of another user: an administrator sees that user's access keys, deletes them, and can make none. Contract section 7.9. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as words from '../../firmware/console/words.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, addUser } from '../support/suite.ts'
import { heading, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'
import { openProvisioned } from './provisioned.ts'

const { browser, appliance } = await openProvisioned()

test("an administrator deletes another user's access keys, and cannot make one", async () => {
  const web = await addUser(appliance, 'web', 'Operator')
  await addUser(appliance, 'metrics', 'Metrics')
  await expect(204, appliance.call('PUT', '/config/interfaces', { as: ADMIN, json: { transit: 'on', tokenHours: 1 } }))
  const make = async (name: string): Promise<string> => {
    const { json } = await expect(201, appliance.call('POST', '/users/web/access-keys', { as: web, json: { name } }))
    return json<{ token: string }>().token
  }
  const [stolen, other] = [await make('lost laptop'), await make('backup server')]
  const lookUp = async (token: string) =>
    (await appliance.call('GET', '//v1/auth/token/lookup-self', { headers: { 'x-vault-token': token } })).status

  const here = await visit(browser, appliance)
  const { page } = here
  await signIn(page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(page, 'Overview')
  const go = (user: string) =>
    page.evaluate((hash) => {
      location.hash = hash
    }, `#/users/${user}`)
  await go('web')
  const keys = page.locator('.card', { has: page.getByRole('heading', { name: words.accessKeys, exact: true }) })
  const button = (name: string) => keys.getByRole('button', { name: words.accessKeysDeleteNamed(name) })
  await button('lost laptop').waitFor()
  await button('backup server').waitFor()
  assert.equal(await keys.getByRole('button', { name: words.accessKeysMake }).count(), 0)
  await examineAll(page, "another user's access keys")
  await button('lost laptop').click()
  await page.getByRole('dialog').getByRole('button', { name: words.accessKeysDelete, exact: true }).click()
  await button('lost laptop').waitFor({ state: 'detached' })
  assert.deepEqual([await lookUp(stolen), await lookUp(other)], [403, 200])
  await button('backup server').click()
  await page.getByRole('dialog').getByRole('button', { name: words.accessKeysDelete, exact: true }).click()
  await keys.getByText(words.usersAccessKeysNone).waitFor()
  assert.equal(await lookUp(other), 403)

  await go('metrics')
  await page.getByText(words.rolesMay.Metrics).waitFor()
  assert.equal(await keys.count(), 0, 'users of this role can make none')
  await here.end()
})
