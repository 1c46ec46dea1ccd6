/** The pages for people on a telephone: a browser lays them out, and nothing stands out of a window of 390 pixels. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { DECLARATIONS } from '../../firmware/app.ts'
import { openApiDocument } from '../../firmware/kms/documents/openapi.ts'
import { documentPage } from '../../firmware/kms/documents/page.ts'

const BROWSER = '/usr/bin/chromium-headless-shell'
const WIDTH = 390
const TIME_MS_MAX = 120_000

const INFO = { title: 'Coffer', version: '1.2.3', vendor: 'Coffer' }

function hasBrowser(t: TestContext): boolean {
  if (existsSync(BROWSER)) return true
  assert.notEqual(process.env.CI, 'true', 'no browser: .ci/run installs chromium-headless-shell')
  t.skip('no browser; to run this: sudo apt install chromium-headless-shell')
  return false
}

function overhang(t: TestContext, page: string): number {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-page-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'page.html'), page)
  writeFileSync(
    join(directory, 'window.html'),
    `<iframe src="page.html" width="${WIDTH}" height="800" style="border: 0"></iframe>
    <script>
      onload = () => {
        const { scrollWidth, clientWidth } = frames[0].document.documentElement
        document.title = scrollWidth - clientWidth
      }
    </script>`,
  )
  const options = [
    '--no-sandbox',
    '--disable-gpu',
    '--allow-file-access-from-files',
    `--user-data-dir=${directory}/user`,
  ]
  const dump = execFileSync(BROWSER, [...options, '--dump-dom', `file://${directory}/window.html`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: TIME_MS_MAX,
  })
  return Number(/<title>(\d+)<\/title>/.exec(dump)?.[1])
}

test('the API documents do not scroll sideways', (t) => {
  if (!hasBrowser(t)) return
  const model = openApiDocument(DECLARATIONS, INFO, '/api/v1')
  assert.equal(overhang(t, documentPage(model)), 0)
  assert.ok(overhang(t, `<pre>${'wide '.repeat(100)}</pre>`) > 0) // a page that does is noticed
})
