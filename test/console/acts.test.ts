// @test short 15
/** Acts with a weight are asked for; the audit log reads as sentences; lists show and find what people look for. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { DECLARATIONS } from '../../firmware/app.ts'
import type { AuditLine } from '../../firmware/client/audit-lines.ts'
import { auditDid, auditTouched } from '../../firmware/console/audit-words.ts'
import * as words from '../../firmware/console/words.ts'
import { auditKind } from '../../firmware/kms/pipeline/auditor.ts'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, passphraseOf, provision, startAppliance, UNLOCK } from '../support/suite.ts'
import { heading, launchBrowser, open, signIn, type Visit, visit } from './browser.ts'
import { examine } from './examine.ts'

const ADMIN_PASSPHRASE = ADMIN.slice(ADMIN.indexOf(':') + 1)
const LINES = 40
const LINES_PX_MAX = 7000

const browser = await launchBrowser()
let appliance: Appliance

before(async () => {
  appliance = await startAppliance()
  await provision(appliance)
  await addUser(appliance, 'web', 'Operator')
  const key = { type: 'EC_P256', mechanisms: ['ECDSA_Signature'], restrictions: { tags: ['berlin'] } }
  for (const id of ['web-key', 'other'])
    await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json: { ...key, id } }))
  for (const tag of ['berlin', ...Array.from({ length: LINES }, (_, n) => `tag-${n}`)])
    await expect(204, appliance.call('PUT', `/users/web/tags/${tag}`, { as: ADMIN }))
  await expect(403, appliance.call('POST', '/system/backup', { as: ADMIN }))
})
after(async () => {
  await browser.close()
  await appliance.dispose()
})

async function begin(width = 1280): Promise<Visit> {
  const here = await visit(browser, appliance, { width })
  here.allowed.add(404) // of keys without a certificate
  await signIn(here.page, 'admin', ADMIN_PASSPHRASE)
  await heading(here.page, 'Overview')
  return here
}

const posts = (page: Page): string[] => {
  const found: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') found.push(new URL(request.url()).pathname)
  })
  return found
}

test('every recorded act has words, for its success and for its refusal', () => {
  for (const { method, path, audit } of DECLARATIONS) {
    if (auditKind({ method, ...(audit && { audit }) }) === 'none') continue
    const action = `${method} ${path.replace(/:(\w+)/g, '{$1}')}`
    for (const result of [204, 401, 403, 500]) {
      const text = auditDid({ action, result })
      assert.doesNotMatch(text, /POST|PUT|DELETE|GET|\/|\{|does not know/, action)
      assert.doesNotMatch(text, /^Changed (keys|users|namespaces)/, action)
    }
  }
  assert.equal(auditDid({ action: 'POST /unlock', result: 403 }), 'Tried to unlock: refused (403)')
  assert.equal(auditDid({ action: 'POST /unlock', result: 204 }), 'Unlocked')
  assert.equal(auditDid({ action: 'PUT /users/{user}/tags/{tag}', result: 204 }), 'Added a tag to a user')
  assert.equal(auditDid({ action: 'DELETE /keys/{id}', result: 204 }), 'Deleted a key')
  assert.equal(auditDid({ action: 'GET /keys/{id}', result: 403 }), 'Tried to read keys: refused (403)')
  const line = { key: 'web', namespace: 'team', facts: { tag: 'berlin' } } as unknown as AuditLine
  assert.deepEqual(auditTouched(line), ['team/web', 'berlin'])
})

test('restart and lock ask first, and a restore is typed', async () => {
  const here = await begin()
  const { page } = here
  const sent = posts(page)
  await open(page, 'System')
  for (const name of ['Restart', 'Lock']) {
    await page.getByRole('button', { name, exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).waitFor()
    await examine(page, `asking before ${name}`)
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
  }
  await open(page, 'Restore')
  await page.getByLabel('Backup', { exact: true }).setInputFiles({
    name: 'a.backup',
    mimeType: 'application/octet-stream',
    buffer: Buffer.from('no backup'),
  })
  await page.getByLabel('Backup passphrase', { exact: true }).fill('words that open a backup')
  await page.getByRole('button', { name: 'Restore' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Restore' }).click()
  await dialog.getByText('The text does not match.').waitFor()
  assert.deepEqual(sent, [])
  here.allowed.add(400)
  await dialog.getByRole('textbox').fill('restore')
  await dialog.getByRole('button', { name: 'Restore' }).click()
  await page.getByText('Nothing was changed.').waitFor()
  assert.deepEqual(sent, ['/api/v1/system/restore'])
  await open(page, 'System')
  await page.getByRole('button', { name: 'Lock', exact: true }).click()
  await dialog.getByRole('button', { name: 'Lock', exact: true }).click()
  await heading(page, 'Coffer is locked')
  await page.getByLabel('Unlock passphrase', { exact: true }).fill(UNLOCK)
  await page.getByRole('button', { name: 'Unlock', exact: true }).click()
  await heading(page, 'System')
  await here.end()
})

test('the audit log is compact on a phone, and times stay on one line on a desk', async () => {
  for (const width of [390, 1280]) {
    const here = await begin(width)
    const { page } = here
    await open(page, 'Audit log')
    await page.getByText('Tried to make a backup: refused (403)').first().waitFor()
    await page.getByText('Added a tag to a user web, tag-39').first().waitFor()
    const rows = await page.locator('.audit tbody tr').evaluateAll((all) =>
      all.slice(0, 40).map((row) => {
        const time = document.createRange()
        time.selectNodeContents(row.querySelector('.time')!)
        const lines = new Set([...time.getClientRects()].map(({ top }) => top)).size
        return { height: row.getBoundingClientRect().height, lines }
      }),
    )
    assert.equal(rows.length, LINES)
    const height = rows.reduce((sum, row) => sum + row.height, 0)
    assert.ok(height < LINES_PX_MAX, `${width} wide: ${height} px`)
    assert.deepEqual([...new Set(rows.map(({ lines }) => lines))], [1], `${width} wide: lines of a time`)
    await examine(page, `the audit log, ${width} wide`)
    await here.end()
  }
})

test('lists show role, name and tags, find any part, and are readable on a phone', async () => {
  const here = await begin()
  const { page } = here
  await open(page, 'Users')
  const row = page.getByRole('row', { name: /web/ })
  await row.getByText('Operator').waitFor()
  await open(page, 'Keys')
  await page.getByLabel(words.directorySearch).fill('b-k')
  await page.getByRole('row', { name: /web-key P-256 berlin/ }).waitFor()
  await page.getByRole('link', { name: 'other' }).waitFor({ state: 'detached' })
  await page.setViewportSize({ width: 390, height: 800 })
  const type = page.getByRole('cell', { name: 'P-256' })
  const [shown, whole] = await type.evaluate((cell) => [cell.clientWidth, cell.scrollWidth])
  assert.equal(shown, whole)
  assert.equal(await page.getByRole('navigation').getByRole('link').count(), 0)
  await open(page, 'Users')
  assert.equal(await page.getByRole('navigation').getByRole('link').count(), 0)
  await here.end()
})

test('the heading of a view has the focus, and the window its title, before the view is painted', async () => {
  const here = await begin()
  const shown = await here.page.evaluate(
    () =>
      new Promise((resolve) => {
        const read = () => [document.querySelector('h1'), document.activeElement].map((one) => one?.textContent)
        addEventListener('hashchange', () => resolve([...read(), document.title]), { once: true })
        location.hash = '#/users'
      }),
  )
  assert.deepEqual(shown, ['Users', 'Users', 'Users · Coffer'])
  await here.end()
})

test('a signature is counted at once, and a file that is no certificate is not stored', async () => {
  const here = await begin()
  const { page } = here
  await page.evaluate(() => {
    location.hash = '#/sign-in'
  })
  await heading(page, 'Sign in')
  await signIn(page, 'web', passphraseOf('web'))
  await heading(page, 'Overview')
  await page.evaluate(() => {
    location.hash = '#/keys/web-key'
  })
  await heading(page, 'web-key')
  await page.getByLabel('Text', { exact: true }).last().fill('an important document')
  await page.getByRole('button', { name: 'Sign', exact: true }).click()
  await page.getByText('Verified by the browser with the public key.').waitFor()
  await page.locator('dt:text-is("Uses") + dd:text-is("1")').waitFor()
  await page.getByLabel('Certificate (PEM or DER)').setInputFiles({
    name: 'no.pem',
    mimeType: 'text/plain',
    buffer: Buffer.from('no certificate'),
  })
  await page.getByRole('button', { name: 'Store a certificate' }).click()
  await page.getByText('This file does not hold a certificate in PEM or DER.').waitFor()
  assert.equal((await appliance.call('GET', '/keys/web-key/cert', { as: ADMIN })).status, 404)
  await here.end()
})
