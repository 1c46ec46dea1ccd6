// @test long 90 slow
/**
 * Large amounts: 10,000 keys shown, saved and restored, a file of 250 MB signed, an audit log of 10,000 lines verified; with COFFER_SLOW
 * 100,000 keys and lines, and a gigabyte.
 */

import assert from 'node:assert/strict'
import { createWriteStream, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { after, before, test } from 'node:test'
import { hashLine, headKey, lineText, ORIGIN, signHead } from '../../firmware/audit/chain.ts'
import * as words from '../../firmware/console/words.ts'
import { BACKUP, fillStore, UNLOCK } from '../backup/fill-store.ts'
import { expect } from '../support/appliance.ts'
import { type Appliance, startAppliance } from '../support/suite.ts'
import { heading, launchBrowser, open, signIn, visit } from './browser.ts'

const IS_SLOW = process.env.COFFER_SLOW !== undefined
const KEYS = IS_SLOW ? 100_000 : 10_000
const LINES = IS_SLOW ? 100_000 : 10_000
const FILE_MEGABYTES = IS_SLOW ? 1000 : 250
const WHOLE_STORE_MS_MAX = 1_200_000 // in which all keys are read, sealed, sent and written, also where others work
const MEMORY_BYTES_MAX = (IS_SLOW ? 300 : 200) * 1_000_000 // of the page's scripts and buffers while it hashes the file, for which it is too little

const browser = await launchBrowser()
const directory = mkdtempSync(join(tmpdir(), 'coffer-console-'))
let appliance: Appliance

before(async () => {
  await fillStore(directory, KEYS, 10)
  appliance = await startAppliance({ dataDirectory: directory })
  await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
})
after(async () => {
  await browser.close()
  await appliance.dispose()
  rmSync(directory, { recursive: true, force: true })
})

test(`${KEYS} keys: a screen of rows is drawn, at the end and by the first letters as well; they are saved and restored`, async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  page.setDefaultTimeout(WHOLE_STORE_MS_MAX)
  await signIn(page, 'admin', 'passphrase of admin')
  await open(page, 'Keys')
  const digits = String(KEYS - 1).length
  const root = KEYS - Math.floor(KEYS / 3) // the others are in a namespace
  await page.getByText(`${root.toLocaleString('en')} keys`).waitFor()
  await page.getByRole('row', { name: /key-0 Ed25519/ }).waitFor()
  assert.ok((await page.getByRole('row').count()) < 100)
  const table = page.getByRole('region', { name: /keys$/ })
  await table.evaluate((element) => element.scrollTo(0, element.scrollHeight))
  await page.getByRole('row', { name: new RegExp(`key-${KEYS - 1} AES`) }).waitFor()
  const started = performance.now()
  await page.getByLabel(words.directorySearch).fill(`key-${'7'.repeat(digits - 1)}`)
  await page.getByRole('row', { name: new RegExp(`key-${'7'.repeat(digits - 1)}2`) }).waitFor()
  console.log(`${root} keys by their first letters: ${Math.round(performance.now() - started)} ms`)

  await page.evaluate(() => {
    location.hash = '#/sign-in'
  })
  await heading(page, 'Sign in')
  await signIn(page, 'saver', 'passphrase of saver')
  await open(page, 'Backup')
  await page.evaluate(() => Reflect.deleteProperty(globalThis, 'showSaveFilePicker'))
  const coming = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Make a backup' }).click()
  const backup = join(directory, 'all.backup')
  await (await coming).saveAs(backup)
  await page.getByText(/complete\.$/).waitFor()
  const { size } = await stat(backup)
  assert.ok(size > KEYS * 100, `${size} bytes`)

  await open(page, 'Restore')
  here.allowed.add(400)
  const cut = join(directory, 'cut.backup')
  writeFileSync(cut, readFileSync(backup).subarray(0, size / 2)) // whether it is whole shows at its end alone, wherever that is
  for (const file of [cut, backup]) {
    await page.getByLabel('Backup', { exact: true }).setInputFiles(file)
    await page.getByLabel('Backup passphrase', { exact: true }).fill(BACKUP)
    const installing = page.getByRole('button', { name: /^Sent. Checking and installing: / })
    const seen = file === backup ? installing.waitFor() : undefined // from before it begins: it takes no time on a fast computer
    await page.getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('restore')
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
    await seen
    await page.getByText(file === cut ? 'Nothing was changed.' : 'Restored.').waitFor()
  }
  await here.end()
  assert.equal(await appliance.state(), 'Operational') // the backup is of this very store
})

test(`a file of ${FILE_MEGABYTES} MB is signed by its digest, a piece at a time`, async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  here.allowed.add(404)
  const as = 'admin:passphrase of admin'
  const json = { id: 'signing', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  await expect(201, appliance.call('POST', '/keys/generate', { as, json }))
  const file = join(directory, 'large')
  writeFileSync(file, 'begins with this')
  truncateSync(file, FILE_MEGABYTES * 1_000_000)
  await signIn(page, 'signer', 'passphrase of signer')
  await heading(page, 'Overview')
  await page.evaluate(() => {
    location.hash = '#/keys/signing'
  })
  await heading(page, 'signing')
  await page.getByLabel('File', { exact: true }).check()
  await page.locator('input[type=file]').setInputFiles(file)
  const session = await page.context().newCDPSession(page)
  let most = 0
  const measure = async () => {
    const { usedSize, backingStorageSize } = (await session.send('Runtime.getHeapUsage')) as {
      usedSize: number
      backingStorageSize?: number
    }
    most = Math.max(most, usedSize + (backingStorageSize ?? 0))
  }
  await page.getByRole('button', { name: 'Sign', exact: true }).click()
  const verified = page.getByText('Verified by the browser with the public key.')
  while ((await verified.count()) === 0) {
    await measure()
    await new Promise((done) => setTimeout(done, 200))
  }
  console.log(`${Math.round(most / 1_000_000)} MB at most`)
  assert.ok(most > 0 && most < MEMORY_BYTES_MAX, `${most} bytes`)
  await here.end()
})

test(`an audit log of ${LINES} lines is verified in the page, and one changed byte is found`, async () => {
  const here = await visit(browser, appliance)
  const { page } = here
  const good = join(directory, 'audit.jsonl')
  const count = LINES.toLocaleString('en')
  const changed = Math.floor(LINES * 0.54321)
  await writeLog(good)
  await signIn(page, 'admin', 'passphrase of admin')
  await open(page, 'Audit log')
  const verify = async (file: string) => {
    await page.getByLabel('Exported file').setInputFiles(file)
    await page.getByRole('button', { name: 'Verify' }).click()
  }
  await verify(good)
  await page.getByText(`${count} lines, 1 to ${count}: nothing changed, missing or reordered.`).waitFor()
  const text = readFileSync(good)
  const at = text.indexOf(`"sequence":${changed},`)
  text[text.indexOf('127.0.0.1', at) + 8]! += 1
  const bad = join(directory, 'changed.jsonl')
  writeFileSync(bad, text)
  await verify(bad)
  await page.getByText(`Line ${changed} was changed`).waitFor()
  await here.end()
})

async function writeLog(file: string): Promise<void> {
  const out = createWriteStream(file)
  let previous = ORIGIN
  for (let sequence = 1; sequence <= LINES; sequence++) {
    const event = {
      time: '2026-11-24T10:00:00Z',
      user: 'web',
      address: '127.0.0.1',
      action: 'POST /keys/{id}/sign',
      key: 'web-key',
      namespace: '',
      result: 200,
    }
    const text = lineText(sequence, 'use', event)
    const hash = hashLine(previous, previous, text)
    out.write(`${JSON.stringify({ ...JSON.parse(text), previous, previousOfKind: previous, hash })}\n`)
    previous = hash
  }
  const end = { first: 1, sequence: LINES, hash: previous }
  const none = { first: 0, sequence: 0, hash: ORIGIN }
  const rings = { change: none, refusal: none, use: end }
  const head = signHead({ ...end, rings, time: '2026-11-24T10:00:01Z' }, headKey(new Uint8Array(32).fill(1)))
  out.end(`${JSON.stringify({ head })}\n`)
  await finished(out)
}
