// @test short 35
/** The story of a first day with the mouse, and of a first key with keys alone; what it leaves behind, and what it copies. */

import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createRig } from '../coffer/rig.ts'
import { type Appliance, startAppliance } from '../support/suite.ts'
import { needs } from '../support/tools.ts'
import { heading, launchBrowser, nothingLeft, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'

const UNLOCK = 'words that unlock it'
const ADMIN = 'words of the administrator'
const OPERATOR = 'words of the operator'
const KEEPER = 'words of the keeper'
const BACKUP = 'words that open the backup'
const SECRETS = [UNLOCK, ADMIN, OPERATOR, KEEPER, BACKUP]

const browser = await launchBrowser()
const directory = mkdtempSync(join(tmpdir(), 'coffer-console-'))
let appliance: Appliance

before(async () => {
  appliance = await startAppliance()
})
after(async () => {
  await browser.close()
  await appliance.dispose()
  rmSync(directory, { recursive: true })
})

test(
  'wizard, key, signature, backup, factory reset, restore, unlock: the same key signs',
  needs('curl', 'openssl', 'script'),
  async () => {
    const here = await visit(browser, appliance)
    const { page } = here
    here.allowed.add(404) // of keys without a certificate
    await heading(page, 'Set up this Coffer')
    await page.getByText('Is this the right appliance?').click()
    await examineAll(page, 'wizard')
    await twice(page, 'Unlock passphrase', UNLOCK)
    await page.getByLabel('Passphrase of the administrator', { exact: true }).fill(ADMIN)
    await page.getByRole('button', { name: 'Set up' }).click()
    await page.getByText('The passphrases differ.').waitFor()
    await examineAll(page, 'wizard with something wrong')
    await twice(page, 'Passphrase of the administrator', ADMIN)
    await page.getByRole('button', { name: 'Set up' }).click()
    await heading(page, 'Coffer is ready')
    await examineAll(page, 'what to do next')

    await page.getByRole('link', { name: 'Generate the first key' }).click()
    await page.getByLabel('Name', { exact: true }).fill('web-key')
    await page.getByRole('button', { name: 'Generate the key' }).click()
    await heading(page, 'web-key')
    await addUser(page, 'web', 'Operator', OPERATOR)
    await addAccount(page, 'web', OPERATOR)

    await keyPage(page)
    await page.getByLabel('Text', { exact: true }).last().fill('an important document')
    await page.getByRole('button', { name: 'Sign', exact: true }).click()
    await page.getByText('Verified by the browser with the public key.').waitFor()
    await commandsWork(page)

    await open(page, 'Settings')
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Backup passphrase' }) })
    await twice(card, 'New passphrase', BACKUP)
    await card.getByRole('button', { name: 'Set the backup passphrase' }).click()
    await card.getByText('Saved.').waitFor()
    await open(page, 'Backup')
    await page.getByText('Only users with the role Backup can make backups.').waitFor()
    await page.getByRole('link', { name: 'Add a user with the role Backup' }).click()
    await addUser(page, 'keeper', 'Backup', KEEPER, true)
    await addAccount(page, 'keeper', KEEPER)
    await open(page, 'Backup')
    // Its dialog is the system's, which no test can press: as in browsers without it, the file is downloaded.
    await page.evaluate(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker'))
    const coming = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Make a backup' }).click()
    const download = await coming
    assert.match(download.suggestedFilename(), /^coffer-\w+-\d{4}-\d\d-\d\dT\d{6}Z\.backup$/)
    const backup = join(directory, 'a.backup')
    await download.saveAs(backup)
    await page.getByText(/complete\.$/).waitFor()

    await open(page, 'System')
    await page.getByRole('button', { name: 'Factory reset' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('something else')
    await page.getByRole('dialog').getByRole('button', { name: 'Factory reset' }).click()
    await page.getByText('The text does not match.').waitFor()
    here.mayBeAway = true
    await page.getByRole('dialog').getByRole('textbox').fill('factory reset')
    await page.getByRole('dialog').getByRole('button', { name: 'Factory reset' }).click()
    await heading(page, 'Set up this Coffer')

    await page.getByLabel('A backup').check()
    here.allowed.add(400)
    await page.getByRole('button', { name: 'Restore' }).click()
    await page.getByText('Choose a file.').waitFor()
    const other = join(directory, 'document')
    const cut = join(directory, 'cut.backup')
    writeFileSync(cut, readFileSync(backup).subarray(0, -20))
    for (const [file, passphrase, says] of [
      [other, BACKUP, 'Not a backup'],
      [cut, BACKUP, 'The backup is damaged or incomplete'],
      [backup, 'words that are wrong', 'Wrong backup passphrase, or the backup is damaged'],
    ] as const) {
      await page.getByLabel('Backup', { exact: true }).setInputFiles(file)
      await page.getByLabel('Backup passphrase', { exact: true }).fill(passphrase)
      await page.getByRole('button', { name: 'Restore' }).click()
      await page.getByText(says).waitFor()
      await page.getByText('Nothing was changed.').waitFor()
      assert.equal(await appliance.state(), 'Unprovisioned')
    }
    await examineAll(page, 'a restore that was refused')
    await page.getByLabel('Backup passphrase', { exact: true }).fill(BACKUP)
    await page.getByRole('button', { name: 'Restore' }).click()
    await heading(page, 'Coffer is locked')
    here.allowed.add(403).add(429) // by the wrong passphrase below: the next one waits a second
    await page.getByLabel('Unlock passphrase', { exact: true }).fill('not what unlocks it')
    await page.getByRole('button', { name: 'Unlock', exact: true }).click()
    await page.getByText('Wrong unlock passphrase.').waitFor()
    await examineAll(page, 'a wrong unlock passphrase')
    await page.getByLabel('Unlock passphrase', { exact: true }).fill(UNLOCK)
    await page.getByRole('button', { name: 'Unlock', exact: true }).click()
    await heading(page, 'Sign in')
    await signIn(page, 'web', OPERATOR)
    await keyPage(page)
    await page.getByLabel('Text', { exact: true }).last().fill('an important document')
    await page.getByRole('button', { name: 'Sign', exact: true }).click()
    await page.getByText('Verified by the browser with the public key.').waitFor()

    await page.locator('.who summary').click()
    await page.getByRole('button', { name: 'Sign out of all accounts' }).click()
    await heading(page, 'Sign in')
    await nothingLeft(page, SECRETS)
    await here.end()
  },
)

test('with keys alone: the first key and a signature', async () => {
  const other = await startAppliance()
  const here = await visit(browser, other)
  const { page } = here
  here.allowed.add(404)
  try {
    await heading(page, 'Set up this Coffer')
    await type(page, 'Unlock passphrase', UNLOCK)
    await type(page, 'Unlock passphrase, again', UNLOCK)
    await type(page, 'Passphrase of the administrator', ADMIN)
    await type(page, 'Passphrase of the administrator, again', ADMIN)
    await page.keyboard.press('Enter')
    await heading(page, 'Coffer is ready')
    await press(page, 'Generate the first key')
    await type(page, 'Name', 'web-key')
    await page.keyboard.press('Enter')
    await heading(page, 'web-key')
    assert.equal(await focused(page), 'web-key') // the heading of a new view has the focus
    await press(page, 'Users')
    await heading(page, 'Users')
    await press(page, 'Add a user')
    await type(page, 'User name', 'web')
    await type(page, 'Real name', 'Web service')
    await type(page, 'Passphrase', OPERATOR)
    await type(page, 'Passphrase, again', OPERATOR)
    await page.keyboard.press('Enter')
    await heading(page, 'web')
    await press(page, 'admin')
    await press(page, 'Sign in with another account')
    await heading(page, 'Sign in')
    await type(page, 'User', 'web')
    await type(page, 'Passphrase', OPERATOR)
    await page.keyboard.press('Enter')
    await heading(page, 'Overview')
    await press(page, 'Keys')
    await heading(page, 'Keys')
    await press(page, 'web-key')
    await heading(page, 'web-key')
    await type(page, 'Text', 'an important document', 'textarea')
    await press(page, 'Sign')
    await page.getByText('Verified by the browser with the public key.').waitFor()
    await here.end()
  } finally {
    await other.dispose()
  }
})

type Place = Pick<Page, 'getByLabel'>

async function twice(place: Place, label: string, passphrase: string): Promise<void> {
  await place.getByLabel(label, { exact: true }).fill(passphrase)
  await place.getByLabel(`${label}, again`, { exact: true }).fill(passphrase)
}

async function addUser(page: Page, user: string, role: string, passphrase: string, isOpen = false): Promise<void> {
  if (!isOpen) {
    await open(page, 'Users')
    await page.locator('summary', { hasText: 'Add a user' }).click()
  }
  await page.getByLabel('User name').fill(user)
  await page.getByLabel('Real name').fill(`name of ${user}`)
  await page.getByLabel('Role', { exact: true }).selectOption(role)
  await twice(page, 'Passphrase', passphrase)
  await page.getByRole('button', { name: 'Add a user' }).click()
  await heading(page, user)
}

async function addAccount(page: Page, user: string, passphrase: string): Promise<void> {
  await page.locator('.who summary').click()
  await page.getByRole('link', { name: 'Sign in with another account' }).click()
  await heading(page, 'Sign in')
  await signIn(page, user, passphrase)
  await heading(page, 'Overview')
}

async function keyPage(page: Page): Promise<void> {
  await open(page, 'Keys')
  await page.getByRole('link', { name: 'web-key' }).click()
  await heading(page, 'web-key')
}

/** Commands of curl, coffer and OpenSSL as copied. The first two ask a terminal for the passphrase. */
async function commandsWork(page: Page): Promise<void> {
  await page.locator('summary', { hasText: 'Equivalent command' }).click()
  const copied = async (name: string) => {
    const shown = page.getByRole('figure').filter({ has: page.getByRole('button', { name: `Copy: ${name}` }) })
    await shown.getByRole('button', { name: `Copy: ${name}` }).click()
    await shown.getByText('Copied').waitFor()
    return page.evaluate(() => navigator.clipboard.readText())
  }
  writeFileSync(join(directory, 'document'), 'an important document')
  writeFileSync(join(directory, 'curl.sh'), await copied('curl'))
  writeFileSync(join(directory, 'openssl.sh'), await copied('OpenSSL'))
  writeFileSync(join(directory, 'coffer.sh'), await copied('coffer'))
  const verified = () => execFileSync('sh', ['openssl.sh'], { cwd: directory, encoding: 'utf8' })
  const inTerminal = (file: string, env: NodeJS.ProcessEnv = process.env) =>
    spawn('script', ['--quiet', '--return', '--command', `sh ${file}`, '/dev/null'], { cwd: directory, env })
  await answer(inTerminal('curl.sh'), [/password for user 'web'/, OPERATOR])
  assert.match(verified(), /Verified OK/)
  rmSync(join(directory, 'document.sig'))
  const rig = await createRig()
  const { PATH, HOME } = rig.environment
  const right = /Does the appliance’s console show the same\?.*\] /
  await answer(inTerminal('coffer.sh', { PATH, HOME }), [right, 'yes'], [/Passphrase of web: /, OPERATOR])
  rig.dispose()
  assert.match(verified(), /Verified OK/)
}

async function answer(terminal: ChildProcess, ...questions: [question: RegExp, text: string][]): Promise<void> {
  let said = ''
  terminal.stdout!.on('data', (chunk: Buffer) => {
    said += chunk.toString()
    if (questions[0]?.[0].test(said)) terminal.stdin!.write(`${questions.shift()![1]}\n`)
  })
  const [code] = await once(terminal, 'close')
  assert.equal(code, 0, said)
}

async function type(page: Page, label: string, text: string, kind = 'input'): Promise<void> {
  await tabTo(page, label, kind)
  await page.keyboard.type(text)
}

async function press(page: Page, name: string): Promise<void> {
  await tabTo(page, name, 'a, button, summary')
  await page.keyboard.press('Enter')
}

const TABS_MAX = 120

async function tabTo(page: Page, name: string, kind: string): Promise<void> {
  await page.locator('body:not(:has-text("Loading…"))').waitFor() // on a busy computer the view comes later than 120 keys
  for (let tabs = 0; tabs < TABS_MAX; tabs++) {
    await page.keyboard.press('Tab')
    const isThere = await page.evaluate(
      ([name, kind]) => {
        const element = document.activeElement
        if (!element?.matches(kind!)) return false
        const labels = (element as HTMLInputElement).labels
        const text = labels?.[0]?.textContent ?? element.getAttribute('aria-label') ?? element.textContent
        return text?.trim() === name
      },
      [name, kind],
    )
    if (isThere) return
  }
  assert.fail(`no way to “${name}” with the key Tab`)
}

const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent)
