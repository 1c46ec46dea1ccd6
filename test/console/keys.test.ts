/** Private keys that are brought along, in each form; and whatever strangers put into names and files stays text. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { expect } from '../support/appliance.ts'
import { ADMIN } from '../support/suite.ts'
import { needs } from '../support/tools.ts'
import { heading, nothingLeft, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'
import { openProvisioned } from './provisioned.ts'

const [, PASSPHRASE = ''] = ADMIN.split(':')
/** Markup, quotes, and text that turns around: 64 characters, as a common name has at most. */
const HOSTILE = `<img src=x onerror="document.title='seized'">\u202etxet 'q' &lt;`

const { browser, appliance } = await openProvisioned()
const directory = mkdtempSync(join(tmpdir(), 'coffer-console-'))
after(() => rmSync(directory, { recursive: true }))

test('private keys are imported from files and from text, in each form, and leave nothing in the page', async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  here.allowed.add(400).add(404) // of no key; of keys without a certificate
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey
  const edwards = generateKeyPairSync('ed25519').privateKey
  const pem = (key: KeyObject, type: 'pkcs8' | 'pkcs1' | 'sec1') => key.export({ type, format: 'pem' }).toString()
  const der = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'der' })
  await signIn(page, 'admin', PASSPHRASE)

  await startImport(page, 'nothing')
  await press(page)
  await page.getByText('Choose a file, or paste the text.').waitFor()
  await page.getByLabel('Or paste its text').fill('this is no key')
  await press(page)
  await page.getByText('Choose at least one mechanism.').waitFor()
  await examineAll(page, 'an import that lacks something')
  await choose(page, 'RSA', 'Sign (RSA PSS, SHA256)')
  await press(page)
  await page.getByText('Status 400').waitFor()
  await page.keyboard.press('Escape')

  const cases: [id: string, key: KeyObject, given: string | Buffer, type: string, mechanism: string][] = [
    ['rsa-8', rsa, pem(rsa, 'pkcs8'), 'RSA', 'Sign (RSA PSS, SHA256)'],
    ['rsa-1', rsa, pem(rsa, 'pkcs1'), 'RSA', 'Decrypt (RSA OAEP, SHA256)'],
    ['p256-sec1', p256, pem(p256, 'sec1'), 'ECDSA', 'Sign (ECDSA)'],
    ['p256-der', p256, der(p256), 'ECDSA', 'Sign (ECDSA)'],
    ['k1-8', k1, pem(k1, 'pkcs8'), 'secp256k1', 'Sign (Schnorr, BIP 340)'],
    ['ed-der', edwards, der(edwards), 'Ed25519', 'Sign (Ed25519)'],
  ]
  for (const [at, [id, key, given, type, mechanism]] of cases.entries()) {
    await startImport(page, id)
    if (typeof given === 'string' && at % 2 === 1) await page.getByLabel('Or paste its text').fill(given)
    else await give(page, `${id}.key`, Buffer.from(given), at === 0)
    await choose(page, type, mechanism)
    await press(page)
    await heading(page, id)
    const reply = await expect(200, appliance.call('GET', `/keys/${id}/public.pem`, { as: ADMIN }))
    assert.ok(createPublicKey(reply.text()).equals(createPublicKey(key)), id)
    const secret = Buffer.from(key.export({ format: 'jwk' }).d!, 'base64url')
    // In base64 of whatever stands before it.
    const forms = [0, 1, 2].map((from) => secret.subarray(from, from + 24).toString('base64'))
    await nothingLeft(page, forms)
  }
  await here.end()
})

test('hostile certificates, users, labels, audit lines and files stay text', needs('openssl'), async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  here.allowed.add(404)
  const key = { id: 'hostile', type: 'EC_P256', mechanisms: ['ECDSA_Signature'], label: '<script>1</script>\u202ex' }
  await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json: key }))
  const user = { realName: HOSTILE, role: 'Operator', passphrase: 'words of somebody' }
  await expect(201, appliance.call('PUT', '/users/hostile', { as: ADMIN, json: user }))
  const stranger = await appliance.call('GET', '/users', { as: `${HOSTILE}:whatever it is` })
  assert.equal(stranger.status, 401)
  const certificate = selfSigned()
  const stored = { as: ADMIN, body: certificate, headers: { 'content-type': 'application/x-pem-file' } }
  await expect(201, appliance.call('PUT', '/keys/hostile/cert', stored))

  await signIn(page, 'admin', PASSPHRASE)
  await heading(page, 'Overview')
  await isText(page, 'Overview')
  await open(page, 'Keys')
  await page.getByText(key.label).waitFor()
  await isText(page, 'Keys')
  await page.getByRole('link', { name: 'hostile', exact: true }).click()
  await heading(page, 'hostile')
  await page.getByText(HOSTILE).first().waitFor()
  await page.getByText('<b>names</b>').waitFor()
  await examineAll(page, 'a hostile certificate')
  await isText(page, 'hostile')
  await open(page, 'Users')
  await page.getByRole('link', { name: 'hostile', exact: true }).click()
  await heading(page, 'hostile') // the list has the real name, too
  await page.getByText(HOSTILE).waitFor()
  await isText(page, 'hostile')

  await open(page, 'Audit log')
  await page.locator('tbody details summary').first().click()
  await isText(page, 'Audit log')
  const file = join(directory, 'hostile.jsonl')
  const line = { sequence: HOSTILE, kind: HOSTILE, user: HOSTILE, action: HOSTILE, hash: HOSTILE, previous: HOSTILE }
  writeFileSync(file, `${HOSTILE}\n${JSON.stringify(line)}\n{"head":{"key":${JSON.stringify(HOSTILE)}}}\n`)
  await page.getByLabel('Exported file').setInputFiles(file)
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByText('The log is not authentic').waitFor()
  await isText(page, 'Audit log')

  await page.evaluate(() => {
    location.hash = `#/users/${encodeURIComponent('<img src=x onerror="document.title=1">')}`
  })
  here.allowed.add(400) // no such name can be
  await page.getByText('Status 40').waitFor()
  assert.equal(await page.locator('main :is(b, img, script)').count(), 0)
  await page.evaluate(() => {
    location.hash = '#/sign-in'
  })
  await heading(page, 'Sign in')
  await signIn(page, 'hostile', 'words of somebody')
  await open(page, 'My account')
  await page.getByText(HOSTILE).waitFor()
  await isText(page, 'My account')
  await here.end()
})

/** The markup made no element and ran no code. */
async function isText(page: Page, view: string): Promise<void> {
  assert.equal(await page.locator('main :is(b, img, script)').count(), 0)
  assert.equal(await page.title(), `${view} · Coffer`)
}

async function startImport(page: Page, id: string): Promise<void> {
  await open(page, 'Keys')
  await page.getByRole('button', { name: 'Import a key' }).click()
  await page.getByLabel('Name', { exact: true }).fill(id)
}

async function choose(page: Page, type: string, mechanism: string): Promise<void> {
  await page.getByRole('dialog').getByLabel('Type', { exact: true }).selectOption({ label: type })
  await page.getByRole('dialog').getByLabel(mechanism, { exact: true }).check()
}

const press = (page: Page) => page.getByRole('dialog').getByRole('button', { name: 'Import', exact: true }).click()

async function give(page: Page, name: string, content: Buffer, isDropped: boolean): Promise<void> {
  const field = page.getByRole('dialog').locator('input[type=file]')
  if (!isDropped) return field.setInputFiles({ name, mimeType: 'application/octet-stream', buffer: content })
  const dataTransfer = await page.evaluateHandle(
    ([name, text]) => {
      const transfer = new DataTransfer()
      transfer.items.add(new File([text!], name!))
      return transfer
    },
    [name, content.toString()],
  )
  await page.locator('dialog .drop').dispatchEvent('drop', { dataTransfer })
  await page.getByText(name).waitFor()
}

function selfSigned(): string {
  const [keyFile, file] = [join(directory, 'any.key'), join(directory, 'any.pem')]
  const command = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-utf8']
  const names = ['-subj', `/CN=${HOSTILE}`, '-addext', 'subjectAltName=DNS:<b>names</b>']
  execFileSync('openssl', [...command, ...names, '-keyout', keyFile, '-out', file], { stdio: 'pipe' })
  return readFileSync(file, 'utf8')
}
