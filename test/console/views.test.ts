// @test long 65
/** Every view for every role: seen without a refusal, found without fault by axe-core, light and dark, narrow and wide. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, passphraseOf, provision, startAppliance } from '../support/suite.ts'
import { heading, launchBrowser, open, signIn, type Visit, visit } from './browser.ts'
import { examine } from './examine.ts'

/** Markup, 128 characters, and text that turns around. */
const HOSTILE_TEXT = '<img src=x onerror="document.title=1">‮txet'
const HOSTILE_ID = `k${'x-_.'.repeat(31)}abc`

const ADMINISTRATOR_VIEWS = [
  'Overview',
  'Keys',
  'Users',
  'Namespaces',
  'Audit log',
  'Metrics',
  'Backup',
  'Restore',
  'Update',
  'Certificate',
  'Chat',
  'Cluster',
  'Settings',
  'System',
  'My account',
]
const VIEWS_OF: [user: string, views: string[]][] = [
  ['admin', ADMINISTRATOR_VIEWS],
  ['web', ['Overview', 'Keys', 'My account']],
  ['meter', ['Overview', 'Metrics']],
  ['keeper', ['Overview', 'Backup']],
  ['branch~chief', ['Overview', 'Keys', 'Users', 'My account']],
  ['branch~clerk', ['Overview', 'Keys', 'My account']],
]

const browser = await launchBrowser()
let appliance: Appliance

before(async () => {
  appliance = await startAppliance()
  await provision(appliance)
  for (const [user, role] of [
    ['web', 'Operator'],
    ['meter', 'Metrics'],
    ['keeper', 'Backup'],
    ['branch~chief', 'Administrator'],
  ] as const)
    await addUser(appliance, user, role)
  await expect(204, appliance.call('PUT', '/namespaces/branch', { as: ADMIN }))
  await addUser(appliance, 'branch~clerk', 'Operator', `branch~chief:${passphraseOf('branch~chief')}`)
  const user = { realName: HOSTILE_TEXT, role: 'Operator', passphrase: 'words of somebody' }
  await expect(201, appliance.call('PUT', `/users/${HOSTILE_ID}`, { as: ADMIN, json: user }))
  const key = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  const keys = [
    { ...key, id: 'web-key', restrictions: { tags: ['berlin'] } },
    { ...key, id: HOSTILE_ID, label: '<b>bold</b>‮' },
    { id: 'aes', type: 'Generic', length: 256, mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'] },
  ]
  for (const json of keys) await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json }))
  await expect(204, appliance.call('PUT', '/users/web/tags/berlin', { as: ADMIN }))
})
after(async () => {
  await browser.close()
  await appliance.dispose()
})

for (const [user, views] of VIEWS_OF)
  test(`${user} has the views that the role may see, and none of them is refused`, async () => {
    const here = await visit(browser, appliance)
    here.allowed.add(404) // of a cluster without an authority
    const refused = refusals(here)
    await signIn(here.page, user, passphraseIn(user))
    await heading(here.page, 'Overview')
    const names = await here.page.getByRole('navigation').getByRole('link').allTextContents()
    assert.deepEqual(names, views)
    for (const view of views) {
      await open(here.page, view)
      await quiet(here.page)
    }
    assert.deepEqual(refused, [])
    await here.end()
  })

for (const dark of [false, true])
  for (const width of [320, 1400])
    test(`axe finds nothing in any view ${dark ? 'dark' : 'light'}, ${width} wide, and none scrolls sideways`, async () => {
      const here = await visit(browser, appliance, { dark, width })
      const { page } = here
      here.allowed.add(404) // of keys without a certificate
      await heading(page, 'Sign in')
      await examine(page, 'sign in')
      await signIn(page, 'web', passphraseIn('web'))
      await heading(page, 'Overview')
      for (const key of ['web-key', 'aes']) {
        await goto(page, `#/keys/${key}`, key)
        await loaded(page)
        for (const summary of await page.locator('main summary').all()) await summary.click()
        await examine(page, `use of ${key}`)
      }
      await goto(page, '#/sign-in', 'Sign in')
      await signIn(page, 'admin', passphraseIn('admin'))
      await heading(page, 'Overview')
      for (const view of ADMINISTRATOR_VIEWS) {
        await open(page, view)
        await examine(page, view)
      }
      await goto(page, `#/keys/${HOSTILE_ID}`, HOSTILE_ID)
      await page.getByText('<b>bold</b>').first().waitFor()
      await examine(page, 'a key')
      await page.getByRole('button', { name: 'Delete this key' }).click()
      await page.getByRole('dialog').waitFor()
      await examine(page, 'a dialog')
      await page.keyboard.press('Escape')
      await goto(page, `#/users/${HOSTILE_ID}`, HOSTILE_ID)
      await page.getByText(HOSTILE_TEXT).waitFor()
      await examine(page, 'a user')
      await goto(page, '#/keys?new=1', 'Keys')
      await page.getByLabel('Custom').check()
      await examine(page, 'a new key')
      await page.keyboard.press('Escape')
      await page.locator('.who summary').click()
      await examine(page, 'the menu')
      assert.match(await page.title(), /· Coffer$/) // and not what the hostile name would have made of it
      await here.end()
    })

/** Passphrases of the harness. The administrator has another one. */
const passphraseIn = (user: string) => (user === 'admin' ? ADMIN.slice(ADMIN.indexOf(':') + 1) : passphraseOf(user))

async function goto(page: Page, fragment: string, name: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash
  }, fragment)
  await heading(page, name)
}

async function quiet(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle')
  await loaded(page)
}

const loaded = (page: Page) => page.waitForFunction(() => !document.body.textContent.includes('Loading…'))

function refusals({ page }: Visit): string[] {
  const found: string[] = []
  page.on('response', (response) => {
    if (response.status() >= 400 && response.status() !== 404) found.push(`${response.status()} ${response.url()}`)
  })
  return found
}

test('axe and the measure of width notice what is wrong', async () => {
  const here = await visit(browser, appliance)
  await heading(here.page, 'Sign in')
  await here.page.evaluate(() => document.querySelector('main')!.append(document.createElement('input')))
  await assert.rejects(examine(here.page, 'a field without a label'), /label/)
  await here.page.evaluate(() => {
    const last = document.querySelector('main')!.lastElementChild as HTMLInputElement
    last.ariaLabel = 'wide'
    last.style.width = '3000px'
  })
  await assert.rejects(examine(here.page, 'a wide field'), /sideways/)
  await here.end()
})
