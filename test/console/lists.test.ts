// @test short 20
/** The lists of keys and of users are sorted by each column, searched by any part, and readable on a phone. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import * as words from '../../firmware/console/words.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, passphraseOf, provision, startAppliance } from '../support/suite.ts'
import { heading, launchBrowser, open, signIn, type Visit, visit } from './browser.ts'
import { examine } from './examine.ts'

const browser = await launchBrowser()
let appliance: Appliance

const ecdsa = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
const KEYS = [
  { id: 'archive', type: 'Generic', length: 256, mechanisms: ['AES_Encryption_CBC'] },
  { id: 'documents', type: 'RSA', length: 2048, mechanisms: ['RSA_Signature_PSS_SHA256'], label: 'Contracts' },
  { id: 'releases', type: 'Curve25519', mechanisms: ['EdDSA_Signature'], restrictions: { tags: ['build'] } },
  { id: 'web', ...ecdsa, label: 'www.example.org', restrictions: { tags: ['berlin', 'hamburg'] } },
]
const USES: Readonly<Record<string, number>> = { web: 2, releases: 1 }
const USERS = [
  ['builder', 'Operator', 'Release server of the Berlin office', ['build', 'berlin']],
  ['keeper', 'Backup', 'Nightly backup', []],
  ['meter', 'Metrics', 'Ångström monitoring', []],
] as const

before(async () => {
  appliance = await startAppliance()
  await provision(appliance)
  for (const [user, role, realName, tags] of USERS) {
    const json = { role, realName, passphrase: passphraseOf(user) }
    await expect(201, appliance.call('PUT', `/users/${user}`, { as: ADMIN, json }))
    for (const tag of tags) await expect(204, appliance.call('PUT', `/users/${user}/tags/${tag}`, { as: ADMIN }))
  }
  for (const json of KEYS) await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json }))
  const as = `builder:${passphraseOf('builder')}`
  for (const [id, uses] of Object.entries(USES))
    for (let n = 0; n < uses; n++) {
      const json = { mode: id === 'web' ? 'ECDSA' : 'EdDSA', message: Buffer.alloc(32, n).toString('base64') }
      await expect(200, appliance.call('POST', `/keys/${id}/sign`, { as, json }))
    }
})
after(async () => {
  await browser.close()
  await appliance.dispose()
})

async function begin(view: string, width = 1280): Promise<Visit> {
  const here = await visit(browser, appliance, { width })
  await signIn(here.page, 'admin', ADMIN.slice(ADMIN.indexOf(':') + 1))
  await heading(here.page, 'Overview')
  await open(here.page, view)
  await here.page.locator('tbody td').first().waitFor()
  return here
}

const shownIds = (page: Page) => page.locator('tbody th a').allTextContents()

async function expectRows(page: Page, ids: readonly string[]): Promise<void> {
  await page
    .waitForFunction(
      (wanted) => [...document.querySelectorAll('tbody th a')].map((link) => link.textContent).join() === wanted,
      ids.join(),
    )
    .catch(async () => assert.deepEqual(await shownIds(page), ids))
}

async function expectOrders(page: Page, orders: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const first = Object.keys(orders)[0]!
  for (const [column, ids] of Object.entries(orders)) {
    const header = page.getByRole('columnheader', { name: column, exact: true })
    const isSorted = (how: string) => header.and(page.locator(`[aria-sort=${how}]`)).waitFor()
    if (column !== first) await header.getByRole('button').click()
    await expectRows(page, ids)
    await isSorted('ascending')
    await header.getByRole('button').click()
    await isSorted('descending')
  }
}

async function expectSearches(page: Page, finds: Readonly<Record<string, readonly string[]>>): Promise<void> {
  for (const [text, ids] of Object.entries(finds)) {
    await page.getByLabel(words.directorySearch).fill(text)
    if (ids.length > 0) await expectRows(page, ids)
    else await page.getByText(words.directoryNone).waitFor()
  }
}

test('keys are sorted by each column, ascending and descending', async () => {
  const here = await begin('Keys')
  const { page } = here
  await expectOrders(page, {
    [words.keysId]: ['archive', 'documents', 'releases', 'web'],
    [words.type]: ['archive', 'releases', 'web', 'documents'], // AES, Ed25519, P-256, RSA
    [words.label]: ['documents', 'web', 'archive', 'releases'], // those without one at the end
    [words.tags]: ['web', 'releases', 'archive', 'documents'],
    [words.uses]: ['archive', 'documents', 'releases', 'web'],
  })
  await expectRows(page, ['web', 'releases', 'archive', 'documents']) // by uses, descending
  await examine(page, 'a sorted list')
  await here.end()
})

test('keys are found by any part of name, type, label and tags', async () => {
  const here = await begin('Keys')
  await expectSearches(here.page, {
    eas: ['releases'],
    'rsa 2048': ['documents'],
    EXAMPLE: ['web'],
    hamb: ['web'],
    b: ['releases', 'web'],
    nothing: [],
    '': ['archive', 'documents', 'releases', 'web'],
  })
  await here.end()
})

test('users are sorted by each column and found by any part of name, role, real name and tags', async () => {
  const here = await begin('Users')
  const { page } = here
  await expectOrders(page, {
    [words.user]: ['admin', 'builder', 'keeper', 'meter'],
    [words.usersRole]: ['admin', 'keeper', 'meter', 'builder'],
    [words.usersRealName]: ['admin', 'meter', 'keeper', 'builder'],
    [words.tags]: ['builder', 'admin', 'keeper', 'meter'],
  })
  await expectSearches(page, {
    operator: ['builder'],
    nightly: ['keeper'],
    ång: ['meter'],
    berlin: ['builder'],
    ee: ['keeper'],
    nothing: [],
  })
  await here.end()
})

test('on a phone nothing of a key or a user is cut off', async () => {
  for (const [view, texts] of [
    ['Keys', ['RSA 2048', 'Contracts', 'berlin, hamburg', 'www.example.org', 'P-256']],
    ['Users', ['Operator', 'Release server of the Berlin office', 'berlin, build', 'Ångström monitoring']],
  ] as const) {
    const here = await begin(view, 390)
    const { page } = here
    for (const text of texts) {
      const cell = page.getByRole('cell', { name: text, exact: true })
      await cell.waitFor()
      const seen = await cell.evaluate((element) => {
        const row = element.closest('tr')!.getBoundingClientRect()
        return [...element.getClientRects()].every(
          ({ left, right, top, bottom }) =>
            left >= row.left && right <= row.right && top >= row.top && bottom <= row.bottom && right <= innerWidth,
        )
      })
      assert.ok(seen, `${text} is cut off`)
    }
    await page.getByRole('columnheader', { name: words.tags, exact: true }).getByRole('button').click()
    await expectRows(
      page,
      view === 'Keys' ? ['web', 'releases', 'archive', 'documents'] : ['builder', 'admin', 'keeper', 'meter'],
    )
    await examine(page, `${view} on a phone`)
    await here.end()
  }
})
