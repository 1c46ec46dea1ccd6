// @test long 60
/** A cluster on the page: two appliances become one store and part again, without any other client. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import * as clusterWords from '../../firmware/console/cluster-words.ts'
import * as words from '../../firmware/console/words.ts'
import { ADMIN, ADMIN_PASSPHRASE, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { BACKUP_PASSPHRASE, type ClusterNode, startNodes } from '../support/cluster.ts'
import { createClusterCa } from '../support/cluster-ca.ts'
import { startAppliance } from '../support/suite.ts'
import { fileNeeds } from '../support/tools.ts'
import { heading, launchBrowser, open, signIn, type Visit, visit } from './browser.ts'
import { examineAll } from './examine.ts'

await fileNeeds('etcd', 'openssl')

const PORT = 8443 // of each node of startNodes()
const ATTEMPTS_MAX = 100

const browser = await launchBrowser()
after(() => browser.close())

async function begin(appliance: { host: string; port: number }): Promise<Visit> {
  const here = await visit(browser, appliance)
  here.allowed.add(404) // no authority
  await signIn(here.page, 'admin', ADMIN_PASSPHRASE)
  await heading(here.page, 'Overview')
  await open(here.page, 'Cluster')
  return here
}

async function ask(page: Page, button: string): Promise<Locator> {
  await page.getByRole('button', { name: button, exact: true }).click()
  return page.getByRole('dialog')
}

const act = (dialog: Locator, title: string) => dialog.getByRole('button', { name: title, exact: true })

test('an appliance that is alone says so, refuses what does not fit, and installs an authority', async (t) => {
  const ca = createClusterCa(t)
  const appliance = await startAppliance()
  t.after(() => appliance.dispose())
  await provision(appliance)
  const here = await begin(appliance)
  const { page } = here
  await page.getByText(clusterWords.alone).waitFor()
  await page.getByText(clusterWords.authorityNone).waitFor()
  await examineAll(page, 'a node that is alone')

  const dialog = await ask(page, clusterWords.add)
  await dialog.getByLabel(clusterWords.address).fill('https://127.0.0.1:2380')
  here.allowed.add(412)
  await act(dialog, clusterWords.add).click()
  await dialog.getByText(/backup passphrase/).waitFor()
  await examineAll(page, 'a member that is refused')
  await dialog.getByRole('button', { name: 'Cancel' }).click()

  const file = page.getByLabel(clusterWords.authorityFile)
  const install = page.getByRole('button', { name: clusterWords.authorityInstall })
  const puts: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'PUT') puts.push(new URL(request.url()).pathname)
  })
  const give = (name: string, text: string) =>
    file.setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
  await give('no.pem', 'no certificate')
  await install.click()
  await page.getByText(words.certificateMissing).waitFor()
  assert.deepEqual(puts, [])
  const subject = { commonName: 'node' }
  const request = await expect(200, appliance.call('POST', '/config/tls/csr.pem', { as: ADMIN, json: subject }))
  const type = 'application/x-pem-file'
  const body = ca.sign(request.text(), '127.0.0.1')
  await expect(201, appliance.call('PUT', '/config/tls/cert.pem', { as: ADMIN, body, type }))
  await give('ca.pem', ca.certificate)
  await install.click()
  await page.getByText('CN=Cluster').first().waitFor()
  const stored = await expect(200, appliance.call('GET', '/cluster/tls/ca.pem', { as: ADMIN }))
  assert.equal(stored.text().trim(), ca.certificate.trim())

  const joining = await ask(page, clusterWords.join)
  await joining.getByLabel(clusterWords.joinKit).setInputFiles({
    name: 'kit.json',
    mimeType: 'application/json',
    buffer: Buffer.from('{"members": 1}'),
  })
  await joining.getByLabel(clusterWords.joinPassphrase, { exact: true }).fill(BACKUP_PASSPHRASE)
  await act(joining, clusterWords.join).click()
  await joining.getByText(words.confirmWrong).waitFor() // not without the word
  await joining.getByLabel(words.confirmLabel(clusterWords.joinTyped)).fill(clusterWords.joinTyped)
  await act(joining, clusterWords.join).click()
  await joining.getByText(clusterWords.joinNoKit).waitFor()
  await examineAll(page, 'a kit that is none')
  await here.end()
})

test('a second appliance is added, joins, is promoted and removed', async (t) => {
  const { nodes } = await startNodes(t, { count: 2 })
  const [first, second] = nodes as [ClusterNode, ClusterNode]
  const here = await begin({ host: first.address, port: PORT })
  const there = await begin({ host: second.address, port: PORT })
  for (const { allowed } of [here, there]) for (const status of [401, 404, 412, 503]) allowed.add(status)
  here.mayBeAway = true
  there.mayBeAway = true

  const adding = await ask(here.page, clusterWords.add)
  await adding.getByText(clusterWords.addFirst).waitFor()
  await adding.getByLabel(clusterWords.address).fill(second.peerUrl)
  await repeat(adding, clusterWords.add)
  await here.page.getByText(clusterWords.added).waitFor()
  await here.page.getByText(clusterWords.unjoined).waitFor()
  const id = await here.page.getByRole('row').filter({ hasText: second.peerUrl }).getByRole('rowheader').textContent()
  await examineAll(here.page, 'a member that has not joined')
  await here.page.setViewportSize({ width: 1280, height: 900 })
  const coming = here.page.waitForEvent('download')
  await here.page.getByRole('button', { name: clusterWords.saveKit }).click()
  const download = await coming
  assert.equal(download.suggestedFilename(), 'coffer-joiner-kit.json')

  const joining = await ask(there.page, clusterWords.join)
  await joining.getByLabel(clusterWords.joinKit).setInputFiles(await download.path())
  await joining.getByLabel(clusterWords.joinPassphrase, { exact: true }).fill(BACKUP_PASSPHRASE)
  await joining.getByLabel(words.confirmLabel(clusterWords.joinTyped)).fill(clusterWords.joinTyped)
  await repeat(joining, clusterWords.join)
  await heading(there.page, 'Coffer is locked')
  await there.page.getByText(words.forceNewText).first().waitFor()
  await examineAll(there.page, 'a locked member')
  await there.page.setViewportSize({ width: 1280, height: 900 })

  const learner = here.page.getByRole('row').filter({ hasText: clusterWords.learner })
  await learner.waitFor() // the view follows by itself
  const joined = (await learner.getByRole('rowheader').textContent())!
  assert.notEqual(joined, id) // it had no name before
  await repeat(await ask(here.page, clusterWords.promoteOf(joined)), clusterWords.promote)
  await learner.waitFor({ state: 'detached' })

  await there.page.getByLabel('Unlock passphrase', { exact: true }).fill(UNLOCK_PASSPHRASE)
  await there.page.getByRole('button', { name: 'Unlock', exact: true }).click()
  await there.page.getByRole('heading', { level: 1, name: /Sign in|Cluster/ }).waitFor()
  if ((await there.page.getByRole('heading', { level: 1 }).textContent()) === 'Sign in') {
    await signIn(there.page, 'admin', ADMIN_PASSPHRASE)
    await there.page.getByRole('heading', { level: 1, name: /Overview|Cluster/ }).waitFor()
  }
  await open(there.page, 'Cluster')
  await there.page.getByText(words.forceNewText).waitFor()
  assert.equal(await there.page.getByRole('button', { name: clusterWords.join }).count(), 0)
  await examineAll(there.page, 'a cluster of two')
  const leaving = await ask(there.page, words.forceNew)
  await leaving.getByLabel(words.unlockPassphrase, { exact: true }).fill(UNLOCK_PASSPHRASE)
  await leaving.getByLabel(words.confirmLabel(words.forceNewTyped)).fill(words.forceNewTyped)
  await act(leaving, words.forceNew).click()
  await leaving.getByText('Status 412').waitFor() // the cluster answers
  // In the words of the appliance, not in those for a change by another administrator.
  assert.equal(await leaving.getByText(words.problemChanged).count(), 0)

  const members = async () => (await first.call('GET', '/cluster/members', { as: ADMIN })).json<{ name: string }[]>()
  assert.equal((await members()).length, 2)
  const removing = await ask(here.page, clusterWords.removeOf(joined))
  await act(removing, clusterWords.remove).click()
  await removing.getByText(words.confirmWrong).waitFor()
  await removing.getByLabel(words.confirmLabel(joined)).fill(joined)
  await repeat(removing, clusterWords.remove)
  await here.page.getByText(clusterWords.alone).waitFor()
  assert.equal((await members()).length, 1)
  await heading(there.page, 'Coffer has failed')
  await there.page.getByText(words.forceNewText).first().waitFor()
  await examineAll(there.page, 'a member that was removed')
  await here.end()
  await there.end()
})

/** Acts again while the members have not reached each other yet, as etcd asks. */
async function repeat(dialog: Locator, title: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    await act(dialog, title).click()
    const refused = dialog.getByText(/^Status (412|503|400)$/)
    while ((await dialog.isVisible()) && (await refused.count()) === 0) await dialog.page().waitForTimeout(100)
    if (!(await dialog.isVisible())) return
    await dialog.page().waitForTimeout(500)
  }
  assert.fail(`${title} was refused ${ATTEMPTS_MAX} times: ${await dialog.textContent()}`)
}
