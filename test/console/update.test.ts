/** Updates in the page: another kind of file, notes, discarded, installed and good, and one that does not prove good. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { ADMIN_PASSPHRASE, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { makeDataDirectory, startCoffer } from '../support/process.ts'
import { heading, launchBrowser, open, signIn, visit } from './browser.ts'
import { examineAll } from './examine.ts'

/** Markup, and text that turns around. */
const NOTES = 'What is <b>new</b>.<img src=x onerror="document.title=1"><script>document.title=2</script>‮txet'
const root = resolve(import.meta.dirname, '../..')
const browser = await launchBrowser()
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const [major, minor] = version.split('.').map(Number)
const workshop = mkdtempSync(join(tmpdir(), 'coffer-release-'))
process.once('exit', () => rmSync(workshop, { recursive: true, force: true }))

test('discarded, installed and good, and left with its reason', async (t) => {
  t.after(() => browser.close())
  const program = await buildForTests()
  run('release-key.ts', 'release')
  const next = `${major}.${minor! + 1}`
  cpSync(dirname(await buildForTests(`${next}.0`)), join(workshop, 'next'), { recursive: true })
  const image = makeImage('next', `${next}.0`)
  cpSync(join(workshop, 'next'), join(workshop, 'bad'), { recursive: true })
  writeFileSync(join(workshop, 'bad/firmware.js'), 'process.exit(3)')
  const bad = makeImage('bad', `${major}.${minor! + 2}.0`)
  const data = makeDataDirectory(t)
  cpSync(join(workshop, 'release.pub'), join(data, 'release.pub'))
  // The same after each start: the page stays where it is.
  const settings = { COFFER_PORT: `${await freePort()}` }
  const coffer = startCoffer(t, { program, data, settings })
  await coffer.see(/Unprovisioned/)
  await provision(coffer)

  const here = await visit(browser, await coffer.target())
  const { page } = here
  here.mayBeAway = true
  here.allowed.add(400).add(412).add(503) // of another kind of file; just when it stops; on trial
  await signIn(page, 'admin', ADMIN_PASSPHRASE)
  await open(page, 'Update')
  await upload(page, join(workshop, 'release.pub'))
  await page.getByText('Status 400').waitFor()
  await examineAll(page, 'an image that was refused')
  await upload(page, image)
  await page.getByText(NOTES).waitFor()
  assert.equal(await page.locator('main :is(b, img, script)').count(), 0)
  assert.equal(await page.title(), 'Update · Coffer')
  await examineAll(page, 'an update that waits')
  await page.getByRole('button', { name: 'Discard' }).click()
  await page.getByText('The image is discarded.').waitFor()
  await upload(page, image)
  await page.getByText(NOTES).waitFor()
  await page.getByRole('button', { name: 'Install' }).click()
  await unlock(page)
  await page.getByText(`Version ${next} runs, and has proved good.`).waitFor()

  await upload(page, bad)
  await page.getByText(NOTES).waitFor()
  await page.getByRole('button', { name: 'Install' }).click()
  await unlock(page)
  await page.getByText('The new version did not prove good.').waitFor()
  await page
    .getByText(/exit code 3/)
    .first()
    .waitFor()
  await examineAll(page, 'an update that was left')
  await here.end()
})

async function upload(page: Page, file: string): Promise<void> {
  await page.getByLabel('Update image').setInputFiles(file)
  await page.getByRole('button', { name: 'Upload' }).click()
}

async function unlock(page: Page): Promise<void> {
  await heading(page, 'Coffer is locked')
  await page.getByLabel('Unlock passphrase', { exact: true }).fill(UNLOCK_PASSPHRASE)
  await page.getByRole('button', { name: 'Unlock', exact: true }).click()
  await heading(page, 'Update')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** A tool of ours, as somebody who releases runs it. */
function run(tool: string, ...parameters: string[]): void {
  const options = { cwd: workshop, encoding: 'utf8' } as const
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'tools', tool), ...parameters], options)
  assert.equal(status, 0, stderr)
}

/** The image of a bundle directory in the workshop. */
function makeImage(directory: string, release: string): string {
  writeFileSync(join(workshop, directory, 'package.json'), JSON.stringify({ type: 'module', version: release }))
  const manifest = { product: 'Coffer', version: release, minimumVersion: version, releaseNotes: NOTES }
  writeFileSync(join(workshop, 'release.json'), JSON.stringify(manifest))
  const files = readdirSync(join(workshop, directory))
    .filter((name) => name !== 'boot.js' && name !== 'LICENSES.txt')
    .map((name) => join(directory, name))
  const output = `${directory}.update`
  run('update-image.ts', '--manifest', 'release.json', '--key', 'release.key', '--output', output, ...files)
  return join(workshop, output)
}
