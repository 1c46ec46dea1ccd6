/**
 * Pictures of the page for people to look at: every view and state, light and dark, wide and narrow, in dist/pictures. With
 * `--readme` the two of README.md are made anew as well, in firmware/console/pictures. What is in them is the same each
 * time, but for times and keys. `node tools/pictures.ts [--readme]`
 */

import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { defined } from '../firmware/base/defined.ts'
import { createClient, expectSuccess, root, startCoffer } from './bench/harness.ts'
import { browserOrExit } from './browser.ts'
import { bundle } from './build.ts'

const UNLOCK = 'words that unlock it'
const BACKUP = 'words that open the backup'
const passphraseOf = (user: string) => `words of ${user}`
const ADMIN = `admin:${passphraseOf('admin')}`
const VIEWS = [
  ['keys', '#/keys'],
  ['key', '#/keys/web-2026'],
  ['new-key', '#/keys?new=1'],
  ['users', '#/users'],
  ['user', '#/users/web'],
  ['namespaces', '#/namespaces'],
  ['audit', '#/audit'],
  ['metrics', '#/metrics'],
  ['backup', '#/backup'],
  ['restore', '#/restore'],
  ['update', '#/update'],
  ['certificate', '#/certificate'],
  ['chat', '#/chat'],
  ['cluster', '#/cluster'],
  ['settings', '#/settings'],
  ['system', '#/system'],
  ['account', '#/account'],
] as const
const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1180, height: 820 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1180, height: 820 } },
  { name: 'narrow', colorScheme: 'light', viewport: { width: 320, height: 820 } },
] as const

const { values } = parseArgs({ options: { readme: { type: 'boolean', default: false } } })
const browser = await browserOrExit()
const directory = mkdtempSync(join(tmpdir(), 'coffer-pictures-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const output = join(root, 'dist/pictures')
rmSync(output, { recursive: true, force: true })
mkdirSync(output, { recursive: true })

await bundle(join(directory, 'program'))
const coffer = await startCoffer(join(directory, 'program'), join(directory, 'data'))
const { call, close } = createClient(coffer)
try {
  await takeAll((_, take) => take('wizard', 'Set up this Coffer'))
  await addContents()
  await takeAll(async (page, take) => {
    await take('sign-in', 'Sign in')
    await signIn(page, 'admin')
    await take('overview')
    for (const user of ['keeper', 'meter', 'web']) await signIn(page, user)
    for (const [name, fragment] of VIEWS) {
      await go(page, fragment)
      await take(name)
      await page.keyboard.press('Escape')
    }
  })
  await expectSuccess(call('POST', '/lock', ADMIN))
  await takeAll((_, take) => take('unlock', 'Coffer is locked'))
} finally {
  close()
  await browser.close()
  await coffer.stop()
}
if (values.readme)
  for (const look of ['light', 'dark'])
    copyFileSync(join(output, `overview-${look}.png`), join(root, 'firmware/console/pictures', `${look}.png`))
console.log(`Pictures are in ${output}`)

type Take = (name: string, title?: string) => Promise<void>

/** In a window of each look; a picture is named by its view and the look. */
async function takeAll(work: (page: Page, take: Take) => Promise<void>): Promise<void> {
  for (const { name: look, ...window } of LOOKS) {
    const context = await defined(browser).newContext({ ...window, ignoreHTTPSErrors: true, reducedMotion: 'reduce' })
    const page = await context.newPage()
    await page.goto(`https://127.0.0.1:${coffer.port}/`)
    await work(page, async (name, title) => {
      await heading(page, title)
      await page.locator('body:not(:has-text("Loading…"))').waitFor()
      await page.evaluate('document.activeElement?.blur()') // no ring of the focus
      await page.screenshot({ path: join(output, `${name}-${look}.png`) })
    })
    await context.close()
  }
}

function heading(page: Page, name?: string): Promise<void> {
  return page.getByRole('heading', { level: 1, ...(name !== undefined && { name }) }).waitFor()
}

/** Another fragment is no other page: nobody is signed out. */
async function go(page: Page, fragment: string): Promise<void> {
  await page.goto(new URL(fragment, page.url()).href)
}

async function signIn(page: Page, user: string): Promise<void> {
  await go(page, '#/sign-in')
  await heading(page, 'Sign in')
  await page.getByLabel('User', { exact: true }).fill(user)
  await page.getByLabel('Passphrase', { exact: true }).fill(passphraseOf(user))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await heading(page, 'Overview')
}

async function addContents(): Promise<void> {
  const ask = (method: string, path: string, as: string | undefined, json?: unknown) =>
    expectSuccess(call(method, path, as, json))
  const systemTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const adminPassphrase = passphraseOf('admin')
  await ask('POST', '/provision', undefined, { unlockPassphrase: UNLOCK, adminPassphrase, systemTime })
  for (const [user, role, realName] of [
    ['web', 'Operator', 'Web service'],
    ['release', 'Operator', 'Build server'],
    ['meter', 'Metrics', 'Monitoring'],
    ['keeper', 'Backup', 'Nightly backup'],
  ] as const)
    await ask('PUT', `/users/${user}`, ADMIN, { realName, role, passphrase: passphraseOf(user) })
  for (const key of [
    { id: 'web-2026', type: 'EC_P256', mechanisms: ['ECDSA_Signature'], label: 'www.example.org' },
    { id: 'release', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] },
    { id: 'documents', type: 'RSA', length: 3072, mechanisms: ['RSA_Signature_PSS_SHA256'] },
    { id: 'archive', type: 'Generic', length: 256, mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'] },
  ])
    await ask('POST', '/keys/generate', ADMIN, key)
  await ask('PUT', '/config/backup-passphrase', ADMIN, { newPassphrase: BACKUP, currentPassphrase: '' })
  const message = Buffer.alloc(32, 1).toString('base64')
  for (let n = 0; n < 3; n++)
    await ask('POST', '/keys/web-2026/sign', `web:${passphraseOf('web')}`, { mode: 'ECDSA', message })
}
